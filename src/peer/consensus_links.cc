// What goes over the links: the log, workers' words, and proposals.

#include <utility>

#include "gpl/peer/consensus.h"

namespace gpl::peer {

void Consensus::Links::send(raft::Message message) {
  const PeerId to = peer_of(message.to);
  reach_.send(to, wire::RaftSays{std::move(message)});
}

void Consensus::take(PeerId from, const wire::LinkMessage& message) {
  if (!replica_ || !leader_) return;
  const Moment now = clock_.now();
  if (const auto* said = std::get_if<wire::RaftSays>(&message)) {
    // Nobody speaks for another.
    if (peer_of(said->message.from) != from) return;
    replica_->receive(said->message);
    note_commit(from, said->message);
  } else if (const auto* worker = std::get_if<wire::WorkerSays>(&message)) {
    return hear(from, worker->message);
  } else if (const auto* leader = std::get_if<wire::LeaderSays>(&message)) {
    return told_.to_worker(leader->message);
  } else if (const auto* ask = std::get_if<wire::Propose>(&message)) {
    take_proposal(from, *ask);
  } else if (const auto* proposed = std::get_if<wire::Proposed>(&message)) {
    proposals_.take(now, from, *proposed);
  } else if (const auto* refused = std::get_if<wire::NotProposed>(&message)) {
    proposals_.take(now, from, *refused);
  } else if (const auto* give_up = std::get_if<wire::GiveUp>(&message)) {
    if (!is_elected()) return;
    membership_.asked_to_let_go(from, give_up->leave);
    if (give_up->leave) leader_->leaves(from);
    members_at_ = now;
  } else if (std::get_if<wire::GivenUp>(&message) != nullptr) {
    if (giving_up_ && giving_up_->asked == from) given_up(success());
  } else {
    return;
  }
  after_event();
}

void Consensus::take_proposal(PeerId from, const wire::Propose& ask) {
  if (!is_elected())
    return reach_.send(from, wire::NotProposed{ask.number, true, "this peer does not lead"});
  const auto proposed = replica_->propose({ask.command});
  if (proposed.ok())
    return reach_.send(from,
                       wire::Proposed{ask.number, proposed.value().index, proposed.value().term});
  const Error& error = proposed.error();
  reach_.send(from, wire::NotProposed{ask.number, error.code != Code::too_large, error.message});
}

void Consensus::link_changed(PeerId peer) {
  const Moment now = clock_.now();
  if (reach_.is_up(peer)) {
    membership_.linked(peer);
    if (leader_) leader_->may_return(peer);
    if (replica_) replica_->reached(node_of(peer));
  } else {
    membership_.unlinked(peer);
    proposals_.unlinked(now, peer);
  }
  members_at_ = now;
  after_event();
}

void Consensus::propose(Command command, Done done) {
  if (failure_) {
    loop_.at_end_of_turn([done = std::move(done), error = *failure_] { done(error); });
    return;
  }
  proposals_.add(clock_.now(), std::move(command), std::move(done));
  after_event();
}

/// A peer whose state is not current yet could not tell what came of them.
void Consensus::run_proposals(Moment now) {
  PeerId leader;
  if (ready_ && replica_ && !replica_->failure()) {
    leader = is_elected() ? self() : peer_of(replica_->node().leader());
    // What is said without a link is dropped: it would be waited for in vain.
    if (leader != self() && !reach_.is_up(leader)) leader = {};
  }
  proposals_.leader_is(now, leader);
  if (const auto due = proposals_.wake_at(); due && *due <= now) proposals_.tick(now);
  if (!proposals_.has_finished()) return;
  loop_.at_end_of_turn([self = self_] {
    if (*self != nullptr) (*self)->tell_finished();
  });
}

void Consensus::tell_finished() {
  for (auto& [done, result] : proposals_.take_finished()) done(std::move(result));
}

void Consensus::to_leader(const WorkerToLeader& message) {
  if (!replica_ || !leader_) return;
  if (!is_elected()) {
    const PeerId leader = peer_of(replica_->node().leader());
    if (leader != PeerId{}) reach_.send(leader, wire::WorkerSays{message});
    return;
  }
  hear(self(), message);
}

/// What comes in one turn goes into one entry of the log, and one sync. In the next turn: what this
/// one says to clients goes out first.
void Consensus::hear(PeerId from, const WorkerToLeader& message) {
  heard_.emplace_back(from, message);
  if (heard_.size() > 1) return;
  loop_.post([self = self_] {
    if (*self == nullptr) return;
    const auto heard = std::exchange((*self)->heard_, {});
    if (!(*self)->leader_) return;
    (*self)->leader_->receive(heard);
    (*self)->after_event();
  });
}

}  // namespace gpl::peer
