#pragma once

#include "state.h"

namespace gpl::raft {

// The leader's side.
void begin_snapshot(State& state, Progress& follower);
/// A piece or its answer may have been lost. Requires a follower in State::snapshot.
void repeat_snapshot(State& state, Progress& follower);
/// The piece on its way, or its answer, is lost. The same requirement.
void resume_snapshot(State& state, Progress& follower);
void on_snapshot_piece(State& state, const SnapshotRead& read, std::string data,
                       std::uint64_t total_bytes);
void on_install_snapshot_reply(State& state, NodeId from, const InstallSnapshotReply& reply);
/// The newest snapshot is at `mark`: cuts the log.
/// To a follower that answers.
bool sends_snapshot(const State& state);

void compact(State& state, const SnapshotMark& mark);

// The follower's side.
void on_install_snapshot(State& state, NodeId from, InstallSnapshot piece);
void on_snapshot_installed(State& state, const SnapshotMark& mark);
void on_snapshot_refused(State& state, const SnapshotMark& mark);

}  // namespace gpl::raft
