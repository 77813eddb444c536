#include <algorithm>
#include <cassert>
#include <utility>

#include "gpl/core/coordinator.h"

namespace gpl {
namespace {

constexpr std::size_t most_words = 1024;

/// What the state would refuse again and again (a keeper that is not well) becomes a loss, and long
/// words are cut: many tasks may end with them.
Outcome outcome_for_log(Outcome outcome) {
  if (!validate(outcome).ok()) return Lost{"its keeper told an outcome that cannot be"};
  if (auto* failed = std::get_if<FailedToStart>(&outcome))
    failed->message.resize(std::min(failed->message.size(), most_words));
  if (auto* lost = std::get_if<Lost>(&outcome))
    lost->why.resize(std::min(lost->why.size(), most_words));
  return outcome;
}

}  // namespace

/// Brings one attempt as the state has it together with what the session's worker knows of it.
void Coordinator::settle(const LeaderView& view, PeerId peer, Session& session,
                         const Fence& fence) {
  const Attempt* attempt = view.state.find_attempt(fence.attempt);
  if (attempt && (attempt->fence != fence || attempt->peer != peer)) attempt = nullptr;
  if (!attempt) return settle_unplaced(view, peer, session, fence);
  // It is about to leave the state; then it is settled again.
  if (condemned_.contains(fence)) return;
  settle_placed(view, peer, session, *attempt);
}

void Coordinator::settle_placed(const LeaderView& view, PeerId peer, Session& session,
                                const Attempt& attempt) {
  const Fence fence = attempt.fence;
  const auto [entry, is_new] = session.known.try_emplace(fence);
  Known& known = entry->second;
  if (known.ended) return propose_outcome(view, attempt, *known.ended);
  if (known.started_at) propose_start(view, attempt, *known.started_at);
  if (attempt.cancelled) {
    order_end(view, peer, session, fence, known);
  } else if (is_new) {
    const JobRecord* job = view.state.find_job(attempt.job);
    assert(job);
    order(peer, session,
          to_worker::Start{fence, attempt.slot, attempt.job, attempt.task, attempt.allocation,
                           *job->description});
  }
}

/// The state does not have the attempt: it has ended or been fenced. Its worker ends it, tells how
/// it ended, and forgets it. Only what tells that two attempts at a task ran at once still goes
/// through the log.
void Coordinator::settle_unplaced(const LeaderView& view, PeerId peer, Session& session,
                                  const Fence& fence) {
  const auto entry = session.known.find(fence);
  if (entry == session.known.end()) return;
  Known& known = entry->second;
  if (!known.ended) {
    order_end(view, peer, session, fence, known);
  } else if (known.ended->started_at && view.state.is_news_that_ran(fence)) {
    propose(view.clocks.now, about(Matter::start, fence), command::Start{fence, view.clocks.at});
  } else if (known.ended->outlived_lease && view.state.is_news_that_outlived(fence)) {
    propose(view.clocks.now, about(Matter::report, fence),
            command::Report{fence, known.ended->outcome, view.clocks.at, true});
  } else {
    order(peer, session, to_worker::Acknowledge{fence});
    session.known.erase(entry);
  }
}

void Coordinator::propose_outcome(const LeaderView& view, const Attempt& attempt,
                                  const EndedAttempt& ended) {
  if (ended.started_at) propose_start(view, attempt, *ended.started_at);
  propose(view.clocks.now, about(Matter::report, attempt.fence),
          command::Report{attempt.fence, outcome_for_log(ended.outcome), view.clocks.at,
                          ended.outlived_lease});
}

/// By the worker's time of day, which may be wrong: within what the leader knows.
void Coordinator::propose_start(const LeaderView& view, const Attempt& attempt, Instant at) {
  if (!std::holds_alternative<Placed>(attempt.state)) return;
  at = std::min(std::max(at, attempt.placed_at), view.clocks.at);
  propose(view.clocks.now, about(Matter::start, attempt.fence), command::Start{attempt.fence, at});
}

void Coordinator::order_end(const LeaderView& view, PeerId peer, Session& session,
                            const Fence& fence, Known& known) {
  if (known.told_to_end) return;
  known.told_to_end = view.clocks.now;
  order(peer, session, to_worker::End{fence});
}

void Coordinator::settle_all(const LeaderView& view, PeerId peer, Session& session) {
  std::set<Fence> fences;
  for (const auto& [fence, known] : session.known) fences.insert(fence);
  for (const AttemptId id : view.state.attempts_on(peer))
    fences.insert(view.state.find_attempt(id)->fence);
  for (const Fence& fence : fences) settle(view, peer, session, fence);
}

void Coordinator::settle_at(const LeaderView& view, PeerId peer, const Fence& fence) {
  const auto contact = contacts_.find(peer);
  if (contact != contacts_.end() && contact->second.open)
    settle(view, peer, *contact->second.open, fence);
}

void Coordinator::settle_wherever(const LeaderView& view, const Fence& fence) {
  const Attempt* attempt = view.state.find_attempt(fence.attempt);
  if (attempt && attempt->fence == fence) return settle_at(view, attempt->peer, fence);
  for (auto& [peer, contact] : contacts_)
    if (contact.open && contact.open->known.contains(fence))
      settle(view, peer, *contact.open, fence);
}

/// What was given up while the peer was away may take its time to end; what it holds is free by the
/// state, and would be placed again.
bool Coordinator::is_still_ending(const LeaderView& view, PeerId peer,
                                  const Session& session) const {
  return std::any_of(session.known.begin(), session.known.end(), [&](const auto& entry) {
    const auto& [fence, known] = entry;
    const Attempt* attempt = view.state.find_attempt(fence.attempt);
    const bool is_placed = attempt && attempt->fence == fence && attempt->peer == peer;
    if (known.ended || is_placed) return false;
    return !known.told_to_end || view.clocks.now < *known.told_to_end + options_.ending_limit;
  });
}

/// That a peer is there, after all that its new keeper has lost has left the state: a later leader
/// could not tell otherwise that it was lost.
void Coordinator::announce(const LeaderView& view, PeerId peer, const Contact& contact) {
  if (!contact.open) return;
  const Session& session = *contact.open;
  const PeerRecord* record = view.state.find_peer(peer);
  if (record && !record->down_at && record->keeper == session.keeper &&
      record->offer == session.offer)
    return;
  for (const auto& [fence, why] : condemned_) {
    const Attempt* attempt = view.state.find_attempt(fence.attempt);
    if (why.peer == peer && attempt && attempt->fence == fence) return;
  }
  if (is_still_ending(view, peer, session)) return;
  propose(view.clocks.now, about(Matter::up, peer),
          command::PeerUp{peer, session.keeper, session.offer, view.clocks.at});
}

}  // namespace gpl
