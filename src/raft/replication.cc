#include "replication.h"

#include <cassert>
#include <functional>

#include "election.h"
#include "handover.h"
#include "learner_copy.h"
#include "membership.h"
#include "snapshot_transfer.h"

namespace gpl::raft {
namespace {

std::uint64_t rounds_a_timeout(const State& state) {
  return static_cast<std::uint64_t>(state.options.election_timeout.count_ms /
                                    state.options.heartbeat.count_ms);
}

/// A follower that needs a great deal gets it in answer to its answers, not all in one Output.
constexpr int appends_an_output = 4;

/// False: the log no longer has what this follower needs.
bool send_entries(State& state, Progress& follower) {
  const Index previous = follower.next() - 1;
  const std::optional<Term> term = state.log.term_at(previous);
  if (!term) return false;
  Append append{previous, *term, state.commit, state.lead.round,
                state.log.copy(follower.next(), state.options.append_limit_bytes)};
  const Index last = previous + append.entries.size();
  const bool with_entries = !append.entries.empty();
  state.send(follower.id(), std::move(append));
  follower.sent(last, with_entries, state.commit);
  return true;
}

/// Asks about the newest entry sent, so that a refusal tells of lost ones.
void send_heartbeat(State& state, Progress& follower) {
  Index previous = follower.next() - 1;
  std::optional<Term> term = state.log.term_at(previous);
  if (!term || follower.state() == Progress::State::snapshot) {
    previous = 0;  // everyone agrees about what is before the log
    term = 0;
  }
  state.send(follower.id(), Append{previous, *term, state.commit, state.lead.round, {}});
  follower.sent(previous, false, state.commit);
}

void feed(State& state, Progress& follower) {
  const bool is_probe = follower.state() == Progress::State::probe;
  for (int i = 0; i < appends_an_output; ++i) {
    if (!follower.may_send(state.options.inflight_limit)) return;
    if (!is_probe && follower.next() > state.log.last_index()) break;
    if (!send_entries(state, follower)) {
      begin_snapshot(state, follower);
      return;
    }
  }
  // Nothing on its way would tell it what is committed.
  if (!is_probe && !follower.has_inflight() && follower.told_commit() < state.commit) {
    send_heartbeat(state, follower);
  }
}

/// What was sent may have been lost.
void repeat(State& state, Progress& follower) {
  if (!follower.is_live(state.now, state.options.election_timeout)) {
    if (follower.has_inflight()) follower.fall_back();
  } else if (follower.state() == Progress::State::snapshot) {
    repeat_snapshot(state, follower);
  } else if (!state.log.term_at(follower.next() - 1)) {
    // No heartbeat can ask about entries that are cut off here: they may never have arrived.
    begin_snapshot(state, follower);
  }
}

bool has_quorum(const State& state) {
  std::size_t live = state.is_voter() ? 1 : 0;
  for (const Progress& follower : state.lead.followers) {
    if (state.configuration().is_voter(follower.id()) &&
        follower.is_live(state.now, state.options.election_timeout)) {
      ++live;
    }
  }
  return live >= state.configuration().quorum();
}

/// The greatest index that a majority of the voters has on disk.
Index majority_match(State& state) {
  std::vector<Index>& matches = state.matches;
  matches.clear();
  if (state.is_voter()) matches.push_back(state.disk.synced_index());
  for (const Progress& follower : state.lead.followers) {
    if (state.configuration().is_voter(follower.id())) matches.push_back(follower.match());
  }
  const std::size_t quorum = state.configuration().quorum();
  if (matches.size() < quorum) return 0;
  const auto median = matches.begin() + static_cast<std::ptrdiff_t>(quorum - 1);
  std::nth_element(matches.begin(), median, matches.end(), std::greater<>());
  return *median;
}

void on_accepted(State& state, Progress& follower, Index match) {
  // More than there is: not from a node that is well.
  if (match > state.log.last_index()) return;
  const bool more = follower.accepted(match);
  if (follower.state() == Progress::State::snapshot && state.log.term_at(match)) {
    follower.end_snapshot();
  }
  await_if_caught_up(state, follower, more);
  if (more) advance_commit(state);
}

void on_refused(State& state, Progress& follower, const AppendReply& reply) {
  const Index asked = std::min(reply.hint, follower.next() - 1);
  follower.refused(state.log.last_not_above(asked, reply.hint_term));
}

}  // namespace

void become_leader(State& state) {
  assert(state.role == Role::candidate);
  state.role = Role::leader;
  state.leader = state.options.id;
  state.lead = Leadership{};
  state.lead.noop = append_own(state, EntryKind::noop, {});
  state.lead.heartbeat_at = state.now + state.options.heartbeat;
  state.lead.round = 1;
  state.lead.rounds_sent = {state.now};
  state.lead.round_last = state.lead.previous_round_last = state.lead.noop;
  follow_configuration(state);
}

Index append_own(State& state, EntryKind kind, std::string data) {
  const Index index = state.log.last_index() + 1;
  state.log.append(Entry{index, state.hard.term, kind, std::move(data)});
  state.disk.entries_changed(index);
  return index;
}

void replicate(State& state) {
  for (Progress& follower : state.lead.followers) feed(state, follower);
}

void ask_again(State& state, Progress& follower) {
  if (follower.state() == Progress::State::snapshot) {
    resume_snapshot(state, follower);
  } else {
    follower.fall_back();
  }
}

void tick_leader(State& state) {
  if (!has_quorum(state)) {
    become_follower(state, state.hard.term, NodeId{});
    return;
  }
  tick_transfer(state);
  give_up_awaited(state);
  if (state.now < state.lead.heartbeat_at) return;
  state.lead.heartbeat_at = state.now + state.options.heartbeat;
  state.lead.previous_round_last = std::exchange(state.lead.round_last, state.log.last_index());
  ++state.lead.round;
  state.lead.rounds_sent.push_front(state.now);
  if (state.lead.rounds_sent.size() > rounds_a_timeout(state) + 1) {
    state.lead.rounds_sent.pop_back();
  }
  for (Progress& follower : state.lead.followers) repeat(state, follower);
  send_heartbeats(state);
}

void send_heartbeats(State& state) {
  for (Progress& follower : state.lead.followers) send_heartbeat(state, follower);
}

void advance_commit(State& state) {
  const Index index = awaited_match(state, majority_match(state));
  if (index <= state.commit) return;
  // Section 5.4.2 of the paper: an older term's entries commit with one of this term, never alone.
  const bool is_own_term = state.log.term_at(index) == state.hard.term;
  if (!is_own_term && state.options.planted_bug != PlantedBug::commit_old_term_by_counting) return;
  state.commit = index;
  leave_if_removed(state);
}

void mark_heard(State& state, Progress& follower, std::uint64_t round) {
  if (round > state.lead.round || state.lead.round - round > rounds_a_timeout(state)) return;
  follower.heard(state.now, round);
}

std::optional<Moment> confirmed_at(const State& state) {
  if (state.role != Role::leader) return std::nullopt;
  if (state.is_lone_voter()) return state.now;
  std::vector<std::uint64_t> answered;
  if (state.is_voter()) answered.push_back(state.lead.round);
  for (const Progress& follower : state.lead.followers) {
    if (state.configuration().is_voter(follower.id())) {
      answered.push_back(follower.answered_round());
    }
  }
  const std::size_t quorum = state.configuration().quorum();
  if (answered.size() < quorum) return std::nullopt;
  std::sort(answered.begin(), answered.end(), std::greater<>());
  const std::uint64_t ago = state.lead.round - answered[quorum - 1];
  if (answered[quorum - 1] == 0 || ago >= state.lead.rounds_sent.size()) return std::nullopt;
  return state.lead.rounds_sent[ago];
}

void on_append_reply(State& state, NodeId from, const AppendReply& reply) {
  if (state.role != Role::leader) return;
  Progress* follower = state.follower(from);
  if (follower == nullptr) return;
  mark_heard(state, *follower, reply.round);
  if (reply.accepted) {
    on_accepted(state, *follower, reply.match);
  } else {
    on_refused(state, *follower, reply);
  }
  if (state.role == Role::leader) hand_over_if_ready(state);
}

}  // namespace gpl::raft
