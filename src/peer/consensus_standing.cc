// What a peer knows of the leader, and how current its own state is.

#include <algorithm>
#include <utility>

#include "gpl/peer/consensus.h"

namespace gpl::peer {
namespace {

/// Without a leader for so long after it was opened, what is known has to do.
constexpr Duration leader_within = seconds(5);

}  // namespace

const ClusterState* Consensus::state() const {
  return ready_ && replica_ && !replica_->failure() ? &replica_->state() : nullptr;
}

bool Consensus::is_elected() const {
  return replica_ && !replica_->failure() && replica_->node().role() == raft::Role::leader;
}

/// Itself only once it can do a leader's work.
PeerId Consensus::leader_now() const {
  if (!replica_ || !leader_ || replica_->failure()) return {};
  if (is_elected()) return leads() ? self() : PeerId{};
  return peer_of(replica_->node().leader());
}

void Consensus::note_leader(Moment now) {
  if (!leads()) leads_since_.reset();
  if (leads() && !leads_since_) leads_since_ = now;
  const PeerId leader = leader_now();
  if (leader == known_leader_) return;
  known_leader_ = leader;
  led_since_.reset();
  if (leader != PeerId{}) led_since_ = now;
  loop_.at_end_of_turn([self = self_] {
    if (*self != nullptr) (*self)->told_.leader_changed();
  });
}

/// How far a leader had committed when it was first heard. One that has only been elected does not
/// know yet: then the next that it says counts.
void Consensus::note_commit(PeerId from, const raft::Message& message) {
  const auto* append = std::get_if<raft::Append>(&message.body);
  if (ready_ || append == nullptr) return;
  const raft::Node& node = replica_->node();
  if (message.term != node.term() || peer_of(node.leader()) != from) return;
  const bool is_first = heard_term_ != message.term;
  if (!is_first &&
      (replica_->applied_index() < heard_commit_ || replica_->applied_term() == heard_term_))
    return;
  heard_term_ = message.term;
  heard_commit_ = append->commit;
}

Moment Consensus::waits_until() const { return opened_at_ + leader_within; }

bool Consensus::is_current(Moment now) const {
  if (!replica_ || !leader_ || replica_->failure()) return false;
  if (leads()) return true;
  const raft::Node& node = replica_->node();
  if (is_elected()) return false;
  if (node.leader() != raft::NodeId{})
    return heard_term_ == node.term() && replica_->applied_term() == heard_term_ &&
           replica_->applied_index() >= heard_commit_;
  const raft::Configuration& members = node.configuration();
  return now >= waits_until() && !(members.voters.empty() && members.learners.empty());
}

void Consensus::note_ready(Moment now) {
  if (ready_ || ready_coming_ || !is_current(now)) return;
  ready_coming_ = true;
  loop_.at_end_of_turn([self = self_] {
    if (*self != nullptr) (*self)->become_ready();
  });
}

void Consensus::become_ready() {
  ready_coming_ = false;
  if (ready_ || !is_current(clock_.now())) return;
  ready_ = true;
  if (std::exchange(failure_, std::nullopt)) told_.note("the log is open again");
  told_.ready();
  after_event();  // what was proposed meanwhile
}

bool Consensus::is_member() const {
  return replica_ && replica_->node().configuration().contains(options_.node);
}

bool Consensus::answers(raft::NodeId node) const {
  if (node == options_.node) return true;
  if (!is_elected()) return reach_.is_up(peer_of(node));
  const auto heard = replica_->node().heard_from(node);
  return heard && clock_.now() - *heard < replica_->election_timeout();
}

std::uint32_t Consensus::can_lose(const raft::Configuration& members) const {
  if (known_leader_ == PeerId{}) return 0;
  const auto answering =
      static_cast<std::size_t>(std::count_if(members.voters.begin(), members.voters.end(),
                                             [&](raft::NodeId node) { return answers(node); }));
  return answering <= members.quorum() ? 0
                                       : static_cast<std::uint32_t>(answering - members.quorum());
}

ConsensusFacts Consensus::facts() const {
  ConsensusFacts facts;
  facts.leader = known_leader_;
  if (!replica_) return facts;
  const raft::Configuration& members = replica_->node().configuration();
  for (const raft::NodeId node : members.voters) facts.voters.push_back(peer_of(node));
  for (const raft::NodeId node : members.learners) facts.learners.push_back(peer_of(node));
  facts.can_lose = can_lose(members);
  if (members.voters.size() == 1 && !members.learners.empty()) {
    // Only the leader knows for sure; at a learner that has a leader it is so but for moments.
    const bool kept_twice =
        is_elected() ? replica_->node().is_kept_twice() : known_leader_ != PeerId{} && is_member();
    facts.unprotected = !kept_twice;
    facts.can_lose = kept_twice ? 1 : 0;
  }
  return facts;
}

}  // namespace gpl::peer
