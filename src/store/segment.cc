#include "gpl/store/segment.h"

#include "file_number.h"
#include "gpl/store/checksum.h"
#include "gpl/store/damage.h"
#include "little_endian.h"

namespace gpl::store {
namespace {

constexpr std::string_view magic = "GPL-WAL\n";
constexpr std::uint64_t version = 1;
constexpr std::size_t checksum_at = segment_header_bytes - 8;
constexpr std::string_view segment_prefix = "wal-";
constexpr std::string_view spare_prefix = "spare-";

std::optional<std::uint64_t> number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const std::optional<std::uint64_t> number = take_file_number(name);
  return name.empty() ? number : std::nullopt;
}

}  // namespace

std::string encode(const SegmentHeader& header) {
  std::string out(magic);
  append_le(out, version, 4);
  append_le(out, 0, 4);
  for (const std::uint64_t field : {header.number, header.generation, header.size_bytes,
                                    header.first_batch, header.next_index, header.previous_end}) {
    append_le(out, field, 8);
  }
  out.resize(checksum_at, '\0');
  append_le(out, checksum(out, 0), 8);
  return out;
}

Result<SegmentHeader> decode_segment_header(std::string_view name, std::string_view bytes) {
  if (bytes.size() < segment_header_bytes) {
    return damage(name, bytes.size(), "its header is cut short");
  }
  bytes = bytes.substr(0, segment_header_bytes);
  if (!bytes.starts_with(magic)) return damage(name, 0, "this is not the beginning of a segment");
  if (read_u64(bytes, checksum_at) != checksum(bytes.substr(0, checksum_at), 0)) {
    return damage(name, 0, "the checksum of its header does not match");
  }
  if (read_u32(bytes, 8) != version) {
    return too_new(name, 8, "segment version " + std::to_string(read_u32(bytes, 8)));
  }
  SegmentHeader header{read_u64(bytes, 16), read_u64(bytes, 24), read_u64(bytes, 32),
                       read_u64(bytes, 40), read_u64(bytes, 48), read_u64(bytes, 56)};
  if (encode(header) != bytes)
    return damage(name, 12, "bytes of its header that must be zero are not");
  return header;
}

std::string segment_name(std::uint64_t number) {
  return std::string(segment_prefix) + file_number(number);
}
std::optional<std::uint64_t> parse_segment_name(std::string_view name) {
  return number_after(segment_prefix, name);
}
std::string spare_name(std::uint64_t number) {
  return std::string(spare_prefix) + file_number(number);
}
bool is_spare_name(std::string_view name) { return number_after(spare_prefix, name).has_value(); }

}  // namespace gpl::store
