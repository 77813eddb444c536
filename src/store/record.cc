#include "gpl/store/record.h"

#include <cassert>

#include "gpl/store/checksum.h"
#include "little_endian.h"

namespace gpl::store {
namespace {

enum : std::uint8_t { entry_type = 1, hard_state_type = 2, mark_type = 3, onward_type = 4 };

constexpr std::size_t checked_header_bytes = 32;
constexpr std::size_t entry_head_bytes = 9;  // term, kind

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

constexpr std::size_t whole_record(std::size_t payload_bytes) {
  return record_overhead_bytes + padded(payload_bytes);
}

Error nonsense(const std::string& what) { return Error{Code::invalid, what}; }

Error unknown_type(const RecordHeader& header) {
  return Error{Code::unsupported, "a record of the unknown type " + std::to_string(header.type)};
}

Status decode_entry(const RecordHeader& header, std::string_view payload, RecordBody& body) {
  if (payload.size() < entry_head_bytes) return nonsense("an entry without term and kind");
  if (payload.size() - entry_head_bytes > raft::entry_limit_bytes) {
    return nonsense("an entry over the limit of an entry");
  }
  const std::uint64_t kind = read_le(payload, 8, 1);
  if (kind > static_cast<std::uint64_t>(raft::EntryKind::configuration)) {
    return Error{Code::unsupported, "an entry of the unknown kind " + std::to_string(kind)};
  }
  if (header.index == 0) return nonsense("an entry of index 0");
  body = raft::Entry{header.index, read_u64(payload, 0), static_cast<raft::EntryKind>(kind),
                     std::string(payload.substr(entry_head_bytes))};
  return success();
}

Status decode_hard_state(const RecordHeader& header, std::string_view payload, RecordBody& body) {
  if (payload.size() != 16 || header.index != 0) {
    return nonsense("a hard state that is not term and vote");
  }
  body = raft::HardState{read_u64(payload, 0), raft::NodeId{read_u64(payload, 8)}};
  return success();
}

Status decode_mark(const RecordHeader& header, std::string_view payload, RecordBody& body) {
  if (payload.size() < 8) return nonsense("a mark without a term");
  Result<raft::Configuration> configuration = raft::decode_configuration(payload.substr(8));
  if (!configuration) {
    return nonsense("a mark whose configuration is none: " + configuration.error().message);
  }
  body = raft::SnapshotMark{header.index, read_u64(payload, 0), std::move(configuration).value()};
  return success();
}

Status decode_onward(const RecordHeader& header, std::string_view payload, RecordBody& body) {
  if (!payload.empty()) return nonsense("an onward record with a payload");
  body = Onward{header.index};
  return success();
}

Status decode(const RecordHeader& header, std::string_view payload, RecordBody& body) {
  switch (header.type) {
    case entry_type:
      return decode_entry(header, payload, body);
    case hard_state_type:
      return decode_hard_state(header, payload, body);
    case mark_type:
      return decode_mark(header, payload, body);
    case onward_type:
      return decode_onward(header, payload, body);
    default:  // any byte may stand there
      return unknown_type(header);
  }
}

}  // namespace

std::size_t record_bytes(const raft::Entry& entry) {
  return whole_record(entry_head_bytes + entry.data.size());
}
std::size_t record_bytes(const raft::HardState&) { return whole_record(16); }
std::size_t record_bytes(const raft::SnapshotMark& mark) {
  return whole_record(8 + raft::encode(mark.configuration).size());
}
std::size_t record_bytes(const RecordHeader& header) { return whole_record(header.payload_bytes); }

std::optional<RecordHeader> decode_header(std::string_view bytes, std::uint64_t offset) {
  if (bytes.size() < record_header_bytes) return std::nullopt;
  const std::uint64_t sum = read_u64(bytes, checked_header_bytes);
  // Most places are zeros; to compute the checksum of each would take long.
  if (sum == 0 && read_u64(bytes, 16) == 0) return std::nullopt;
  if (sum != checksum(bytes.substr(0, checked_header_bytes), offset)) return std::nullopt;
  return RecordHeader{static_cast<std::uint32_t>(read_u32(bytes, 0)),
                      static_cast<std::uint8_t>(read_le(bytes, 4, 1)),
                      static_cast<std::uint8_t>(read_le(bytes, 5, 1)),
                      static_cast<std::uint16_t>(read_le(bytes, 6, 2)),
                      read_u64(bytes, 8),
                      read_u64(bytes, 16),
                      read_u64(bytes, 24)};
}

Status check(const RecordHeader& header) {
  if (header.type > onward_type) return unknown_type(header);
  if (header.type == 0) return nonsense("a record of type 0");
  if (header.flags > 1 || header.reserved != 0) {
    return nonsense("a header whose bytes 5 to 7 no version writes");
  }
  if (header.payload_bytes > payload_limit_bytes) {
    return nonsense("a payload of " + std::to_string(header.payload_bytes) +
                    " bytes, over the limit of one");
  }
  return success();
}

bool is_intact(std::string_view record, std::uint64_t offset) {
  if (record.size() < record_overhead_bytes) return false;
  const std::size_t checked = record.size() - 8;
  return read_u64(record, checked) == checksum(record.substr(0, checked), offset);
}

Result<RecordBody> decode_body(const RecordHeader& header, std::string_view record) {
  assert(record.size() == record_bytes(header));
  RecordBody body;
  Status decoded = decode(header, record.substr(record_header_bytes, header.payload_bytes), body);
  if (!decoded) return std::move(decoded).error();
  return body;
}

void BatchWriter::add(const raft::Entry& entry) {
  assert(entry.index > 0 && entry.data.size() <= raft::entry_limit_bytes);
  begin(entry_type, entry.index);
  append_le(bytes_, entry.term, 8);
  append_le(bytes_, static_cast<std::uint64_t>(entry.kind), 1);
  bytes_ += entry.data;
}

void BatchWriter::add(const raft::HardState& hard_state) {
  begin(hard_state_type, 0);
  append_le(bytes_, hard_state.term, 8);
  append_le(bytes_, hard_state.vote.value, 8);
}

void BatchWriter::add(const raft::SnapshotMark& mark) {
  begin(mark_type, mark.index);
  append_le(bytes_, mark.term, 8);
  bytes_ += raft::encode(mark.configuration);
}

void BatchWriter::add(const Onward& onward) { begin(onward_type, onward.segment); }

std::string BatchWriter::finish() {
  assert(!empty());
  seal(true);
  return std::move(bytes_);
}

void BatchWriter::begin(std::uint8_t type, std::uint64_t index) {
  if (!empty()) seal(false);
  begin_ = bytes_.size();
  append_le(bytes_, 0, 4);
  append_le(bytes_, type, 4);
  append_le(bytes_, generation_, 8);
  append_le(bytes_, batch_, 8);
  append_le(bytes_, index, 8);
  append_le(bytes_, 0, 8);
}

// The last of a batch is known only when no other follows: so lengths, flag and checksums come
// late.
void BatchWriter::seal(bool ends_batch) {
  const std::size_t payload_bytes = bytes_.size() - begin_ - record_header_bytes;
  assert(payload_bytes <= payload_limit_bytes);
  std::string fields;
  append_le(fields, payload_bytes, 4);
  fields += bytes_[begin_ + 4];
  append_le(fields, ends_batch ? 1 : 0, 1);
  bytes_.replace(begin_, fields.size(), fields);
  bytes_.resize(begin_ + record_header_bytes + padded(payload_bytes), '\0');

  const std::uint64_t seed = offset_ + begin_;
  const std::string_view record = std::string_view(bytes_).substr(begin_);
  std::string check;
  append_le(check, checksum(record.substr(0, checked_header_bytes), seed), 8);
  bytes_.replace(begin_ + checked_header_bytes, check.size(), check);
  append_le(bytes_, checksum(std::string_view(bytes_).substr(begin_), seed), 8);
}

}  // namespace gpl::store
