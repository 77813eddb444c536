#include "gpl/core/coordinator.h"

#include <algorithm>
#include <utility>

#include "gpl/core/overloaded.h"

namespace gpl {
namespace {

/// Attempts that a command says something about. What it places or ends is told in Applied.
std::vector<Fence> fences_of(const Command& command) {
  if (const auto* start = std::get_if<command::Start>(&command)) return {start->attempt};
  if (const auto* report = std::get_if<command::Report>(&command)) return {report->attempt};
  if (const auto* lost = std::get_if<command::AttemptsLost>(&command)) return lost->attempts;
  if (const auto* over = std::get_if<command::LeasesOver>(&command)) return over->attempts;
  return {};
}

}  // namespace

Coordinator::Coordinator(PlacementRule rule, CoordinatorOptions options)
    : rule_(std::move(rule)), options_(options) {}

void Coordinator::began_to_lead(const LeaderView& view, std::uint64_t term) {
  stopped_leading();
  leads_ = true;
  leadership_ = {view.state.epoch(), term};
  began_ = view.clocks.now;
  ledger_ = LeaseLedger(began_);
  next_pass_ = began_ + options_.pass_every;
  next_place_ = began_;
  place_due_ = true;
}

void Coordinator::stopped_leading() { *this = Coordinator(std::move(rule_), options_); }

void Coordinator::receive(const LeaderView& view, PeerId from, const WorkerToLeader& message) {
  if (!leads_) return;
  std::visit([&](const auto& m) { take(view, from, m); }, message);
}

void Coordinator::applied(const LeaderView& view, const Command& command, const Applied& applied) {
  if (!leads_) return;
  const Moment now = view.clocks.now;
  for (const Concern& concern : concerns_of(command)) {
    const auto entry = under_way_.find(concern);
    if (entry == under_way_.end()) continue;
    // Refused: the state has moved on, or it would be refused again at once.
    if (applied.refused && concern.matter != Matter::place)
      entry->second = now;
    else
      under_way_.erase(entry);
  }
  if (applied.refused && std::holds_alternative<command::Place>(command))
    next_place_ = now + options_.pass_every;
  place_due_ = true;

  if (leadership_.epoch != view.state.epoch()) {
    // Orders of the epoch before are void: every worker opens a session of the new one.
    leadership_.epoch = view.state.epoch();
    for (auto& [peer, contact] : contacts_) contact.pending = contact.open = std::nullopt;
  }
  for (const Fence& fence : fences_of(command)) settle_wherever(view, fence);
  for (const Fence& fence : applied.to_end) settle_wherever(view, fence);
  for (const AttemptId id : applied.placed)
    if (const Attempt* attempt = view.state.find_attempt(id))
      settle_at(view, attempt->peer, attempt->fence);
  applied_to_peer(view, command);
}

/// What becomes of peers, and waits for what becomes of their attempts.
void Coordinator::applied_to_peer(const LeaderView& view, const Command& command) {
  const auto about_peer = [&](PeerId peer) {
    const auto contact = contacts_.find(peer);
    if (contact != contacts_.end()) announce(view, peer, contact->second);
  };
  if (const auto* up = std::get_if<command::PeerUp>(&command)) about_peer(up->peer);
  if (const auto* down = std::get_if<command::PeerDown>(&command)) about_peer(down->peer);
  if (const auto* lost = std::get_if<command::AttemptsLost>(&command)) about_peer(lost->peer);
  if (const auto* forgotten = std::get_if<command::PeerForgotten>(&command)) {
    forgetting_.erase(forgotten->peer);
    const auto contact = contacts_.find(forgotten->peer);
    if (contact == contacts_.end() || view.state.find_peer(forgotten->peer)) return;
    contact->second.keeper.clear();
    if (contact->second.open) settle_all(view, forgotten->peer, *contact->second.open);
    announce(view, forgotten->peer, contact->second);
  }
}

void Coordinator::tick(const LeaderView& view) {
  if (!leads_) return;
  if (next_pass_ <= view.clocks.now) pass(view);
  if (place_due_ && next_place_ <= view.clocks.now) place(view);
}

Status Coordinator::forget(const LeaderView& view, PeerId peer) {
  if (!leads_) return Error{Code::busy, "this peer does not lead the cluster: ask the leader"};
  const PeerRecord* record = view.state.find_peer(peer);
  if (!record) return Error{Code::not_found, "no such peer"};
  const auto contact = contacts_.find(peer);
  if (!record->down_at || (contact != contacts_.end() && contact->second.open))
    return Error{Code::busy, "peer " + record->offer.name +
                                 " answers, or did a moment ago: only an unreachable peer can be "
                                 "forgotten (to take it out, run 'gpl leave' there)"};
  forgetting_.insert(peer);
  pass(view);
  return success();
}

CoordinatorOutput Coordinator::take_output() { return std::exchange(output_, {}); }

std::optional<Moment> Coordinator::wake_at() const {
  if (!leads_) return std::nullopt;
  return place_due_ ? std::min(next_pass_, next_place_) : next_pass_;
}

/// All that time alone brings about, and what has to be proposed again.
void Coordinator::pass(const LeaderView& view) {
  next_pass_ = view.clocks.now + options_.pass_every;
  std::erase_if(under_way_, [&](const auto& entry) {
    return entry.second + options_.propose_again <= view.clocks.now;
  });
  for (auto& [peer, contact] : contacts_)
    if (contact.open && *contact.heard_at + options_.silence <= view.clocks.now)
      contact.open.reset();
  for (const PeerId peer : view.state.peers()) {
    hear_silence(view, peer);
    count_leases(view, peer);
  }
  propose_condemned(view);
  for (auto& [peer, contact] : contacts_) {
    if (contact.open) settle_all(view, peer, *contact.open);
    announce(view, peer, contact);
  }
  propose_forgotten(view);
}

void Coordinator::hear_silence(const LeaderView& view, PeerId peer) {
  if (view.state.find_peer(peer)->down_at) return;
  const auto contact = contacts_.find(peer);
  Moment heard_at = began_;
  if (contact != contacts_.end() && contact->second.heard_at) heard_at = *contact->second.heard_at;
  if (view.clocks.now < heard_at + options_.silence) return;
  propose(view.clocks.now, about(Matter::down, peer), command::PeerDown{peer, view.clocks.at});
}

void Coordinator::count_leases(const LeaderView& view, PeerId peer) {
  const auto contact = contacts_.find(peer);
  if (contact != contacts_.end() && contact->second.open) return;
  for (const AttemptId id : view.state.attempts_on(peer)) {
    const Attempt& attempt = *view.state.find_attempt(id);
    const JobDescription& job = *view.state.find_job(attempt.job)->description;
    if (job.on_loss != OnLoss::retry) continue;
    if (ledger_.over(peer, view.clocks.now, effective_lease(job.lease)))
      condemned_.try_emplace(attempt.fence, Condemned{peer, true});
  }
}

/// Also those that were proposed in vain: they must leave the state before anything else is done
/// with them, whatever has changed since.
void Coordinator::propose_condemned(const LeaderView& view) {
  const Moment now = view.clocks.now;
  std::map<std::pair<PeerId, bool>, std::vector<Fence>> by_peer;
  std::erase_if(condemned_, [&](const auto& entry) {
    const Attempt* attempt = view.state.find_attempt(entry.first.attempt);
    return !attempt || attempt->fence != entry.first;
  });
  for (const auto& [fence, why] : condemned_)
    if (!is_under_way(now, about(why.lease_over ? Matter::lease : Matter::lost, fence)))
      by_peer[{why.peer, why.lease_over}].push_back(fence);
  for (const auto& [key, fences] : by_peer) {
    const auto& [peer, lease_over] = key;
    for (const Fence& fence : fences)
      under_way_[about(lease_over ? Matter::lease : Matter::lost, fence)] = now;
    for (auto from = fences.begin(); from != fences.end();) {
      const auto left = static_cast<std::size_t>(fences.end() - from);
      const auto to = from + static_cast<std::ptrdiff_t>(std::min(left, options_.most_fences));
      propose_given_up(view, peer, lease_over, {from, to});
      from = to;
    }
  }
}

void Coordinator::propose_given_up(const LeaderView& view, PeerId peer, bool lease_over,
                                   std::vector<Fence> fences) {
  if (lease_over)
    output_.propose.push_back(command::LeasesOver{peer, std::move(fences), view.clocks.at});
  else
    output_.propose.push_back(
        command::AttemptsLost{peer, std::move(fences),
                              "its peer, or the keeper there, was started anew", view.clocks.at});
}

void Coordinator::propose_forgotten(const LeaderView& view) {
  std::erase_if(forgetting_, [&](PeerId peer) {
    const auto contact = contacts_.find(peer);
    return !view.state.find_peer(peer) || (contact != contacts_.end() && contact->second.open);
  });
  for (const PeerId peer : forgetting_) {
    const auto attempts = view.state.attempts_on(peer);
    const bool leased = std::any_of(attempts.begin(), attempts.end(), [&](AttemptId id) {
      const JobId job = view.state.find_attempt(id)->job;
      return view.state.find_job(job)->description->on_loss == OnLoss::retry;
    });
    // Their tasks would be queued again at once, and the leases may still be running.
    if (leased) continue;
    propose(view.clocks.now, about(Matter::forget, peer),
            command::PeerForgotten{peer, view.clocks.at});
  }
}

void Coordinator::place(const LeaderView& view) {
  const Moment now = view.clocks.now;
  std::erase_if(under_way_, [&](const auto& entry) {
    return entry.first.matter == Matter::place && entry.second + options_.propose_again <= now;
  });
  next_place_ = now + options_.place_every;
  // The state does not show yet what is under way: the rule would place it again.
  if (!under_way_.empty() && under_way_.begin()->first.matter == Matter::place) return;
  Placements found = rule_(view.state, view.clocks.at);
  place_due_ = !found.complete;
  for (command::Place& place : found.places) {
    // Up by the state, but not heard: it may be gone, and who waits for it waits long.
    const auto contact = contacts_.find(place.placing.peer);
    if (contact == contacts_.end() || !contact->second.open) continue;
    const Concern concern = concerns_of(place).front();
    propose(now, concern, std::move(place));
  }
}

bool Coordinator::is_under_way(Moment now, const Concern& concern) const {
  const auto entry = under_way_.find(concern);
  return entry != under_way_.end() && now < entry->second + options_.propose_again;
}

void Coordinator::propose(Moment now, const Concern& concern, Command command) {
  if (is_under_way(now, concern)) return;
  under_way_[concern] = now;
  output_.propose.push_back(std::move(command));
}

Coordinator::Concern Coordinator::about(Matter matter, const Fence& fence) {
  return {matter, fence.epoch, fence.attempt.value};
}

Coordinator::Concern Coordinator::about(Matter matter, PeerId peer) {
  return {matter, peer.value, 0};
}

std::vector<Coordinator::Concern> Coordinator::concerns_of(const Command& command) {
  using Concerns = std::vector<Concern>;
  const auto each = [](Matter matter, const std::vector<Fence>& fences) {
    Concerns concerns;
    for (const Fence& fence : fences) concerns.push_back(about(matter, fence));
    return concerns;
  };
  const auto none = [](const auto&) { return Concerns{}; };
  return std::visit(
      Overloaded{
          [&](const command::Submit& c) { return none(c); },
          [](const command::Place& c) {
            return Concerns{{Matter::place, c.job.value, c.placing.tasks.first.value}};
          },
          [&](const command::PlaceGang& c) { return none(c); },
          [](const command::Start& c) { return Concerns{about(Matter::start, c.attempt)}; },
          [](const command::Report& c) { return Concerns{about(Matter::report, c.attempt)}; },
          [&](const command::Cancel& c) { return none(c); },
          [&](const command::Hold& c) { return none(c); },
          [&](const command::Release& c) { return none(c); },
          [](const command::PeerUp& c) { return Concerns{about(Matter::up, c.peer)}; },
          [](const command::PeerDown& c) { return Concerns{about(Matter::down, c.peer)}; },
          [](const command::PeerForgotten& c) { return Concerns{about(Matter::forget, c.peer)}; },
          [&](const command::AttemptsLost& c) { return each(Matter::lost, c.attempts); },
          [&](const command::LeasesOver& c) { return each(Matter::lease, c.attempts); },
          [&](const command::Prune& c) { return none(c); },
          [&](const command::SetFeatureLevel& c) { return none(c); },
          [&](const command::SetEpoch& c) { return none(c); }},
      command);
}

}  // namespace gpl
