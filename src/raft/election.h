#pragma once

#include "state.h"

namespace gpl::raft {

/// Draws anew when a follower loses its patience.
void reset_election_timer(State& state);
/// A term above the present one begins, or the present one goes on under `leader` (0: not known).
void become_follower(State& state, Term term, NodeId leader);
/// What is due at a node that does not lead: an election, or another request for votes.
void tick_election(State& state);
/// Starts a term and asks for votes. `transfer`: the leader wants it.
void campaign(State& state, bool transfer);
/// A lone voter without a leader campaigns at once.
void campaign_if_alone(State& state);
/// More is on disk: perhaps its own vote.
void count_own_vote(State& state);

void on_pre_vote_request(State& state, NodeId from, Term term, const PreVoteRequest& request);
void on_pre_vote_reply(State& state, NodeId from, Term term, const PreVoteReply& reply);
void on_vote_request(State& state, NodeId from, Term term, const VoteRequest& request);
void on_vote_reply(State& state, NodeId from, const VoteReply& reply);
void on_timeout_now(State& state, NodeId from);

}  // namespace gpl::raft
