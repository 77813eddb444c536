// Any bytes as a log's folder: refused, or a log that can be written on and says the same again.
//
// The first byte chooses: the bytes as files as they are; the same with right checksums, so that
// what is behind them is reached; or changes to a whole log.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gpl/raft/log.h"
#include "gpl/store/checksum.h"
#include "gpl/store/record.h"
#include "gpl/store/segment.h"
#include "gpl/store/snapshot_file.h"
#include "gpl/store/wal.h"
#include "store/memory_disk.h"

namespace {

using namespace gpl;
using namespace gpl::store;

constexpr WalOptions small{.segment_bytes = 1024};
constexpr std::uint64_t highest = std::uint64_t{1} << 62;  // of an index or a term
const raft::Configuration voters{{raft::NodeId{1}, raft::NodeId{2}}, {}};

void put_u64(std::string& bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i) {
    bytes[at + i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

std::size_t length_at(const std::string& bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]) + 256U * static_cast<unsigned char>(bytes[at + 1]);
}

/// Gives a segment the right checksums, magic and size wherever the bytes let it.
void repair(std::string& bytes) {
  if (bytes.size() < segment_header_bytes) return;
  bytes.replace(0, 16, encode(SegmentHeader{}), 0, 16);
  put_u64(bytes, 32, bytes.size());
  std::fill(bytes.begin() + 64, bytes.begin() + 88, '\0');
  put_u64(bytes, 88, checksum(std::string_view(bytes).substr(0, 88), 0));
  for (std::size_t at = segment_header_bytes; at + record_overhead_bytes <= bytes.size();) {
    bytes[at + 2] = bytes[at + 3] = bytes[at + 6] = bytes[at + 7] = '\0';
    bytes[at + 5] &= 1;
    const std::size_t whole = record_overhead_bytes + (length_at(bytes, at) + 7) / 8 * 8;
    if (whole > bytes.size() - at) return;
    put_u64(bytes, at + 32, checksum(std::string_view(bytes).substr(at, 32), at));
    put_u64(bytes, at + whole - 8, checksum(std::string_view(bytes).substr(at, whole - 8), at));
    at += whole;
  }
}

void must(bool what) {
  if (!what) std::abort();
}

void perform_all(MemoryDisk& disk, const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) must(disk.perform(operation).ok());
}

raft::Entry entry_of(raft::Index index, std::size_t bytes) {
  return {index, 1, raft::EntryKind::command, std::string(bytes, 'x')};
}

MemoryDisk whole_log() {
  MemoryDisk disk;
  Wal wal = Wal::open(disk, voters, small).value().wal;
  for (raft::Index index = 1; index <= 12; ++index) {
    perform_all(disk, wal.append({{0, raft::HardState{index, {}}, {entry_of(index, 20 * index)}}}));
  }
  bool given = false;
  const auto source = write_snapshot({4, 1, voters}, [&]() -> std::optional<std::string> {
    if (std::exchange(given, true)) return std::nullopt;
    return "state";
  });
  for (auto next = source().value(); next; next = source().value()) must(disk.perform(*next).ok());
  return disk;
}

/// Five bytes a change: which file, where, what to do, with what.
void change(MemoryDisk& disk, std::string_view script) {
  const std::vector<std::string> names = disk.list().value();
  for (; script.size() >= 5; script.remove_prefix(5)) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(script[i]); };
    const std::string& name = names[byte(0) % names.size()];
    if (!disk.has(name)) continue;
    std::string bytes = disk.bytes(name);
    const std::size_t at = (byte(1) * 256U + byte(2)) % (bytes.size() + 1);
    switch (byte(3) % 5) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = script[4];
        break;
      case 2:
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), script[4]);
        break;
      case 3:
        disk.drop(name);
        continue;
      case 4:
        if (name.starts_with("wal-")) repair(bytes);
        break;
    }
    disk.put(name, bytes);
  }
}

void split_into_files(MemoryDisk& disk, std::string_view bytes, bool repaired) {
  for (std::uint64_t number = 1; number <= 3 && bytes.size() >= 2; ++number) {
    const std::size_t length = std::min<std::size_t>(
        static_cast<unsigned char>(bytes[0]) * 256U + static_cast<unsigned char>(bytes[1]),
        bytes.size() - 2);
    std::string file(bytes.substr(2, length));
    if (repaired) repair(file);
    disk.put(segment_name(number), file);
    bytes.remove_prefix(2 + length);
  }
}

/// What raft::Log and raft::Node require, and otherwise abort.
bool is_fit_for_a_node(const raft::Restored& restored) {
  raft::Index index = restored.snapshot.index;
  raft::Term term = restored.snapshot.term;
  for (const raft::Entry& entry : restored.entries) {
    if (entry.index != ++index || entry.term < term || !raft::is_readable(entry)) return false;
    term = entry.term;
  }
  return term <= restored.hard_state.term;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  MemoryDisk disk;
  if (data[0] % 3 == 2) {
    static const MemoryDisk whole = whole_log();
    disk = whole;
    change(disk, bytes);
  } else {
    split_into_files(disk, bytes, data[0] % 3 == 1);
  }
  const MemoryDisk before = disk;
  Result<Wal::Opened> opened = Wal::open(disk, voters, small);
  if (!opened) {
    must(disk == before);
    return 0;
  }
  raft::Restored expected = opened.value().restored;
  must(is_fit_for_a_node(expected));
  const raft::Index next = expected.snapshot.index + expected.entries.size() + 1;
  if (next > highest || expected.hard_state.term >= highest) return 0;
  expected.hard_state = {expected.hard_state.term + 1, raft::NodeId{2}};
  expected.entries.push_back(entry_of(next, 700));
  expected.entries.back().term = expected.hard_state.term;
  perform_all(disk,
              opened.value().wal.append({{0, expected.hard_state, {expected.entries.back()}}}));
  Result<Wal::Opened> again = Wal::open(disk, voters, small);
  must(again.ok() && again.value().restored == expected);
  return 0;
}
