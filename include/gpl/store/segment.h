#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/raft/entry.h"

namespace gpl::store {

/// The beginning of a segment file (gpl-wal(5)), which is complete before the file has its name.
struct SegmentHeader {
  std::uint64_t number = 0;
  std::uint64_t generation = 0;
  std::uint64_t size_bytes = 0;    ///< of the file
  std::uint64_t first_batch = 0;   ///< the opening batch's number
  raft::Index next_index = 0;      ///< of an entry that is new, when the segment was begun
  std::uint64_t previous_end = 0;  ///< where the segment before ends; 0: there was none
  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

inline constexpr std::size_t segment_header_bytes = 96;

std::string encode(const SegmentHeader& header);
/// `bytes` are the first of the file `name`. Damage, or Code::unsupported for another version.
Result<SegmentHeader> decode_segment_header(std::string_view name, std::string_view bytes);

std::string segment_name(std::uint64_t number);
std::optional<std::uint64_t> parse_segment_name(std::string_view name);

/// A segment that was made ahead of use. Nothing is ever read back from it.
std::string spare_name(std::uint64_t number);
bool is_spare_name(std::string_view name);

}  // namespace gpl::store
