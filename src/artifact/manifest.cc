#include "gpl/artifact/manifest.h"

#include <algorithm>
#include <limits>

#include "gpl/artifact/big_endian.h"
#include "gpl/artifact/chunk.h"
#include "gpl/core/ascii.h"

namespace gpl::artifact {
namespace {

constexpr std::string_view magic = "gpltree";
constexpr unsigned char version = 1;
constexpr std::size_t header_bytes = magic.size() + 1;

constexpr std::uint8_t file_byte = 1;
constexpr std::uint8_t folder_byte = 2;
constexpr std::uint8_t link_byte = 3;

const char* wrong_with_name(std::string_view name) {
  if (name.empty()) return "a path has an empty part";
  if (name == "." || name == "..") return "a path has a part \".\" or \"..\"";
  if (name.size() > max_name_bytes) return "a name is longer than 255 bytes";
  return nullptr;
}

const char* wrong_with_path(std::string_view path) {
  if (path.size() > max_path_bytes) return "a path is longer than 4095 bytes";
  if (path.find('\0') != std::string_view::npos) return "a path has a NUL byte";
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (const char* wrong = wrong_with_name(path.substr(begin, end - begin))) return wrong;
    if (end == path.size()) return nullptr;
    begin = end + 1;
  }
}

const char* wrong_with_target(std::string_view target) {
  if (target.empty()) return "a link leads nowhere";
  if (target.size() > max_path_bytes) return "a link's target is longer than 4095 bytes";
  if (target.find('\0') != std::string_view::npos) return "a link's target has a NUL byte";
  return nullptr;
}

const char* wrong_with_fields(const TreeEntry& entry) {
  const bool is_file = entry.type == EntryType::file;
  const bool is_link = entry.type == EntryType::symlink;
  if (entry.mode > (is_link ? 0U : 0777U)) return "a mode has other bits than 0777";
  if (!is_file && (entry.mtime_ns != 0 || entry.size_bytes != 0 || !entry.chunks.empty()))
    return "something other than a file has content";
  if (!is_link && !entry.link_target.empty()) return "something other than a link has a target";
  if (entry.size_bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return "a file is larger than a file can be";
  if (is_file && entry.chunks.size() != chunk_count(entry.size_bytes))
    return "a file's size and its number of chunks do not agree";
  return is_link ? wrong_with_target(entry.link_target) : nullptr;
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

/// Looks at a tree's entries one after the other.
class TreeCheck {
 public:
  explicit TreeCheck(const std::vector<TreeEntry>& entries) : entries_(entries) {}

  /// What is wrong with the entry at `index`, those before being fine; else null.
  const char* wrong_with(std::size_t index) {
    const TreeEntry& entry = entries_[index];
    if (const char* wrong = wrong_with_path(entry.path)) return wrong;
    if (index > 0 && entries_[index - 1].path >= entry.path)
      return "the paths are not in order, or one is there twice";
    if (!has_folder(parent_of(entry.path))) return "a path's folder is not there as a folder";
    if (const char* wrong = wrong_with_fields(entry)) return wrong;
    if (entry.type == EntryType::directory) folders_.push_back(index);
    return nullptr;
  }

 private:
  bool has_folder(std::string_view path) {
    if (path.empty()) return true;
    if (last_ < entries_.size() && entries_[last_].path == path) return true;
    const auto at = std::lower_bound(folders_.begin(), folders_.end(), path,
                                     [this](std::size_t folder, std::string_view wanted) {
                                       return entries_[folder].path < wanted;
                                     });
    if (at == folders_.end() || entries_[*at].path != path) return false;
    last_ = *at;
    return true;
  }

  const std::vector<TreeEntry>& entries_;
  std::vector<std::size_t> folders_;  // indices, so ordered by path as well
  std::size_t last_ = std::numeric_limits<std::size_t>::max();
};

std::uint8_t byte_of(EntryType type) {
  switch (type) {
    case EntryType::file:
      return file_byte;
    case EntryType::directory:
      return folder_byte;
    case EntryType::symlink:
      return link_byte;
  }
  return 0;
}

void append_text(std::string& bytes, std::string_view text) {
  append_big_endian(bytes, static_cast<std::uint16_t>(text.size()));
  bytes += text;
}

void append_entry(std::string& bytes, const TreeEntry& entry) {
  append_big_endian(bytes, byte_of(entry.type));
  append_text(bytes, entry.path);
  switch (entry.type) {
    case EntryType::file:
      append_big_endian(bytes, static_cast<std::uint16_t>(entry.mode));
      append_big_endian(bytes, static_cast<std::uint64_t>(entry.mtime_ns));
      append_big_endian(bytes, entry.size_bytes);
      for (const Digest& id : entry.chunks) bytes += id.bytes();
      break;
    case EntryType::directory:
      append_big_endian(bytes, static_cast<std::uint16_t>(entry.mode));
      break;
    case EntryType::symlink:
      append_text(bytes, entry.link_target);
      break;
  }
}

/// Takes entries off the front of an encoding. Once something is wrong, it stays so.
class TreeReader {
 public:
  explicit TreeReader(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t at() const { return at_; }

  /// Null, or what is wrong.
  const char* read(TreeEntry& entry) {
    switch (number<std::uint8_t>()) {
      case file_byte:
        entry.type = EntryType::file;
        entry.path = text();
        entry.mode = number<std::uint16_t>();
        entry.mtime_ns = static_cast<std::int64_t>(number<std::uint64_t>());
        entry.size_bytes = number<std::uint64_t>();
        read_chunks(entry);
        break;
      case folder_byte:
        entry.type = EntryType::directory;
        entry.path = text();
        entry.mode = number<std::uint16_t>();
        break;
      case link_byte:
        entry.type = EntryType::symlink;
        entry.path = text();
        entry.link_target = text();
        break;
      default:
        return "an entry is of no known type";
    }
    return cut_short_ ? "it ends in the middle of an entry" : nullptr;
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (cut_short_ || size > bytes_.size() - at_) {
      cut_short_ = true;
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  template <class T>
  T number() {
    const std::string_view taken = take(sizeof(T));
    return taken.empty() ? T{0} : read_big_endian<T>(taken, 0);
  }
  std::string text() { return std::string(take(number<std::uint16_t>())); }

  // What is asked for is there before anything is allocated for it.
  void read_chunks(TreeEntry& entry) {
    const std::uint64_t count = chunk_count(entry.size_bytes);
    const std::string_view ids = take(count * Digest::size_bytes);
    entry.chunks.reserve(ids.size() / Digest::size_bytes);
    for (std::size_t i = 0; i < ids.size(); i += Digest::size_bytes)
      entry.chunks.push_back(*Digest::from_bytes(ids.substr(i, Digest::size_bytes)));
  }

  std::string_view bytes_;
  std::size_t at_ = header_bytes;
  bool cut_short_ = false;
};

Error wrong_at(std::size_t offset, std::string_view what, Code code = Code::invalid) {
  return {code,
          "the manifest is damaged at byte " + std::to_string(offset) + ": " + std::string(what)};
}

Error too_many_entries() {
  return {Code::too_large, "the tree has more than " + std::to_string(max_tree_entries) +
                               " files and folders: pack them, or name fewer"};
}

Status check_header(std::string_view bytes) {
  if (bytes.size() > max_manifest_bytes)
    return wrong_at(max_manifest_bytes, "it is too large", Code::too_large);
  if (bytes.size() < header_bytes || bytes.substr(0, magic.size()) != magic)
    return wrong_at(0, "it does not begin as a manifest does");
  const auto found = static_cast<unsigned char>(bytes[magic.size()]);
  if (found == version) return success();
  return Error{Code::unsupported, "the manifest is of version " + std::to_string(found) +
                                      ", and this gpl knows version " + std::to_string(version) +
                                      ": a later gpl made it; update this one"};
}

}  // namespace

Status check_manifest(const Manifest& manifest) {
  if (manifest.entries.size() > max_tree_entries) return too_many_entries();
  TreeCheck check(manifest.entries);
  for (std::size_t i = 0; i < manifest.entries.size(); ++i) {
    if (const char* wrong = check.wrong_with(i))
      return Error{Code::invalid, in_quotes(manifest.entries[i].path) +
                                      " cannot be part of a tree: " + std::string(wrong)};
  }
  return success();
}

Result<std::string> encode_manifest(const Manifest& manifest) {
  if (Status checked = check_manifest(manifest); !checked.ok()) return std::move(checked).error();
  std::string bytes(magic);
  bytes += static_cast<char>(version);
  for (const TreeEntry& entry : manifest.entries) {
    append_entry(bytes, entry);
    if (bytes.size() > max_manifest_bytes)
      return Error{Code::too_large,
                   "the tree is too large to be described: its files have more "
                   "than 64 TiB in sum, holes included"};
  }
  return bytes;
}

Result<Manifest> decode_manifest(std::string_view bytes) {
  if (Status fine = check_header(bytes); !fine.ok()) return std::move(fine).error();
  Manifest manifest;
  TreeCheck check(manifest.entries);
  TreeReader reader(bytes);
  while (!reader.at_end()) {
    const std::size_t begin = reader.at();
    if (manifest.entries.size() == max_tree_entries) return too_many_entries();
    const char* wrong = reader.read(manifest.entries.emplace_back());
    if (wrong == nullptr) wrong = check.wrong_with(manifest.entries.size() - 1);
    if (wrong != nullptr) return wrong_at(begin, wrong);
  }
  return manifest;
}

}  // namespace gpl::artifact
