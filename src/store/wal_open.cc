#include <algorithm>
#include <optional>
#include <utility>

#include "gpl/store/damage.h"
#include "gpl/store/segment.h"
#include "gpl/store/snapshot_file.h"
#include "gpl/store/wal.h"
#include "gpl/store/wal_recovery.h"

namespace gpl::store {
namespace {

Status perform_all(Disk& disk, const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    if (Status done = disk.perform(operation); !done) return done;
  }
  return success();
}

/// What a crash left half done. Nothing is ever read back from it.
Status remove_leftovers(Disk& disk, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!is_spare_name(name) && name != saving_name && name != incoming_name) continue;
    if (Status done = disk.perform(Remove{name}); !done) return done;
  }
  return success();
}

/// Writes the last batch again, the same bytes: it may have been read from the pages of a process
/// that was killed before its sync, or whose sync failed, after which a sync alone proves nothing.
Status make_safe(Disk& disk, const LogShape& shape) {
  constexpr std::size_t step_bytes = std::size_t{1024} * 1024;
  const SegmentShape& last = shape.segments.back();
  const std::string name = segment_name(last.header.number);
  for (std::uint64_t at = shape.last_batch_offset; at < last.end;) {
    const std::size_t step = std::min<std::uint64_t>(step_bytes, last.end - at);
    Result<std::string> bytes = disk.read(name, at, step);
    if (!bytes) return std::move(bytes).error();
    if (bytes.value().size() != step)
      return damage(name, at, "it became shorter while it was read");
    if (Status written = disk.perform(Write{name, at, std::move(bytes).value()}); !written) {
      return written;
    }
    at += step;
  }
  return disk.perform(Sync{name});
}

}  // namespace

Result<Wal::Opened> Wal::open(Disk& disk, const raft::Configuration& bootstrap,
                              WalOptions options) {
  Result<std::vector<std::string>> names = disk.list();
  if (!names) return std::move(names).error();
  const bool is_new = !has_segments(names.value());
  if (is_new && has_snapshots(names.value())) {
    return damage("there are snapshots, and the segments (wal-...) beside them are missing");
  }
  if (is_new && options.must_exist) {
    return damage("this node had one, and there is no segment (wal-...) in its folder");
  }
  std::optional<Recovered> recovered;
  if (!is_new) {
    Result<Recovered> found = recover(disk, names.value(), {});
    if (!found) return std::move(found).error();
    recovered = std::move(found).value();
  }
  if (Status removed = remove_leftovers(disk, names.value()); !removed) {
    return std::move(removed).error();
  }
  return is_new ? create(disk, bootstrap, options) : resume(disk, *std::move(recovered), options);
}

Result<Wal::Opened> Wal::create(Disk& disk, const raft::Configuration& bootstrap,
                                WalOptions options) {
  Wal wal(options, 1);
  const raft::SnapshotMark mark{0, 0, bootstrap};
  std::vector<Operation> operations;
  wal.begin_segment(operations, mark, 0);
  wal.settle();
  if (Status done = perform_all(disk, operations); !done) return std::move(done).error();
  return Opened{std::move(wal), {{}, mark, {}}, "", {}};
}

Result<Wal::Opened> Wal::resume(Disk& disk, Recovered recovered, WalOptions options) {
  if (Status safe = make_safe(disk, recovered.shape); !safe) return std::move(safe).error();
  const SegmentShape& last = recovered.shape.segments.back();
  Wal wal(options, last.header.generation);
  wal.number_ = last.header.number;
  wal.size_bytes_ = last.header.size_bytes;
  wal.end_ = last.end;
  wal.next_batch_ = recovered.shape.next_batch;
  wal.begin_index_ = recovered.begin_index;
  wal.next_index_ = recovered.next_index;
  wal.hard_state_ = recovered.restored.hard_state;
  wal.highest_ = std::move(recovered.highest);
  for (const std::string& name : recovered.snapshots) {
    wal.snapshots_.push_back(*parse_snapshot_name(name));
  }
  std::vector<Operation> operations;
  if (recovered.begin_anew) {
    operations = wal.replace(recovered.restored.snapshot);
  } else if (recovered.shape.torn) {
    ++wal.generation_;
    wal.begin_segment(operations, std::nullopt, 0);
  }
  if (Status done = perform_all(disk, operations); !done) return std::move(done).error();
  wal.settle();
  if (!recovered.snapshot_name.empty()) {
    // A crash may have come before the compaction, or within it.
    const raft::SnapshotMark& mark = recovered.restored.snapshot;
    Status compacted = perform_all(disk, wal.compact(mark));
    wal.compacted(compacted);
    if (!compacted) return std::move(compacted).error();
  }
  return Opened{std::move(wal), std::move(recovered.restored), std::move(recovered.snapshot_name),
                std::move(recovered.notes)};
}

}  // namespace gpl::store
