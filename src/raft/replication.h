#pragma once

#include "state.h"

namespace gpl::raft {

/// The votes are there: begins to lead with a no-op.
void become_leader(State& state);
/// Adds an entry to the leader's log, which is sent and persisted with the next output.
Index append_own(State& state, EntryKind kind, std::string data);
/// Sends every follower what it may be sent now.
void replicate(State& state);
/// What was on its way to the follower is lost, and it can be reached: it is asked with the next
/// output.
void ask_again(State& state, Progress& follower);
/// What is due at a leader: heartbeats, repetitions, and whether it may still lead.
void tick_leader(State& state);
/// A new round: an Append without entries to everyone.
void send_heartbeats(State& state);
/// Commits what a majority has, and does what follows from that.
void advance_commit(State& state);
/// An answer to a heartbeat round of late: its sender is alive.
void mark_heard(State& state, Progress& follower, std::uint64_t round);
/// When the newest round that a majority of the voters has answered was begun.
std::optional<Moment> confirmed_at(const State& state);

void on_append_reply(State& state, NodeId from, const AppendReply& reply);

}  // namespace gpl::raft
