#include <algorithm>
#include <utility>

#include "gpl/core/coordinator.h"

namespace gpl {

/// A hello alone proves nothing: it may be an old one, of a keeper that is gone. All that follows
/// from it waits for the first renewal, which only a living worker can send.
void Coordinator::take(const LeaderView&, PeerId from, const to_leader::Hello& hello) {
  Contact& contact = contacts_[from];
  if (contact.open && contact.open->keeper == hello.keeper) {
    if (hello.session <= contact.open->id) return;
    // Its worker heeds that session no more.
    contact.open.reset();
  }
  if (contact.pending && contact.pending->keeper == hello.keeper &&
      hello.session < contact.pending->id)
    return;
  if (!contact.pending || contact.pending->id != hello.session) {
    Session session;
    session.id = hello.session;
    session.keeper = hello.keeper;
    session.offer = hello.offer;
    session.opening = ++last_opening_;
    for (const LiveAttempt& live : hello.live)
      session.known[live.fence].started_at = live.started_at;
    for (const EndedAttempt& ended : hello.ended) session.known[ended.fence].ended = ended;
    contact.pending = std::move(session);
  }
  output_.send.push_back(
      {from, to_worker::Welcome{hello.session, leadership_, contact.pending->opening}});
}

void Coordinator::take(const LeaderView& view, PeerId from, const to_leader::Renew& renew) {
  Contact& contact = contacts_[from];
  const auto matches = [&](const std::optional<Session>& session) {
    return session && session->id == renew.session && session->opening == renew.opening &&
           renew.leadership == leadership_;
  };
  if (matches(contact.open)) {
    Session& session = *contact.open;
    contact.heard_at = view.clocks.now;
    // Told before the last renewal, and still not here: it is lost.
    const bool missing = session.tellings.taken() < session.told_before;
    session.told_before = std::max(session.told_before, renew.told);
    if (!missing) return grant(view, from, session, renew.asked_at);
    contact.open.reset();
  } else if (matches(contact.pending)) {
    contact.open = std::exchange(contact.pending, std::nullopt);
    contact.heard_at = view.clocks.now;
    grant(view, from, *contact.open, renew.asked_at);
    return opened(view, from, contact);
  }
  // To a worker that knows a later leader this one has nothing to say.
  if (renew.leadership <= leadership_)
    output_.send.push_back({from, to_worker::Reopen{renew.session, leadership_}});
}

void Coordinator::take(const LeaderView& view, PeerId from, const to_leader::Told& told) {
  Contact& contact = contacts_[from];
  if (contact.open && contact.open->id == told.session) {
    contact.heard_at = view.clocks.now;
    contact.open->tellings.put(told.number, told.attempt);
    take_tellings(view, from, *contact.open);
    announce(view, from, contact);
  } else if (contact.pending && contact.pending->id == told.session) {
    contact.pending->tellings.put(told.number, told.attempt);
  }
}

void Coordinator::grant(const LeaderView& view, PeerId peer, Session& session, Moment asked_at) {
  const Moment now = view.clocks.now;
  ledger_.answered(peer, now);
  const Duration unconfirmed = std::max(milliseconds(0), now - view.confirmed);
  output_.send.push_back(
      {peer, to_worker::Granted{session.id, leadership_, asked_at, unconfirmed, session.ordered}});
}

void Coordinator::opened(const LeaderView& view, PeerId peer, Contact& contact) {
  place_due_ = true;
  judge_lost(view, peer, contact);
  propose_condemned(view);
  announce(view, peer, contact);
  take_tellings(view, peer, *contact.open);
  settle_all(view, peer, *contact.open);
}

/// Attempts that the worker does not know. A keeper that is the one of before never got the order,
/// and one that found what that had on disk would know it, had it been begun: it is ordered again.
/// After a reboot nobody can tell any more, so they are lost. Judged once for each new keeper: what
/// is placed later is this one's own.
void Coordinator::judge_lost(const LeaderView& view, PeerId peer, Contact& contact) {
  const Session& session = *contact.open;
  const PeerRecord* record = view.state.find_peer(peer);
  if (contact.keeper.empty() && record) contact.keeper = record->keeper;
  const bool knows_all = inherits(contact.keeper, session.keeper);
  contact.keeper = session.keeper;
  for (const AttemptId id : view.state.attempts_on(peer)) {
    const Attempt& attempt = *view.state.find_attempt(id);
    if (session.known.contains(attempt.fence)) continue;
    // What has been started is known to its keeper until it is acknowledged.
    if (!knows_all || std::holds_alternative<Started>(attempt.state))
      condemned_.try_emplace(attempt.fence, Condemned{peer, false});
  }
}

void Coordinator::take_tellings(const LeaderView& view, PeerId peer, Session& session) {
  while (auto telling = session.tellings.next()) {
    Fence fence;
    if (const auto* live = std::get_if<LiveAttempt>(&*telling)) {
      fence = live->fence;
      session.known[fence].started_at = live->started_at;
    } else {
      const auto& ended = std::get<EndedAttempt>(*telling);
      fence = ended.fence;
      session.known[fence].ended = ended;
    }
    settle(view, peer, session, fence);
  }
}

void Coordinator::order(
    PeerId peer, Session& session,
    std::variant<to_worker::Start, to_worker::End, to_worker::Acknowledge> what) {
  ++session.ordered;
  output_.send.push_back(
      {peer, to_worker::Order{session.id, leadership_, session.ordered, std::move(what)}});
}

}  // namespace gpl
