#include <algorithm>
#include <utility>

#include "gpl/core/hex.h"
#include "gpl/peer/client_session.h"
#include "gpl/peer/lending.h"
#include "gpl/posix/clock.h"

namespace gpl::peer {
namespace {

constexpr Duration look_again = milliseconds(200);
constexpr Duration resume_look = milliseconds(20);
constexpr Duration resumes_within = seconds(2);

}  // namespace

std::optional<PeerId> ClientSession::peer_named(Question question, const std::string& name) {
  const PeerId self = parts_.identity.peer;
  if (name.empty() && !came_from_here() && !caller_.is_peer) {
    refuse(question, Error{Code::invalid,
                           "this machine has no peer: say which one is meant (gpl "
                           "peers lists them)"});
    return std::nullopt;
  }
  if (name.empty()) return self;
  const ClusterState* state = state_for(question);
  if (state == nullptr) return std::nullopt;
  std::vector<PeerId> found;
  for (const PeerId peer : state->peers())
    if (state->find_peer(peer)->offer.name == name || hex(peer.value) == name)
      found.push_back(peer);
  if (found.size() == 1) return found.front();
  // Of several the one that is asked is meant.
  if (std::find(found.begin(), found.end(), self) != found.end()) return self;
  if (found.empty() && name == parts_.identity.name) return self;
  std::string which;
  for (const PeerId peer : found) which += (which.empty() ? "" : " or ") + hex(peer.value);
  refuse(question, found.empty() ? Error{Code::not_found, "there is no peer '" + name + "'"}
                                 : Error{Code::not_found, "several peers are named '" + name +
                                                              "': say which by its id, " + which});
  return std::nullopt;
}

void ClientSession::ask(Question question, wire::DrainPeer& asked) {
  if (!has_every_right())
    return refuse(
        question,
        Error{Code::denied, "it takes the cluster's key, or to be the peer's owner, to drain it"});
  const std::optional<PeerId> peer = peer_named(question, asked.peer);
  if (!peer) return;
  if (is_taken(question)) return;
  if (*peer != parts_.identity.peer)
    return relays_.ask(question, *peer, name_of(*peer), wire::DrainPeer{"", asked.wait});
  if (Status status = parts_.peer.set_draining(true); !status.ok())
    return refuse(question, status.error());
  if (!asked.wait) return answer(question, wire::Done{});
  const ClusterState* state = parts_.consensus->state();
  const PeerRecord* self = state != nullptr ? state->find_peer(parts_.identity.peer) : nullptr;
  // Before the cluster knows, something may still be placed here.
  if (self != nullptr && !self->offer.closed.empty() && state->attempts_on(self->id).empty())
    return answer(question, wire::Done{});
  looks_[question] = parts_.loop.after(look_again, [this, question, asked] {
    looks_.erase(question);
    wire::DrainPeer again = asked;
    if (!parts_.peer.is_draining())
      return refuse(question, Error{Code::busy, "the peer was told to resume meanwhile"});
    ask(question, again);
  });
}

void ClientSession::ask(Question question, wire::ResumePeer& asked) {
  if (!has_every_right())
    return refuse(
        question,
        Error{Code::denied, "it takes the cluster's key, or to be the peer's owner, to resume it"});
  const std::optional<PeerId> peer = peer_named(question, asked.peer);
  if (!peer) return;
  if (is_taken(question)) return;
  if (*peer != parts_.identity.peer)
    return relays_.ask(question, *peer, name_of(*peer), wire::ResumePeer{});
  if (Status status = parts_.peer.set_draining(false); !status.ok())
    return refuse(question, status.error());
  tell_resumed(question, resumes_within);
}

/// Once the cluster knows it, so that who looks next sees it; without a leader not for ever.
void ClientSession::tell_resumed(Question question, Duration patience) {
  const ClusterState* state = parts_.consensus->state();
  const PeerRecord* self = state != nullptr ? state->find_peer(parts_.identity.peer) : nullptr;
  const bool known = self != nullptr && self->offer.closed != draining_word;
  if (known || patience.count_ms <= 0) return answer(question, wire::Done{});
  looks_[question] = parts_.loop.after(resume_look, [this, question, patience] {
    looks_.erase(question);
    tell_resumed(question, milliseconds(patience.count_ms - resume_look.count_ms));
  });
}

/// The leader alone gives a peer up.
void ClientSession::ask(Question question, wire::ForgetPeer& asked) {
  if (!has_every_right())
    return refuse(question,
                  Error{Code::denied,
                        "it takes the cluster's key, or to be the peer's owner, to forget one"});
  const std::optional<PeerId> peer = peer_named(question, asked.peer);
  if (!peer || is_taken(question)) return;
  const PeerId leader = parts_.consensus->facts().leader;
  if (!parts_.consensus->leads() && !caller_.is_peer && leader != PeerId{})
    return relays_.ask(question, leader, name_of(leader), wire::ForgetPeer{hex(peer->value)});
  if (Status status = parts_.consensus->forget(*peer); !status.ok())
    return refuse(question, status.error());
  answer(question, wire::Done{});
}

/// What has not ended and would be lost with this peer: what runs here, and when it is alone in its
/// cluster all of the queue.
std::vector<JobId> ClientSession::lost_with_this_peer(const ClusterState& state) const {
  std::set<JobId> jobs;
  for (const AttemptId attempt : state.attempts_on(parts_.identity.peer))
    jobs.insert(state.find_attempt(attempt)->job);
  if (const ConsensusFacts facts = parts_.consensus->facts();
      facts.voters.size() + facts.learners.size() <= 1)
    state.for_each_job([&](const JobRecord& job) {
      if (!job.has_ended()) jobs.insert(job.id);
    });
  return {jobs.begin(), jobs.end()};
}

void ClientSession::ask(Question question, wire::LeaveCluster& asked) {
  const ClusterState* state = state_for(question);
  if (state == nullptr) return;
  if (!has_every_right())
    return refuse(question, Error{Code::denied, "only the peer's owner can have it leave"});
  if (!came_from_here())
    return refuse(question, Error{Code::denied,
                                  "a peer leaves when it is told to on its own machine: gpl leave "
                                  "there"});
  const std::vector<JobId> left = lost_with_this_peer(*state);
  if (!left.empty() && !asked.end_jobs)
    return refuse(question,
                  Error{Code::busy, std::to_string(left.size()) +
                                        (left.size() == 1 ? " job has not ended, job "
                                                          : " jobs have not ended, job ") +
                                        std::to_string(left.front().value) +
                                        " for one: wait for them, or end them with --end-jobs"});
  parts_.peer.set_leaving(true);
  waits_to_leave_ = true;
  for (const JobId job : left)
    parts_.consensus->propose(Command{command::Cancel{job, std::nullopt, posix::wall_clock()}},
                              [](const Result<Applied>&) {});
  leave_when_idle(question);
}

void ClientSession::leave_when_idle(Question question) {
  const ClusterState* state = parts_.consensus->state();
  if (state == nullptr || !lost_with_this_peer(*state).empty()) {
    looks_[question] =
        parts_.loop.after(look_again, [this, question] { leave_when_idle(question); });
    return;
  }
  parts_.peer.leave(guarded([this, question](const Status& left) {
    if (!left.ok()) return refuse(question, left.error());
    waits_to_leave_ = false;  // it does
    answer(question, wire::Done{});
    connection_->close_after_writing();
  }));
}

}  // namespace gpl::peer
