#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/raft/configuration.h"
#include "gpl/store/committer.h"
#include "gpl/store/disk.h"

namespace gpl::store {

/// A snapshot file (gpl-wal(5)): the mark, the state in parts, each with a checksum, and an end
/// that says that it is whole. It is written under a temporary name, synced, and renamed.

/// "snapshot-..." of this mark.
std::string snapshot_name(const raft::SnapshotMark& mark);
/// The index and term of a snapshot's name, without the configuration.
std::optional<raft::SnapshotMark> parse_snapshot_name(std::string_view name);

/// The most bytes that one part of the state may have.
inline constexpr std::size_t snapshot_part_limit_bytes = std::size_t{16} * 1024 * 1024;
/// The name until the snapshot is whole.
inline constexpr std::string_view saving_name = "snapshot.saving";

/// The next part of the state, or nothing after the last one. Called off the loop.
using PartSource = std::function<std::optional<std::string>()>;

/// The operations that write the snapshot of `mark` from `parts`, one after the other. One at a
/// time. An empty part is left out; Code::too_large for one over the limit.
Committer::Source write_snapshot(const raft::SnapshotMark& mark, PartSource parts);

/// Checks the whole file and hands its parts over, in order. Code::invalid with name, offset and
/// what is wrong; parts handed over before that must be thrown away.
Result<raft::SnapshotMark> read_snapshot(Disk& disk, std::string_view name,
                                         const std::function<Status(std::string_view)>& part);

/// A snapshot that arrives in pieces (the file's bytes as another node has them). The operations of
/// `incoming_piece` write it to a temporary name, which offset 0 begins anew; after the last, check
/// the file with `read_snapshot` under `incoming_name` and then `adopt_incoming` it.
inline constexpr std::string_view incoming_name = "snapshot.incoming";
std::vector<Operation> incoming_piece(std::uint64_t offset, std::string bytes);
/// Sync and rename to its own name.
std::vector<Operation> adopt_incoming(const raft::SnapshotMark& mark);

}  // namespace gpl::store
