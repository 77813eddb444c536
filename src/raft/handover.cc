#include "handover.h"

#include "election.h"
#include "replication.h"

namespace gpl::raft {
namespace {

/// Of its own disk, in election timeouts. Short stalls are no reason to change leaders.
constexpr std::int64_t patience_timeouts = 4;

/// The live voter with the longest log; 0: there is none.
NodeId most_advanced(const State& state) {
  const Progress* best = nullptr;
  for (const Progress& follower : state.lead.followers) {
    if (!state.configuration().is_voter(follower.id())) continue;
    if (!follower.is_live(state.now, state.options.election_timeout)) continue;
    if (best == nullptr || follower.match() > best->match()) best = &follower;
  }
  return best == nullptr ? NodeId{} : best->id();
}

bool is_disk_stuck(const State& state) {
  const std::optional<Moment> since = state.disk.waiting_since();
  const Duration patience =
      milliseconds(state.options.election_timeout.count_ms * patience_timeouts);
  return since && state.now - *since >= patience;
}

}  // namespace

void begin_transfer(State& state, NodeId to) {
  state.lead.transfer = Transfer{to, state.now + state.options.election_timeout, false};
  hand_over_if_ready(state);
}

void hand_over_if_ready(State& state) {
  std::optional<Transfer>& transfer = state.lead.transfer;
  if (!transfer || transfer->asked) return;
  const Progress* target = state.follower(transfer->to);
  if (target == nullptr || target->match() < state.log.last_index()) return;
  transfer->asked = true;
  state.send(transfer->to, TimeoutNow{});
}

void tick_transfer(State& state) {
  std::optional<Transfer>& transfer = state.lead.transfer;
  if (transfer && state.now >= transfer->until) transfer.reset();
  if (transfer && state.now >= state.lead.heartbeat_at) {
    transfer->asked = false;
    hand_over_if_ready(state);
  }
  // With two voters nobody could be elected without this disk.
  if (transfer || state.configuration().voters.size() < 3 || !is_disk_stuck(state)) return;
  const NodeId to = most_advanced(state);
  if (to != NodeId{}) begin_transfer(state, to);
}

void leave_if_removed(State& state) {
  if (state.is_voter() || state.log.configuration_index() > state.commit) return;
  const NodeId to = most_advanced(state);
  send_heartbeats(state);
  if (to != NodeId{}) state.send(to, TimeoutNow{});
  become_follower(state, state.hard.term, NodeId{});
}

}  // namespace gpl::raft
