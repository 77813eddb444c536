#include "sim/flipped_disk.h"

#include <algorithm>

#include "gpl/peer/snapshots.h"

namespace gpl::sim {

namespace {

struct Found {
  raft::Restored restored;
  std::uint64_t digest = 0;
};

Result<Found> open_copy(SimDisk disk, const raft::Configuration& bootstrap,
                        store::WalOptions options) {
  disk.set_full(false);
  auto opened = store::Wal::open(disk, bootstrap, options);
  if (!opened.ok()) return std::move(opened).error();
  Found found{std::move(opened.value().restored), 0};
  const auto& name = opened.value().snapshot_name;
  if (name.empty()) return found;
  const auto state = peer::Snapshots::load(disk, name);
  if (!state.ok()) return state.error();
  found.digest = state.value().state.digest();
  return found;
}

/// The same log from an older snapshot on: the newer one was the damaged file.
bool is_same_from_older(const raft::Restored& older, const raft::Restored& newer) {
  if (older.hard_state != newer.hard_state || older.snapshot.index >= newer.snapshot.index ||
      older.entries.size() < newer.entries.size())
    return false;
  const auto shared = static_cast<std::ptrdiff_t>(newer.entries.size());
  return std::equal(newer.entries.begin(), newer.entries.end(), older.entries.end() - shared) &&
         older.snapshot.index + older.entries.size() == newer.snapshot.index + newer.entries.size();
}

/// The log before its last batch: older hard state, fewer entries, or older ones in their place.
bool is_cut_of(const raft::Restored& cut, const raft::Restored& whole) {
  if (cut.snapshot != whole.snapshot || cut.hard_state.term > whole.hard_state.term) return false;
  for (std::size_t i = 0; i < cut.entries.size(); ++i) {
    const auto& entry = cut.entries[i];
    if (entry.term > whole.hard_state.term) return false;
    if (i < whole.entries.size() && entry != whole.entries[i] &&
        entry.term >= whole.entries[i].term)
      return false;
  }
  return true;
}

std::string extent(const Found& found) {
  const auto& restored = found.restored;
  return "term " + std::to_string(restored.hard_state.term) + ", a snapshot of " +
         std::to_string(restored.snapshot.index) + " and " +
         std::to_string(restored.entries.size()) + " entries";
}

}  // namespace

FlipFinding effect_of_flip(const SimDisk& before, const SimDisk& after,
                           const raft::Configuration& bootstrap, store::WalOptions options) {
  const auto whole = open_copy(before, bootstrap, options);
  if (!whole.ok()) return {FlipEffect::wrong, "before the flip: " + whole.error().message};
  const auto flipped = open_copy(after, bootstrap, options);
  if (!flipped.ok()) return {FlipEffect::refused, flipped.error().message};
  const auto& a = whole.value();
  const auto& b = flipped.value();
  if (a.restored == b.restored && a.digest == b.digest) return {FlipEffect::none, "no effect"};
  if (is_same_from_older(b.restored, a.restored))
    return {FlipEffect::none, "an older snapshot and a longer log stand for the same"};
  if (a.digest == b.digest && is_cut_of(b.restored, a.restored))
    return {FlipEffect::cut, "cut as torn: " + extent(b) + " is left of " + extent(a)};
  return {FlipEffect::wrong, extent(b) + " is found instead of " + extent(a)};
}

}  // namespace gpl::sim
