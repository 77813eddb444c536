// Any bytes as a snapshot file: refused, or parts of which the same file can be made again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "gpl/store/checksum.h"
#include "gpl/store/snapshot_file.h"
#include "store/memory_disk.h"

namespace {

using namespace gpl;
using namespace gpl::store;

void must(bool what) {
  if (!what) std::abort();
}

std::uint64_t number_at(const std::string& bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

std::string as_bytes(std::uint64_t value) {
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
  return out;
}

/// Gives the file the right checksums wherever the bytes let it.
void repair(std::string& bytes) {
  constexpr std::size_t fixed = 32;
  if (bytes.size() < fixed) return;
  bytes.replace(0, 16, std::string("GPL-SNAP\1\0\0\0", 12) + bytes[12] + std::string(3, '\0'));
  const std::size_t head = fixed + number_at(bytes, 12, 4);
  if (bytes.size() < head + 8) return;
  std::string sums = as_bytes(checksum(std::string_view(bytes).substr(0, head), 0));
  bytes.replace(head, 8, sums);
  std::uint64_t parts = 0;
  std::size_t at = head + 8;
  while (at + 24 <= bytes.size()) {
    bytes.replace(at + 1, 7, 7, '\0');
    const std::size_t length = number_at(bytes, at, 1);
    if (length == 0) {
      bytes.replace(at + 8, 8, as_bytes(parts));
      bytes.replace(at + 16, 8, as_bytes(checksum(sums + as_bytes(parts), 0)));
      return bytes.resize(at + 24);
    }
    if (bytes.size() < at + length + 16) return;
    const std::string sum =
        as_bytes(checksum(std::string_view(bytes).substr(at, 8 + length), parts++));
    bytes.replace(at + 8 + length, 8, sum);
    sums += sum;
    at += length + 16;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1U) != 0) repair(bytes);
  MemoryDisk disk;
  disk.put("s", bytes);
  std::vector<std::string> parts;
  const Result<raft::SnapshotMark> mark = read_snapshot(disk, "s", [&](std::string_view part) {
    parts.emplace_back(part);
    return success();
  });
  if (!mark) return 0;
  std::size_t next = 0;
  const Committer::Source source =
      write_snapshot(mark.value(), [&]() -> std::optional<std::string> {
        if (next == parts.size()) return std::nullopt;
        return parts[next++];
      });
  for (;;) {
    const Result<std::optional<Operation>> operation = source();
    must(operation.ok());
    if (!operation.value()) break;
    must(disk.perform(*operation.value()).ok());
  }
  must(disk.bytes(snapshot_name(mark.value())) == bytes);
  return 0;
}
