#include "snapshot_transfer.h"

#include "following.h"
#include "handover.h"
#include "replication.h"

namespace gpl::raft {
namespace {

/// A log with more than this keeps nothing before the mark.
constexpr std::size_t log_limit_bytes = std::size_t{64} * 1024 * 1024;

void read_piece(State& state, Progress& follower) {
  SnapshotSending& sending = follower.sending();
  sending.reading = true;
  sending.since = state.now;
  state.out.snapshot_reads.push_back(
      {follower.id(), sending.mark, sending.offset, state.options.snapshot_piece_bytes});
}

/// What a follower needs of the log to go on.
Index needed_from(const Progress& follower) {
  if (follower.state() == Progress::State::snapshot) return follower.sending().mark.index + 1;
  return follower.match() + 1;
}

/// It has the snapshot's content without it.
bool has_already(State& state, const SnapshotMark& mark) {
  if (mark.index <= state.commit) return true;
  if (state.log.term_at(mark.index) != mark.term) return false;
  state.commit = mark.index;
  state.agreed = std::max(state.agreed, mark.index);
  return true;
}

void answer_piece(State& state, NodeId to, bool installed, std::uint64_t round) {
  state.answer(to, InstallSnapshotReply{state.incoming->mark.index, state.incoming->next_offset,
                                        installed, round});
}

}  // namespace

void begin_snapshot(State& state, Progress& follower) {
  follower.begin_snapshot(state.log.mark(), state.now);
  read_piece(state, follower);
}

void repeat_snapshot(State& state, Progress& follower) {
  if (state.now - follower.sending().since < state.options.election_timeout) return;
  if (follower.sending().reading) {
    begin_snapshot(state, follower);
  } else {
    read_piece(state, follower);
  }
}

void resume_snapshot(State& state, Progress& follower) {
  if (!follower.sending().reading) read_piece(state, follower);
}

void on_snapshot_piece(State& state, const SnapshotRead& read, std::string data,
                       std::uint64_t total_bytes) {
  if (state.role != Role::leader) return;
  Progress* follower = state.follower(read.to);
  if (follower == nullptr || follower->state() != Progress::State::snapshot) return;
  SnapshotSending& sending = follower->sending();
  if (!sending.reading || sending.mark != read.mark || sending.offset != read.offset) return;
  if (data.empty()) {
    // Gone, or the follower has asked for what is behind its end. Not again at once: a performer
    // that has none at all would be asked forever.
    sending.offset = 0;
    return;
  }
  const bool last = read.offset + data.size() >= total_bytes;
  sending.reading = false;
  sending.since = state.now;
  state.send(read.to,
             InstallSnapshot{read.mark, read.offset, std::move(data), last, state.lead.round});
}

void on_install_snapshot_reply(State& state, NodeId from, const InstallSnapshotReply& reply) {
  if (state.role != Role::leader) return;
  Progress* follower = state.follower(from);
  if (follower == nullptr) return;
  mark_heard(state, *follower, reply.round);
  if (follower->state() != Progress::State::snapshot) return;
  SnapshotSending& sending = follower->sending();
  if (sending.mark.index != reply.index) return;
  if (!reply.installed) {
    if (reply.next_offset == sending.offset) return;
    sending.offset = reply.next_offset;
    read_piece(state, *follower);
    return;
  }
  follower->accepted(reply.index);
  // If the log was cut further meanwhile, the next snapshot follows.
  follower->end_snapshot();
  advance_commit(state);
}

bool sends_snapshot(const State& state) {
  return std::any_of(state.lead.followers.begin(), state.lead.followers.end(),
                     [&](const Progress& follower) {
                       return follower.state() == Progress::State::snapshot &&
                              follower.is_live(state.now, state.options.election_timeout);
                     });
}

void compact(State& state, const SnapshotMark& mark) {
  if (mark.index > state.handed) return;
  const Index kept = state.options.kept_entries;
  const Index most = std::max<Index>(kept, state.options.long_kept_entries);
  Index keep_from = mark.index + 1 - std::min(mark.index, kept);
  for (const Progress& follower : state.lead.followers) {
    if (!follower.is_live(state.now, state.options.election_timeout)) continue;
    keep_from = std::min(keep_from, needed_from(follower));
  }
  const Index floor = mark.index + 1 - std::min(mark.index, most);
  state.log.compact(mark, std::max(keep_from, floor), log_limit_bytes);
}

void on_install_snapshot(State& state, NodeId from, InstallSnapshot piece) {
  if (!hear_leader(state, from) || state.installing()) return;
  // Not again at once: what could not be kept, or came damaged, would be sent at full speed.
  if (state.now < state.refused_until) return;
  if (piece.mark.index >= plausible_limit || piece.mark.term > state.hard.term) return;
  if (!is_valid(piece.mark.configuration) || (piece.data.empty() && !piece.last)) return;
  if (has_already(state, piece.mark)) {
    state.incoming.reset();
    state.answer(from, present_match(state, piece.round));
    return;
  }
  const bool is_next = state.incoming && state.incoming->from == from;
  if (is_next && piece.mark.index < state.incoming->mark.index) return;  // late
  if (!is_next || state.incoming->mark != piece.mark) {
    state.incoming = Incoming{from, piece.mark, 0, false};
  }
  if (piece.offset == state.incoming->next_offset) {
    state.incoming->next_offset += piece.data.size();
    state.incoming->installing = piece.last;
    state.out.snapshot_writes.push_back(
        {std::move(piece.mark), piece.offset, std::move(piece.data), piece.last});
    if (piece.last) return;
  }
  answer_piece(state, from, false, piece.round);
}

void on_snapshot_installed(State& state, const SnapshotMark& mark) {
  if (!state.installing() || state.incoming->mark != mark) return;
  state.log.reset(mark);
  state.disk.reset(mark.index);
  state.commit = state.handed = state.agreed = mark.index;
  if (state.leader != NodeId{} && state.role == Role::follower) {
    answer_piece(state, state.leader, true, 0);
  }
  state.incoming.reset();
}

void on_snapshot_refused(State& state, const SnapshotMark& mark) {
  if (!state.incoming || state.incoming->mark != mark) return;
  state.incoming.reset();
  state.refused_until = state.now + state.options.election_timeout;
}

}  // namespace gpl::raft
