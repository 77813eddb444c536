#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/raft/configuration.h"

namespace gpl::store {

inline constexpr std::size_t snapshot_fixed_head_bytes = 32;  ///< before the configuration
inline constexpr std::size_t snapshot_end_bytes = 24;
inline constexpr std::size_t snapshot_configuration_limit_bytes = std::size_t{64} * 1024;
inline constexpr std::size_t snapshot_head_limit_bytes =
    snapshot_fixed_head_bytes + snapshot_configuration_limit_bytes + 8;

/// The pieces of a snapshot file, made in order; each is chained to those before it (gpl-wal(5)).
/// A reader makes them again from what it reads, and compares.
class SnapshotChain {
 public:
  std::string head(const raft::SnapshotMark& mark);
  /// Requires a part that is not empty.
  std::string part(std::string_view bytes);
  std::string end();
  /// Of a part with its length in front: what stands behind it. Counts as `part`.
  std::uint64_t part_checksum(std::string_view length_and_bytes);

 private:
  std::uint64_t parts_ = 0;
  std::string checksums_;
};

/// Of the file's first bytes, as many as a head may have. Code::unsupported: another version, whose
/// head may be anything behind the version's number. Damage.
Status check_snapshot_version(std::string_view name, std::string_view bytes);
/// How many bytes the head has, from its fixed first part. Damage.
Result<std::size_t> snapshot_head_bytes(std::string_view name, std::string_view fixed);
/// Of the whole head. Damage.
Result<raft::SnapshotMark> decode_snapshot_head(std::string_view name, std::string_view head);

}  // namespace gpl::store
