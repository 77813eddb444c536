#include "gpl/peer/membership.h"

#include <algorithm>
#include <limits>

namespace gpl::peer {
namespace {

/// A handing over takes no longer, or was in vain.
constexpr Duration hand_over_again = seconds(2);
constexpr Duration drop_again = seconds(5);

}  // namespace

void Membership::linked(PeerId peer) {
  forgotten_.erase(peer);
  const auto found = departures_.find(peer);
  if (found == departures_.end()) return;
  // It has come back; or goes on leaving over another link.
  if (found->second.leave && !found->second.told)
    found->second.linked = true;
  else
    departures_.erase(found);
}

void Membership::unlinked(PeerId peer) {
  const auto found = departures_.find(peer);
  if (found == departures_.end()) return;
  found->second.linked = false;
}

void Membership::asked_to_let_go(PeerId peer, bool leave) {
  Departure& departure = departures_[peer];
  departure.leave = departure.leave || leave;
  departure.told = false;
  departure.linked = true;
}

void Membership::forgotten(PeerId peer) { forgotten_.insert(peer); }

bool Membership::is_leaving(raft::NodeId node) const {
  const auto found = departures_.find(peer_of(node));
  if (found != departures_.end() && found->second.leave) return true;
  return forgotten_.contains(peer_of(node));
}

bool Membership::gives_up(raft::NodeId node) const {
  if (node == self_) return self_gives_up_;
  return departures_.contains(peer_of(node)) || is_leaving(node);
}

void Membership::look_after(Replica& replica, const Reach& reach, const Clocks& clocks) {
  const raft::Node& node = replica.node();
  if (term_ != node.term()) {
    term_ = node.term();
    began_ = clocks.now;
    handed_over_.reset();
  }
  drop_records(replica, clocks);
  if (!node.configuration_is_committed() || !node.configuration().is_voter(self_)) return;
  if (add_linked(replica, reach) || remove_leaving(replica)) return;
  choose_voters(replica, reach, clocks.now);
}

bool Membership::add_linked(Replica& replica, const Reach& reach) {
  for (const PeerId peer : reach.up()) {
    const raft::NodeId id = node_of(peer);
    if (id == self_ || replica.node().configuration().contains(id) || is_leaving(id)) continue;
    return replica.add_learner(id).ok();
  }
  return false;
}

bool Membership::remove_leaving(Replica& replica) {
  const raft::Configuration& members = replica.node().configuration();
  const auto leaving = std::find_if(members.learners.begin(), members.learners.end(),
                                    [&](raft::NodeId id) { return is_leaving(id); });
  return leaving != members.learners.end() && replica.remove(*leaving).ok();
}

raft::MemberFacts Membership::facts_of(const Replica& replica, const Reach& reach, raft::NodeId id,
                                       Moment now) const {
  const raft::Node& node = replica.node();
  raft::MemberFacts facts;
  facts.id = id;
  facts.is_voter = node.configuration().is_voter(id);
  facts.gives_up = gives_up(id);
  facts.process_began = Instant{std::numeric_limits<std::int64_t>::max()};
  if (id == self_) {
    facts.answers = facts.caught_up = true;
    facts.on_battery = own_.on_battery;
    facts.wireless = own_.wireless;
    facts.process_began = own_.process_began;
    return facts;
  }
  const Duration silent = now - std::max(began_, node.heard_from(id).value_or(began_));
  facts.answers = node.heard_from(id) && silent < replica.election_timeout();
  facts.caught_up = node.has_caught_up(id);
  if (!facts.answers) facts.silent_for = silent;
  if (const wire::LinkHello* hello = reach.hello_of(peer_of(id))) {
    facts.on_battery = hello->on_battery;
    facts.wireless = hello->wireless;
    facts.process_began = hello->process_began;
  }
  return facts;
}

void Membership::choose_voters(Replica& replica, const Reach& reach, Moment now) {
  const raft::Configuration& configuration = replica.node().configuration();
  std::vector<raft::MemberFacts> members;
  for (const auto* ids : {&configuration.voters, &configuration.learners})
    for (const raft::NodeId id : *ids) members.push_back(facts_of(replica, reach, id, now));
  const raft::VoterStep step = raft::next_voter_step(members, self_);
  // What is refused now is asked for again with the next look.
  switch (step.kind) {
    case raft::VoterStep::Kind::none:
      return;
    case raft::VoterStep::Kind::promote:
      static_cast<void>(replica.promote(step.node));
      return;
    case raft::VoterStep::Kind::demote:
      static_cast<void>(replica.remove(step.node));
      return;
    case raft::VoterStep::Kind::hand_over:
      if (handed_over_ && now - *handed_over_ < hand_over_again) return;
      handed_over_ = now;
      static_cast<void>(replica.transfer(step.node));
      return;
  }
}

/// Of those that leave and are no members any more: all their attempts have ended before.
void Membership::drop_records(Replica& replica, const Clocks& clocks) {
  if (!replica.node().configuration_is_committed()) return;
  for (auto& [peer, departure] : departures_) {
    if (!departure.leave || replica.node().configuration().contains(node_of(peer))) continue;
    if (replica.state().find_peer(peer) == nullptr) continue;
    if (departure.record_dropped && clocks.now - *departure.record_dropped < drop_again) continue;
    departure.record_dropped = clocks.now;
    static_cast<void>(replica.propose({command::PeerForgotten{peer, clocks.at}}));
  }
}

std::vector<PeerId> Membership::let_go(const Replica& replica) {
  std::vector<PeerId> done;
  const raft::Node& node = replica.node();
  if (!node.leads() || !node.configuration_is_committed()) return done;
  const raft::Configuration& members = node.configuration();
  for (auto& [peer, departure] : departures_) {
    if (departure.told) continue;
    const bool gone = departure.leave ? !members.contains(node_of(peer)) &&
                                            replica.state().find_peer(peer) == nullptr
                                      : members.is_learner(node_of(peer));
    if (!gone) continue;
    departure.told = true;
    done.push_back(peer);
  }
  std::erase_if(departures_, [](const auto& entry) {
    return entry.second.leave && entry.second.told && !entry.second.linked;
  });
  std::erase_if(forgotten_, [&](PeerId peer) { return !members.contains(node_of(peer)); });
  return done;
}

}  // namespace gpl::peer
