#include "following.h"

#include "election.h"

namespace gpl::raft {
namespace {

bool is_well_formed(const State& state, const Append& append) {
  if (append.previous_index >= plausible_limit || append.previous_term > state.hard.term) {
    return false;
  }
  Index index = append.previous_index;
  Term term = append.previous_term;
  for (const Entry& entry : append.entries) {
    if (entry.index != ++index || entry.term < term || entry.term > state.hard.term) return false;
    if (entry.data.size() > entry_limit_bytes || !is_readable(entry)) return false;
    term = entry.term;
  }
  return true;
}

/// Known here under another term.
bool differs(const State& state, Index index, Term term) {
  const std::optional<Term> known = state.log.term_at(index);
  return known && *known != term;
}

bool contradicts_committed(const State& state, const Append& append) {
  if (append.previous_index > state.commit) return false;
  if (differs(state, append.previous_index, append.previous_term)) return true;
  for (const Entry& entry : append.entries) {
    if (entry.index > state.commit) return false;
    if (differs(state, entry.index, entry.term)) return true;
  }
  return false;
}

void refuse(State& state, NodeId from, const Append& append) {
  const Index hint =
      std::max(state.commit, state.log.last_not_above(append.previous_index, append.previous_term));
  AppendReply reply;
  reply.hint = hint;
  reply.hint_term = state.log.term_at(hint).value_or(0);
  reply.round = append.round;
  state.answer(from, reply);
}

/// Takes what the log does not have. Requires that it agrees up to the Append's previous entry.
void take(State& state, std::vector<Entry>& entries) {
  auto entry = entries.begin();
  while (entry != entries.end() && entry->index <= state.log.last_index() &&
         (entry->index <= state.commit || !differs(state, entry->index, entry->term))) {
    ++entry;
  }
  if (entry == entries.end()) return;
  const Index first = entry->index;
  if (first <= state.log.last_index()) state.log.truncate(first);
  for (; entry != entries.end(); ++entry) state.log.append(std::move(*entry));
  state.disk.entries_changed(first);
}

}  // namespace

bool hear_leader(State& state, NodeId from) {
  // Two leaders in a term: one of them is not well.
  if (state.leader != NodeId{} && state.leader != from) return false;
  if (state.role != Role::follower || state.leader == NodeId{}) {
    become_follower(state, state.hard.term, from);
  }
  state.heard = state.now;
  reset_election_timer(state);
  return true;
}

AppendReply present_match(const State& state, std::uint64_t round) {
  AppendReply reply;
  reply.accepted = true;
  reply.match = std::min(std::max(state.agreed, state.commit), state.disk.synced_index());
  reply.round = round;
  return reply;
}

void on_append(State& state, NodeId from, Append append) {
  if (!hear_leader(state, from) || !is_well_formed(state, append)) return;
  if (state.installing()) {
    state.answer(from, present_match(state, append.round));
    return;
  }
  if (contradicts_committed(state, append)) return;
  if (append.previous_index > state.commit &&
      state.log.term_at(append.previous_index) != append.previous_term) {
    refuse(state, from, append);
    return;
  }
  const Index last = append.previous_index + append.entries.size();
  take(state, append.entries);
  state.agreed = std::max({state.agreed, last, state.commit});
  state.commit = std::max(state.commit, std::min(append.commit, last));
  AppendReply reply = present_match(state, append.round);
  if (append.entries.empty() || last <= reply.match) {
    state.answer(from, reply);
    return;
  }
  reply.match = last;
  state.send_synced(from, reply);
}

}  // namespace gpl::raft
