#include "gpl/artifact/git_index_file.h"

#include <algorithm>

#include "gpl/artifact/big_endian.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t header_bytes = 12;
constexpr std::size_t stat_bytes = 40;  ///< times, device, inode, mode, owner and size of an entry
constexpr std::size_t mode_offset = 24;
constexpr std::uint32_t flag_extended = 0x4000;
constexpr std::uint32_t flag_skip_worktree = 0x4000;  ///< in the second flags of an extended entry
constexpr std::uint32_t flag_name_size = 0x0fff;
/// Version 4 shortens names by what they share with the one before, so a small file can stand for
/// many long names. Real trees unfold less than fivefold.
constexpr std::size_t unfold_limit = 16;
constexpr std::size_t unfold_always_bytes = 1U << 20U;

Error damaged(std::string what) { return {Code::invalid, std::move(what)}; }

/// Version 4's number: seven bits a byte, high ones first, each further byte counting from one
/// more.
std::optional<std::size_t> read_offset_number(std::string_view bytes, std::size_t& at) {
  std::size_t value = 0;
  for (bool first = true;; first = false) {
    if (at >= bytes.size() || value > (std::size_t{1} << 40U)) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value = (first ? 0 : (value + 1) << 7U) | (byte & 0x7fU);
    if ((byte & 0x80U) == 0) return value;
  }
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4U];
    text += digits[static_cast<unsigned char>(c) & 15U];
  }
  return text;
}

}  // namespace

Result<GitIndexFile> GitIndexFile::parse(std::string_view bytes, std::size_t hash_bytes) {
  GitIndexFile file;
  if (bytes.size() < header_bytes + hash_bytes || !bytes.starts_with("DIRC"))
    return damaged("it is no git index");
  // The checksum at the end.
  bytes.remove_suffix(hash_bytes);
  std::size_t at = header_bytes;
  if (auto read = file.read_entries(bytes, at, hash_bytes); !read) return read.error();
  if (auto read = file.read_extensions(bytes, at, hash_bytes); !read) return read.error();
  return file;
}

Status GitIndexFile::read_entries(std::string_view bytes, std::size_t& at, std::size_t hash_bytes) {
  const auto version = read_big_endian<std::uint32_t>(bytes, 4);
  const std::size_t count = read_big_endian<std::uint32_t>(bytes, 8);
  if (version < 2 || version > 4)
    return Error{Code::unsupported,
                 "its version is " + std::to_string(version) + ", and gpl reads 2 to 4"};
  const std::size_t fixed = stat_bytes + hash_bytes + 2;
  if (count > bytes.size() / fixed)
    return damaged("it says that it holds " + std::to_string(count) +
                   " entries, and is too short for them");
  entries_.reserve(count);
  const auto cut = [&] {
    return damaged("it ends within entry " + std::to_string(entries_.size() + 1) + " of " +
                   std::to_string(count));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = at;
    if (bytes.size() - at < fixed + 2) return cut();
    const auto mode = read_big_endian<std::uint32_t>(bytes, at + mode_offset);
    const std::uint32_t flags = read_big_endian<std::uint16_t>(bytes, at + fixed - 2);
    at += fixed;
    bool skip_worktree = false;
    if ((flags & flag_extended) != 0) {
      skip_worktree = (read_big_endian<std::uint16_t>(bytes, at) & flag_skip_worktree) != 0;
      at += 2;
    }
    std::size_t shared = 0;
    if (version == 4) {
      const auto dropped = read_offset_number(bytes, at);
      if (!dropped) return cut();
      const std::size_t before = entries_.empty() ? 0 : entries_.back().name_size;
      if (*dropped > before)
        return damaged("entry " + std::to_string(i + 1) + " shortens a name by more than it has");
      shared = before - *dropped;
    }
    const std::size_t end = bytes.find('\0', std::min(at, bytes.size()));
    if (end == std::string_view::npos) return cut();
    const std::size_t known = flags & flag_name_size;
    const std::size_t name_size = shared + end - at;
    if (known != flag_name_size && known != name_size)
      return damaged("the name of entry " + std::to_string(i + 1) +
                     " has another length than it says");
    if (names_.size() + name_size > unfold_limit * bytes.size() + unfold_always_bytes)
      return damaged("its names unfold to more than " + std::to_string(unfold_limit) +
                     " times its size");
    const Entry entry{names_.size(), name_size, mode, skip_worktree};
    if (shared != 0) names_.append(names_, entries_.back().name_begin, shared);
    names_.append(bytes.substr(at, end - at));
    entries_.push_back(entry);
    // Up to version 3, one to eight NULs fill the entry up to a multiple of eight.
    at = version == 4 ? end + 1 : begin + (end - begin + 8) / 8 * 8;
    if (at > bytes.size()) return cut();
  }
  return success();
}

Status GitIndexFile::read_extensions(std::string_view bytes, std::size_t at,
                                     std::size_t hash_bytes) {
  while (at < bytes.size()) {
    if (bytes.size() - at < 8) return damaged("it ends within an extension");
    const std::string_view signature = bytes.substr(at, 4);
    const std::size_t size = read_big_endian<std::uint32_t>(bytes, at + 4);
    at += 8;
    if (size > bytes.size() - at) return damaged("it ends within an extension");
    const std::string_view body = bytes.substr(at, size);
    at += size;
    if (signature == "link") {
      if (body.size() < hash_bytes) return damaged("its link to a shared index is cut off");
      const std::string_view object = body.substr(0, hash_bytes);
      if (object.find_first_not_of('\0') != std::string_view::npos)
        link_ = Link{"sharedindex." + hex(object), std::string(body.substr(hash_bytes))};
    } else if (signature != "sdir" && (signature[0] < 'A' || signature[0] > 'Z')) {
      // A small letter says: who does not know this extension cannot read the index.
      return Error{Code::unsupported, "it needs the extension '" + std::string(signature) +
                                          "', which gpl does not know"};
    }
  }
  return success();
}

}  // namespace gpl::artifact
