#include "election.h"

#include <cassert>

#include "replication.h"

namespace gpl::raft {
namespace {

/// It leads, or its leader was heard within an election timeout (thesis, section 4.2.3).
bool hears_leader(const State& state) {
  if (state.role == Role::leader) return true;
  return state.leader != NodeId{} && state.now - state.heard < state.options.election_timeout;
}

/// Section 5.4.1 of the paper. All of the log in memory counts, synced or not: an acknowledgement
/// of it may be waiting for the same sync as the vote.
bool is_up_to_date(const State& state, Index last_index, Term last_term) {
  if (last_term != state.log.last_term()) return last_term > state.log.last_term();
  return last_index >= state.log.last_index();
}

/// Not while something of its own is not synced: its requests could not leave, and would come late.
bool may_campaign(const State& state) {
  return (state.is_voter() || state.is_leaving()) && !state.installing() && state.disk.idle() &&
         state.hard.term < plausible_limit - 1;
}

void grant(State& state, NodeId from) {
  std::vector<NodeId>& granted = state.ballot.granted;
  if (!state.configuration().is_voter(from)) return;
  if (std::find(granted.begin(), granted.end(), from) == granted.end()) granted.push_back(from);
}

bool is_won(const State& state) {
  return state.ballot.granted.size() >= state.configuration().quorum();
}

/// Asks those that have not granted: requests are lost, and a pre-vote comes too early where the
/// leader was heard a little later. Repeated every heartbeat.
void ask(State& state) {
  const std::vector<NodeId>& granted = state.ballot.granted;
  const Index last_index = state.log.last_index();
  const Term last_term = state.log.last_term();
  for (const NodeId id : state.configuration().voters) {
    if (id == state.options.id) continue;
    if (std::find(granted.begin(), granted.end(), id) != granted.end()) continue;
    if (state.role == Role::pre_candidate) {
      state.send(id, PreVoteRequest{last_index, last_term}, state.hard.term + 1);
    } else {
      state.send_synced(id, VoteRequest{last_index, last_term, state.ballot.transfer});
    }
  }
}

void lead_if_elected(State& state) {
  if (state.ballot.own_counted && is_won(state)) become_leader(state);
}

}  // namespace

void reset_election_timer(State& state) {
  const auto timeout = static_cast<std::uint64_t>(state.options.election_timeout.count_ms);
  const auto extra = static_cast<std::int64_t>(state.prng.below(timeout));
  state.election_at = state.now + state.options.election_timeout + milliseconds(extra);
}

void become_follower(State& state, Term term, NodeId leader) {
  assert(term >= state.hard.term);
  if (term > state.hard.term) {
    state.hard = HardState{term, NodeId{}};
    state.disk.hard_state_changed();
    state.agreed = 0;
  }
  if (state.role == Role::leader) {
    state.lead = Leadership{};
    reset_election_timer(state);
  }
  state.role = Role::follower;
  state.leader = leader;
}

void campaign(State& state, bool transfer) {
  reset_election_timer(state);
  state.role = Role::candidate;
  state.leader = NodeId{};
  state.agreed = 0;
  state.incoming.reset();
  state.hard = HardState{state.hard.term + 1, state.options.id};
  state.disk.hard_state_changed();
  state.ballot = Ballot{};
  state.ballot.own_sequence = state.disk.sequence();
  state.ballot.transfer = transfer;
  state.ballot.ask_at = state.now + state.options.heartbeat;
  ask(state);
}

/// The time is up: asks for pre-votes, when this node may campaign.
void begin_election(State& state) {
  reset_election_timer(state);
  state.leader = NodeId{};
  if (!may_campaign(state)) return;
  state.role = Role::pre_candidate;
  state.ballot = Ballot{};
  state.ballot.ask_at = state.now + state.options.heartbeat;
  grant(state, state.options.id);
  if (is_won(state)) {
    campaign(state, false);
  } else {
    ask(state);
  }
}

void tick_election(State& state) {
  if (state.now >= state.election_at) {
    begin_election(state);
  } else if (state.role != Role::follower && state.now >= state.ballot.ask_at) {
    // Requests that wait for the sync of the own vote are not doubled.
    const bool is_asking = state.role == Role::pre_candidate || state.ballot.own_counted;
    state.ballot.ask_at = state.now + state.options.heartbeat;
    if (is_asking) ask(state);
  }
}

void campaign_if_alone(State& state) {
  if (state.role != Role::follower || state.leader != NodeId{}) return;
  if (!state.is_lone_voter() || !may_campaign(state)) return;
  campaign(state, false);
}

void count_own_vote(State& state) {
  if (state.role != Role::candidate || state.ballot.own_counted) return;
  if (state.disk.synced_sequence() < state.ballot.own_sequence) return;
  state.ballot.own_counted = true;
  grant(state, state.options.id);
  lead_if_elected(state);
}

void on_pre_vote_request(State& state, NodeId from, Term term, const PreVoteRequest& request) {
  if (hears_leader(state)) return;
  const bool granted =
      term > state.hard.term && is_up_to_date(state, request.last_index, request.last_term);
  // Granted: in the term asked about. Refused: in our own, for one who is behind to learn of.
  if (granted) {
    state.send(from, PreVoteReply{true}, term);
  } else {
    state.answer(from, PreVoteReply{false});
  }
}

void on_pre_vote_reply(State& state, NodeId from, Term term, const PreVoteReply& reply) {
  if (!reply.granted) {
    if (term <= state.hard.term) return;
    // It was behind, but nobody leads: its turn is not over.
    become_follower(state, term, NodeId{});
    state.election_at = std::min(state.election_at, state.now + state.options.heartbeat);
    return;
  }
  if (state.role != Role::pre_candidate || term != state.hard.term + 1) return;
  grant(state, from);
  if (is_won(state)) campaign(state, false);
}

void on_vote_request(State& state, NodeId from, Term term, const VoteRequest& request) {
  if (!request.transfer && hears_leader(state)) return;
  if (term < state.hard.term) {
    state.answer(from, VoteReply{false});
    return;
  }
  if (term > state.hard.term) become_follower(state, term, NodeId{});
  const bool is_free = state.hard.vote == NodeId{} || state.hard.vote == from;
  const bool granted = is_free && state.role != Role::leader &&
                       is_up_to_date(state, request.last_index, request.last_term);
  if (!granted) {
    state.answer(from, VoteReply{false});
    return;
  }
  if (state.hard.vote != from) {
    state.hard.vote = from;
    state.disk.hard_state_changed();
  }
  // One that was asking for pre-votes lets this one have its try.
  become_follower(state, term, NodeId{});
  reset_election_timer(state);
  state.send_synced(from, VoteReply{true});
}

void on_vote_reply(State& state, NodeId from, const VoteReply& reply) {
  if (state.role != Role::candidate || !reply.granted) return;
  grant(state, from);
  lead_if_elected(state);
}

void on_timeout_now(State& state, NodeId from) {
  // A disk that is busy does not matter here: the request goes out after the sync, like any.
  if (state.role != Role::follower || state.leader != from) return;
  if (!(state.is_voter() || state.is_leaving())) return;
  if (state.installing() || state.hard.term >= plausible_limit - 1) return;
  campaign(state, true);
}

}  // namespace gpl::raft
