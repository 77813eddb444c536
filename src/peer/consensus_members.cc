// Members come and go, and this peer goes.

#include <algorithm>
#include <utility>

#include "gpl/peer/consensus.h"

namespace gpl::peer {
namespace {

constexpr Duration look_every = milliseconds(100);
constexpr Duration ask_again = seconds(1);

}  // namespace

void Consensus::look_after_members(Moment now) {
  if (!leads() || now < members_at_) return;
  members_at_ = now + look_every;
  membership_.look_after(*replica_, reach_, {now, clock_.wall()});
  for (const PeerId peer : membership_.let_go(*replica_)) reach_.send(peer, wire::GivenUp{});
}

/// A node whose peer was given up is no member any more either.
void Consensus::note_forgotten(const AppliedEntry& entry) {
  // The end of one change may be the beginning of the next.
  if (entry.commands.empty()) members_at_ = {};
  for (std::size_t i = 0; i < entry.commands.size(); ++i) {
    const auto* forgotten = std::get_if<command::PeerForgotten>(&entry.commands[i]);
    if (forgotten == nullptr || entry.results[i].refused) continue;
    members_at_ = {};
    if (forgotten->peer != self() && !reach_.is_up(forgotten->peer))
      membership_.forgotten(forgotten->peer);
  }
}

Status Consensus::forget(PeerId peer) {
  if (!leads()) return Error{Code::busy, "this peer does not lead the cluster: ask the leader"};
  Status status = leader_->forget(peer);
  // An earlier leader dropped its record, and did not come to this.
  const bool is_left_over = !status.ok() && status.error().code == Code::not_found &&
                            peer != self() && !reach_.is_up(peer) &&
                            replica_->node().configuration().contains(node_of(peer));
  if (is_left_over) {
    membership_.forgotten(peer);
    members_at_ = {};
    status = success();
  }
  after_event();
  return status;
}

void Consensus::give_up(bool leave, Duration at_most, std::function<void(Status)> done) {
  const Moment now = clock_.now();
  giving_up_ = GivingUp{leave, now + at_most, std::move(done), {}, now};
  membership_.give_up_self(true);
  members_at_ = {};
  if (!replica_ || !leader_)
    return given_up(
        failure_.value_or(Error{Code::busy, "the log is not open: nothing could be handed over"}));
  after_event();
}

bool Consensus::has_nothing_to_give_up() const {
  const raft::Configuration& members = replica_->node().configuration();
  if (!members.contains(options_.node)) return true;
  const auto is_other = [&](raft::NodeId node) { return node != options_.node; };
  const auto is_linked_other = [&](raft::NodeId node) {
    return is_other(node) && reach_.is_up(peer_of(node));
  };
  const auto any = [&](auto which) {
    return std::any_of(members.voters.begin(), members.voters.end(), which) ||
           std::any_of(members.learners.begin(), members.learners.end(), which);
  };
  if (!any(is_other)) return true;
  if (giving_up_->leave) return false;
  // A learner has no vote; and there has to be somebody who could go on.
  return members.is_learner(options_.node) || !any(is_linked_other);
}

void Consensus::go_on_giving_up(Moment now) {
  if (!giving_up_) return;
  if (has_nothing_to_give_up()) return given_up(success());
  if (now >= giving_up_->until)
    return given_up(Error{Code::busy,
                          "the other peers did not take over in time: what this one has voted for "
                          "stays, and the cluster counts it as lost for a while"});
  const PeerId leader = peer_of(replica_->node().leader());
  if (leader == PeerId{} || is_elected() || !reach_.is_up(leader)) return;
  if (leader == giving_up_->asked && now < giving_up_->ask_at) return;
  giving_up_->asked = leader;
  giving_up_->ask_at = now + ask_again;
  reach_.send(leader, wire::GiveUp{giving_up_->leave});
}

void Consensus::given_up(Status status) {
  // Whoever was told that it failed may go on.
  if (!status.ok()) membership_.give_up_self(false);
  loop_.at_end_of_turn(
      [done = std::move(giving_up_->done), status = std::move(status)] { done(status); });
  giving_up_.reset();
}

}  // namespace gpl::peer
