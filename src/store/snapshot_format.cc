#include "snapshot_format.h"

#include <cassert>

#include "gpl/store/checksum.h"
#include "gpl/store/damage.h"
#include "little_endian.h"

namespace gpl::store {
namespace {

constexpr std::string_view magic = "GPL-SNAP";
constexpr std::uint64_t version = 1;
constexpr std::size_t version_end = 12;

}  // namespace

std::string SnapshotChain::head(const raft::SnapshotMark& mark) {
  const std::string configuration = raft::encode(mark.configuration);
  assert(configuration.size() <= snapshot_configuration_limit_bytes);
  std::string out(magic);
  append_le(out, version, 4);
  append_le(out, configuration.size(), 4);
  append_le(out, mark.index, 8);
  append_le(out, mark.term, 8);
  out += configuration;
  const std::uint64_t sum = checksum(out, 0);
  append_le(out, sum, 8);
  append_le(checksums_, sum, 8);
  return out;
}

std::string SnapshotChain::part(std::string_view bytes) {
  assert(!bytes.empty());
  std::string out;
  out.reserve(bytes.size() + 16);
  append_le(out, bytes.size(), 8);
  out += bytes;
  append_le(out, part_checksum(out), 8);
  return out;
}

std::uint64_t SnapshotChain::part_checksum(std::string_view length_and_bytes) {
  const std::uint64_t sum = checksum(length_and_bytes, parts_++);
  append_le(checksums_, sum, 8);
  return sum;
}

std::string SnapshotChain::end() {
  std::string out;
  append_le(out, 0, 8);
  append_le(out, parts_, 8);
  append_le(checksums_, parts_, 8);
  append_le(out, checksum(checksums_, 0), 8);
  return out;
}

Status check_snapshot_version(std::string_view name, std::string_view bytes) {
  if (bytes.size() < version_end) {
    return damage(name, bytes.size(), "the snapshot's head is cut short");
  }
  if (!bytes.starts_with(magic)) return damage(name, 0, "this is not the beginning of a snapshot");
  const std::uint64_t found = read_u32(bytes, magic.size());
  if (found == version) return success();
  // Damage to the number itself is no other version: with it put right, all of the head is.
  std::string known(magic);
  append_le(known, version, 4);
  known += bytes.substr(version_end);
  const Result<std::size_t> length = snapshot_head_bytes(name, known);
  if (length && length.value() <= known.size() &&
      decode_snapshot_head(name, std::string_view(known).substr(0, length.value()))) {
    return damage(name, magic.size(), "the number of its version is changed");
  }
  return too_new(name, magic.size(), "snapshot version " + std::to_string(found));
}

Result<std::size_t> snapshot_head_bytes(std::string_view name, std::string_view fixed) {
  if (fixed.size() < snapshot_fixed_head_bytes) {
    return damage(name, fixed.size(), "the snapshot's head is cut short");
  }
  const std::size_t configuration_bytes = read_u32(fixed, 12);
  if (configuration_bytes > snapshot_configuration_limit_bytes) {
    return damage(name, 12, "the length of the configuration is over its limit");
  }
  return snapshot_fixed_head_bytes + configuration_bytes + 8;
}

Result<raft::SnapshotMark> decode_snapshot_head(std::string_view name, std::string_view head) {
  const std::size_t checked = head.size() - 8;
  if (read_u64(head, checked) != checksum(head.substr(0, checked), 0)) {
    return damage(name, 0, "the checksum of the snapshot's head does not match");
  }
  Result<raft::Configuration> configuration = raft::decode_configuration(
      head.substr(snapshot_fixed_head_bytes, checked - snapshot_fixed_head_bytes));
  if (!configuration) {
    return damage(name, snapshot_fixed_head_bytes,
                  "its configuration is none: " + configuration.error().message);
  }
  return raft::SnapshotMark{read_u64(head, 16), read_u64(head, 24),
                            std::move(configuration).value()};
}

}  // namespace gpl::store
