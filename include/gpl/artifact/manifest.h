#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/artifact/digest.h"
#include "gpl/artifact/entry.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

/// One file, folder or link of a tree.
struct TreeEntry {
  std::string path;  ///< bytes, relative to the tree's root, parts separated by '/'
  EntryType type = EntryType::file;
  std::uint32_t mode = 0;        ///< of a file or folder: the 0777 bits; set-id bits do not travel
  std::int64_t mtime_ns = 0;     ///< of a file: since 1970; else 0
  std::uint64_t size_bytes = 0;  ///< of a file
  std::vector<Digest> chunks;    ///< of a file: chunk_count(size_bytes)
  std::string link_target;       ///< of a link: bytes
  friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};

/// A tree: its entries by path bytes, each path once, and of every path all its folders.
struct Manifest {
  std::vector<TreeEntry> entries;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// What a manifest may have at most; a tree that needs more is refused by encode_manifest.
constexpr std::size_t max_tree_entries = 4'000'000;
constexpr std::size_t max_manifest_bytes = std::size_t{512} << 20U;
/// What Linux can name: PATH_MAX and NAME_MAX.
constexpr std::size_t max_path_bytes = 4095;
constexpr std::size_t max_name_bytes = 255;

/// Success when this is a tree that can be made anywhere: paths of 1 to 4095 bytes without empty
/// parts, ".", "..", NUL or parts of over 255 bytes, ordered, with their folders; nothing below a
/// file or link; sizes and chunks agree. Else Code::invalid, or too_large.
Status check_manifest(const Manifest& manifest);

/// The one encoding of this tree: trees are equal when their encodings are. Its digest is the
/// tree's id. Errors as of check_manifest. The format (numbers big-endian):
///
///   "gpltree" u8 version = 1, then for each entry
///   u8 type (1 file, 2 folder, 3 link)  u16 path size  path
///   file:   u16 mode  i64 mtime_ns  u64 size_bytes  chunk_count(size_bytes) ids of 32 bytes
///   folder: u16 mode
///   link:   u16 target size  target
Result<std::string> encode_manifest(const Manifest& manifest);

/// The tree of an encoding that may come from anybody. Takes exactly what encode_manifest gives.
/// Code::invalid or too_large with the offset and what is wrong there; unsupported for a later
/// version's.
Result<Manifest> decode_manifest(std::string_view bytes);

}  // namespace gpl::artifact
