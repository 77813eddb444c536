#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::artifact {

/// A file of git's index format (gitformat-index(5)), versions 2 to 4, as it stands on disk: one
/// entry a name and stage, without object names and stat data. Bytes come from anywhere: nothing
/// but an Error follows from bad ones.
class GitIndexFile {
 public:
  struct Entry {
    std::size_t name_begin;
    std::size_t name_size;
    std::uint32_t mode;
    bool skip_worktree;  ///< tracked, but meant to be absent: a sparse checkout
  };
  /// The `link` extension: what a split index changes in its shared one.
  struct Link {
    std::string shared_name;  ///< sharedindex.HEX, beside the index
    /// Two EWAH bitmaps over the shared entries: those that are gone, and those that take the modes
    /// of this file's first, nameless entries. Empty: neither.
    std::string bitmaps;
  };

  /// Error invalid (damaged) or unsupported (a version or extension that nobody may skip); the
  /// message says what is wrong with the bytes and names no file. The checksum is not verified, as
  /// git does not either.
  static Result<GitIndexFile> parse(std::string_view bytes, std::size_t hash_bytes);

  const std::vector<Entry>& entries() const { return entries_; }
  std::string_view name(const Entry& entry) const {
    return std::string_view(names_).substr(entry.name_begin, entry.name_size);
  }
  const std::optional<Link>& link() const { return link_; }

 private:
  Status read_entries(std::string_view bytes, std::size_t& at, std::size_t hash_bytes);
  Status read_extensions(std::string_view bytes, std::size_t at, std::size_t hash_bytes);

  std::string names_;
  std::vector<Entry> entries_;
  std::optional<Link> link_;
};

}  // namespace gpl::artifact
