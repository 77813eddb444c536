#include "gpl/raft/node.h"

#include <algorithm>

#include "election.h"
#include "following.h"
#include "handover.h"
#include "learner_copy.h"
#include "membership.h"
#include "replication.h"
#include "snapshot_transfer.h"

namespace gpl::raft {
namespace {

void advance_clock(State& state, Moment now) { state.now = std::max(state.now, now); }

/// One of an older term is told the present one, or it would go on: nobody else may answer it.
void answer_late(State& state, const Message& message) {
  if (std::holds_alternative<Append>(message.body) ||
      std::holds_alternative<InstallSnapshot>(message.body)) {
    AppendReply reply;
    reply.hint = state.log.last_index();
    reply.hint_term = state.log.last_term();
    state.answer(message.from, reply);
  }
}

/// The messages that mean something in the present term only.
struct Receiver {
  State& state;
  NodeId from;
  Term term;

  void operator()(const PreVoteRequest& body) { on_pre_vote_request(state, from, term, body); }
  void operator()(const PreVoteReply& body) { on_pre_vote_reply(state, from, term, body); }
  void operator()(const VoteRequest& body) { on_vote_request(state, from, term, body); }
  void operator()(const VoteReply& body) { on_vote_reply(state, from, body); }
  void operator()(Append& body) { on_append(state, from, std::move(body)); }
  void operator()(const AppendReply& body) { on_append_reply(state, from, body); }
  void operator()(InstallSnapshot& body) { on_install_snapshot(state, from, std::move(body)); }
  void operator()(const InstallSnapshotReply& body) {
    on_install_snapshot_reply(state, from, body);
  }
  void operator()(const TimeoutNow&) { on_timeout_now(state, from); }
};

/// Its sender's term is only a wish, or is judged by whoever handles it.
bool is_about_another_term(const Body& body) {
  return std::holds_alternative<PreVoteRequest>(body) ||
         std::holds_alternative<PreVoteReply>(body) || std::holds_alternative<VoteRequest>(body);
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::follower:
      return "follower";
    case Role::pre_candidate:
      return "pre-candidate";
    case Role::candidate:
      return "candidate";
    case Role::leader:
      return "leader";
  }
  return "";
}

Node::Node(Options options, Restored restored, Moment now)
    : state_(std::make_unique<State>(options, std::move(restored), now)) {
  campaign_if_alone(*state_);
}
Node::~Node() = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(Node&&) noexcept = default;

void Node::tick(Moment now) {
  State& state = *state_;
  advance_clock(state, now);
  if (state.role == Role::leader) {
    tick_leader(state);
  } else {
    tick_election(state);
  }
}

void Node::receive(Moment now, Message message) {
  State& state = *state_;
  advance_clock(state, now);
  if (message.to != state.options.id || message.from == state.options.id ||
      message.from == NodeId{} || message.term >= plausible_limit) {
    return;
  }
  if (!is_about_another_term(message.body)) {
    if (message.term < state.hard.term) {
      answer_late(state, message);
      return;
    }
    if (message.term > state.hard.term) become_follower(state, message.term, NodeId{});
  }
  std::visit(Receiver{state, message.from, message.term}, message.body);
}

void Node::synced(Moment now, std::uint64_t sequence) {
  State& state = *state_;
  advance_clock(state, now);
  state.disk.synced(sequence);
  count_own_vote(state);
  if (state.role == Role::leader) advance_commit(state);
}

Result<Index> Node::propose(Moment now, std::string data) {
  State& state = *state_;
  advance_clock(state, now);
  if (Status status = may_propose(state); !status) return std::move(status).error();
  if (data.size() > entry_limit_bytes) {
    return Error{Code::too_large, "a command of " + std::to_string(data.size()) +
                                      " bytes is over the limit of an entry of the log"};
  }
  return append_own(state, EntryKind::command, std::move(data));
}

Result<Index> Node::add_learner(Moment now, NodeId id) {
  advance_clock(*state_, now);
  return raft::add_learner(*state_, id);
}

Result<Index> Node::promote(Moment now, NodeId id) {
  advance_clock(*state_, now);
  return raft::promote(*state_, id);
}

Result<Index> Node::remove(Moment now, NodeId id) {
  advance_clock(*state_, now);
  return raft::remove(*state_, id);
}

Status Node::transfer(Moment now, NodeId to) {
  State& state = *state_;
  advance_clock(state, now);
  if (state.role != Role::leader) return Error{Code::busy, "this node does not lead"};
  if (!state.configuration().is_voter(to)) {
    return Error{Code::invalid, "node " + std::to_string(to.value) + " is no voter"};
  }
  if (to != state.options.id) begin_transfer(state, to);
  return success();
}

void Node::reached(Moment now, NodeId id) {
  State& state = *state_;
  advance_clock(state, now);
  if (state.role == Role::leader) {
    if (Progress* follower = state.follower(id)) ask_again(state, *follower);
  } else if (state.role != Role::follower) {
    state.ballot.ask_at = state.now;
  }
}

void Node::snapshot_saved(const SnapshotMark& mark) { compact(*state_, mark); }

void Node::snapshot_piece(Moment now, const SnapshotRead& read, std::string data,
                          std::uint64_t total_bytes) {
  advance_clock(*state_, now);
  on_snapshot_piece(*state_, read, std::move(data), total_bytes);
}

void Node::snapshot_installed(Moment now, const SnapshotMark& mark) {
  advance_clock(*state_, now);
  on_snapshot_installed(*state_, mark);
}

void Node::snapshot_refused(Moment now, const SnapshotMark& mark) {
  advance_clock(*state_, now);
  on_snapshot_refused(*state_, mark);
}

Output Node::take_output() {
  State& state = *state_;
  campaign_if_alone(state);
  if (state.role == Role::leader) replicate(state);
  state.out.persist = state.disk.take(state.log, state.hard, state.now);
  if (state.has_to_apply()) {
    state.out.committed = state.log.copy(state.handed + 1, state.options.apply_limit_bytes);
    const Index to = state.applicable();
    while (state.out.committed.back().index > to) state.out.committed.pop_back();
    state.handed = state.out.committed.back().index;
  }
  return std::exchange(state.out, Output{});
}

Moment Node::wake_at() const {
  const State& state = *state_;
  if (state.has_to_apply()) return state.now;
  if (state.role != Role::leader) {
    // Who may not campaign is woken all the same, now and then: that costs nothing.
    if (state.role == Role::follower) return state.election_at;
    return std::min(state.election_at, state.ballot.ask_at);
  }
  const std::optional<Transfer>& transfer = state.lead.transfer;
  return transfer ? std::min(transfer->until, state.lead.heartbeat_at) : state.lead.heartbeat_at;
}

NodeId Node::id() const { return state_->options.id; }
Role Node::role() const { return state_->role; }
Term Node::term() const { return state_->hard.term; }
NodeId Node::leader() const { return state_->leader; }
bool Node::leads() const {
  return state_->role == Role::leader && state_->handed >= state_->lead.noop;
}
Index Node::commit_index() const { return state_->commit; }
Index Node::last_index() const { return state_->log.last_index(); }
Index Node::synced_index() const { return state_->disk.synced_index(); }
Index Node::first_index() const { return state_->log.first_index(); }
const Configuration& Node::configuration() const { return state_->configuration(); }
Index Node::match_of(NodeId id) const {
  const Progress* follower = std::as_const(*state_).follower(id);
  return follower == nullptr ? 0 : follower->match();
}
std::optional<Moment> Node::heard_from(NodeId id) const {
  const Progress* follower = std::as_const(*state_).follower(id);
  return follower == nullptr ? std::nullopt : follower->last_heard();
}
bool Node::has_caught_up(NodeId id) const {
  return state_->role == Role::leader && raft::has_caught_up(*state_, id);
}
bool Node::is_kept_twice() const { return raft::is_kept_twice(*state_); }
bool Node::configuration_is_committed() const {
  return state_->log.configuration_index() <= state_->commit;
}
std::optional<Moment> Node::confirmed_at() const { return raft::confirmed_at(*state_); }
bool Node::sends_snapshot() const { return raft::sends_snapshot(*state_); }
std::optional<Term> Node::term_at(Index index) const { return state_->log.term_at(index); }
std::optional<SnapshotMark> Node::mark_at(Index index) const {
  const std::optional<Term> term = state_->log.term_at(index);
  if (!term || index > state_->handed) return std::nullopt;
  return SnapshotMark{index, *term, state_->log.configuration_at(index)};
}

}  // namespace gpl::raft
