#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "gpl/core/result.h"
#include "gpl/raft/configuration.h"
#include "gpl/raft/entry.h"

namespace gpl::store {

/// The end of a segment: the log goes on in this one.
struct Onward {
  std::uint64_t segment = 0;
  friend bool operator==(const Onward&, const Onward&) = default;
};

/// What one record of the log says (gpl-wal(5)).
using RecordBody = std::variant<raft::Entry, raft::HardState, raft::SnapshotMark, Onward>;

/// The fields before a record's payload.
struct RecordHeader {
  std::uint32_t payload_bytes = 0;
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  std::uint64_t generation = 0;
  std::uint64_t batch = 0;
  std::uint64_t index = 0;

  bool ends_batch() const { return flags == 1; }
  friend bool operator==(const RecordHeader&, const RecordHeader&) = default;
};

inline constexpr std::size_t record_header_bytes = 40;
inline constexpr std::size_t record_overhead_bytes = record_header_bytes + 8;
inline constexpr std::size_t payload_limit_bytes = raft::entry_limit_bytes + 16;
/// Of an Onward record, which has no payload.
inline constexpr std::size_t onward_bytes = record_overhead_bytes;

/// What a record takes in the file; a multiple of 8.
std::size_t record_bytes(const raft::Entry& entry);
std::size_t record_bytes(const raft::HardState& hard_state);
std::size_t record_bytes(const raft::SnapshotMark& mark);
std::size_t record_bytes(const RecordHeader& header);

/// The header in the first 40 of `bytes`, which stand at `offset` of their file. Nothing: no record
/// was written there (too few bytes, the checksum).
std::optional<RecordHeader> decode_header(std::string_view bytes, std::uint64_t offset);

/// Whether this version may have written the fields. Code::invalid: no version has them so;
/// Code::unsupported: a type that it does not know.
Status check(const RecordHeader& header);

/// Whether the `record_bytes` from the header on, at `offset` of their file, are as they were
/// written.
bool is_intact(std::string_view record, std::uint64_t offset);

/// What an intact record says. Errors as of `check`, for its payload.
Result<RecordBody> decode_body(const RecordHeader& header, std::string_view record);

/// Builds the bytes of one batch, which are to stand at `offset` of the file (a multiple of 8).
class BatchWriter {
 public:
  BatchWriter(std::uint64_t generation, std::uint64_t batch, std::uint64_t offset)
      : generation_(generation), batch_(batch), offset_(offset) {}

  /// Requires data of at most `raft::entry_limit_bytes`.
  void add(const raft::Entry& entry);
  void add(const raft::HardState& hard_state);
  void add(const raft::SnapshotMark& mark);
  void add(const Onward& onward);

  bool empty() const { return bytes_.empty(); }
  /// Requires at least one record; to be called once.
  std::string finish();

 private:
  void begin(std::uint8_t type, std::uint64_t index);
  void seal(bool ends_batch);

  std::uint64_t generation_;
  std::uint64_t batch_;
  std::uint64_t offset_;
  std::size_t begin_ = 0;  // of the record that is not sealed yet
  std::string bytes_;
};

}  // namespace gpl::store
