#include "gpl/artifact/tree_snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "source_file.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t outbox_bytes = std::size_t{16} << 20U;
constexpr std::size_t outbox_chunks = 4096;
constexpr std::size_t ids_at_once = 16'384;

/// Chunks on their way to a sink, a batch at a time: a sink may be a connection away.
class Outbox {
 public:
  explicit Outbox(ChunkSink& sink) : sink_(sink) {}

  Status add(Chunk chunk) {
    bytes_ += chunk.bytes().size();
    chunks_.push_back(std::move(chunk));
    return bytes_ < outbox_bytes && chunks_.size() < outbox_chunks ? success() : flush();
  }

  Status flush() {
    std::vector<Digest> ids;
    for (const Chunk& chunk : chunks_) ids.push_back(chunk.id());
    const Result<std::vector<Digest>> missing = sink_.missing(ids);
    if (!missing.ok()) return missing.error();
    std::set<Digest> wanted(missing.value().begin(), missing.value().end());
    for (const Chunk& chunk : chunks_) {
      if (wanted.erase(chunk.id()) == 0) continue;
      if (Status put = sink_.put(chunk); !put.ok()) return put;
    }
    chunks_.clear();
    bytes_ = 0;
    return success();
  }

 private:
  ChunkSink& sink_;
  std::vector<Chunk> chunks_;
  std::size_t bytes_ = 0;
};

/// The bytes from `at` on; fewer than `size` only where the file ends.
Result<std::string> read_piece(int fd, std::int64_t at, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, size - done, at + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Code::io, posix::errno_text(errno)};
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

/// Whether a full chunk at `at` is a hole, and the file still reaches beyond it.
bool is_hole(int fd, std::int64_t at) {
  const std::int64_t end = at + static_cast<std::int64_t>(chunk_size_bytes);
  const off_t data = ::lseek(fd, at, SEEK_DATA);
  if (data < 0 ? errno != ENXIO : data < end) return false;
  struct stat status;
  return ::fstat(fd, &status) == 0 && status.st_size >= end;
}

class Snapshotting {
 public:
  Snapshotting(posix::Fd root, StatCache* cache, ChunkSink& sink, Instant now,
               const std::function<bool()>& interrupted)
      : root_(std::move(root)),
        cache_(cache),
        sink_(sink),
        outbox_(sink),
        now_(now),
        interrupted_(interrupted) {}

  Status add(const Entry& entry) {
    if (entry.path.size() > max_path_bytes) {
      taken_.notes.push_back({Note::Kind::left_out, entry.path, "has too long a path"});
      return success();
    }
    TreeEntry made;
    made.path = entry.path;
    made.type = entry.type;
    switch (entry.type) {
      case EntryType::directory:
        made.mode = entry.mode;
        break;
      case EntryType::symlink:
        made.link_target = entry.link_target;
        break;
      case EntryType::file:
        return add_file(entry);
    }
    taken_.manifest.entries.push_back(std::move(made));
    return success();
  }

  Result<TreeSnapshot> finish() {
    if (Status flushed = outbox_.flush(); !flushed.ok()) return std::move(flushed).error();
    if (Status offered = offer_known(); !offered.ok()) return std::move(offered).error();
    if (Status flushed = outbox_.flush(); !flushed.ok()) return std::move(flushed).error();
    std::erase_if(taken_.manifest.entries,
                  [](const TreeEntry& entry) { return entry.path.empty(); });
    if (Status fine = check_manifest(taken_.manifest); !fine.ok()) return std::move(fine).error();
    return std::move(taken_);
  }

 private:
  /// A file that was not opened: it is in the manifest at `index`.
  struct Known {
    const Entry* entry;
    std::size_t index;
  };

  Status add_file(const Entry& entry) {
    std::optional<TreeEntry> known = look_up(entry);
    if (known) {
      known_.push_back({&entry, taken_.manifest.entries.size()});
      taken_.manifest.entries.push_back(std::move(*known));
      return success();
    }
    Result<TreeEntry> read = read_file(entry);
    if (!read.ok()) return std::move(read).error();
    if (!read.value().path.empty()) taken_.manifest.entries.push_back(std::move(read).value());
    return success();
  }

  std::optional<TreeEntry> look_up(const Entry& entry) {
    if (cache_ == nullptr) return std::nullopt;
    const std::string& path = entry.source.empty() ? entry.path : entry.source;
    struct stat status;
    if (::fstatat(root_.get(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      return std::nullopt;
    const FileState state = FileState::of(status);
    // One that has changed since it was listed is read, and noted then.
    if (state.size_bytes != entry.size_bytes || state.mtime_ns != entry.mtime_ns)
      return std::nullopt;
    const std::vector<Digest>* chunks = cache_->find(state);
    if (chunks == nullptr) return std::nullopt;
    return file_of(entry, status, *chunks);
  }

  static TreeEntry file_of(const Entry& entry, const struct stat& status,
                           std::vector<Digest> chunks) {
    TreeEntry made;
    made.path = entry.path;
    made.mode = status.st_mode & 0777U;
    made.mtime_ns = posix::to_ns(status.st_mtim);
    made.size_bytes = static_cast<std::uint64_t>(status.st_size);
    made.chunks = std::move(chunks);
    return made;
  }

  /// Without a path when the file is left out.
  Result<TreeEntry> read_file(const Entry& entry) {
    Result<std::optional<SourceFile>> opened = open_source(root_.get(), entry, taken_.notes);
    if (!opened.ok()) return cannot_take(entry, opened.error());
    if (!opened.value()) return TreeEntry();
    const SourceFile& source = *opened.value();
    TreeEntry made = file_of(entry, source.before, {});
    if (Status read = read_chunks(source, made); !read.ok())
      return cannot_take(entry, read.error());
    ++taken_.files_read;
    watch_.note_if_changed(entry, source, taken_.notes);
    if (cache_ != nullptr) cache_->record(FileState::of(source.before), made.chunks, now_);
    return made;
  }

  static Error cannot_take(const Entry& entry, const Error& error) {
    return {error.code, "cannot take " + entry.path + " along: " + error.message};
  }

  Status read_chunks(const SourceFile& source, TreeEntry& made) {
    const int fd = source.file.get();
    const std::uint64_t size = made.size_bytes;
    const bool is_sparse = static_cast<std::uint64_t>(source.before.st_blocks) * 512 < size;
    made.size_bytes = 0;
    while (made.size_bytes < size) {
      if (interrupted_ && interrupted_()) return Error{Code::busy, "interrupted"};
      const std::uint64_t want = std::min(chunk_size_bytes, size - made.size_bytes);
      const auto at = static_cast<std::int64_t>(made.size_bytes);
      if (is_sparse && want == chunk_size_bytes && is_hole(fd, at)) {
        if (Status added = add_hole(made); !added.ok()) return added;
        continue;
      }
      Result<std::string> bytes = read_piece(fd, at, want);
      if (!bytes.ok()) return std::move(bytes).error();
      if (bytes.value().empty()) break;
      Chunk chunk = Chunk::of(std::move(bytes).value());
      const std::size_t got = chunk.bytes().size();
      made.size_bytes += got;
      made.chunks.push_back(chunk.id());
      if (Status added = outbox_.add(std::move(chunk)); !added.ok()) return added;
      if (got < want) break;
    }
    return success();
  }

  Status add_hole(TreeEntry& made) {
    made.size_bytes += chunk_size_bytes;
    made.chunks.push_back(zero_chunk_id());
    if (zeros_added_) return success();
    zeros_added_ = true;
    return outbox_.add(Chunk::zeros());
  }

  /// Sees to it that the sink has the content of the files that were not opened.
  Status offer_known() {
    for (std::size_t begin = 0; begin < known_.size();) {
      std::vector<Digest> ids;
      std::size_t end = begin;
      for (; end < known_.size() && ids.size() < ids_at_once; ++end) {
        const std::vector<Digest>& chunks = taken_.manifest.entries[known_[end].index].chunks;
        ids.insert(ids.end(), chunks.begin(), chunks.end());
      }
      const Result<std::vector<Digest>> missing = sink_.missing(ids);
      if (!missing.ok()) return missing.error();
      if (Status read = read_missing(begin, end, missing.value()); !read.ok()) return read;
      begin = end;
    }
    return success();
  }

  Status read_missing(std::size_t begin, std::size_t end, const std::vector<Digest>& missing) {
    if (missing.empty()) return success();
    const std::set<Digest> wanted(missing.begin(), missing.end());
    for (std::size_t i = begin; i < end; ++i) {
      TreeEntry& known = taken_.manifest.entries[known_[i].index];
      const auto is_wanted = [&](const Digest& id) { return wanted.count(id) != 0; };
      if (std::none_of(known.chunks.begin(), known.chunks.end(), is_wanted)) continue;
      Result<TreeEntry> read = read_file(*known_[i].entry);
      if (!read.ok()) return std::move(read).error();
      known = std::move(read).value();
    }
    return success();
  }

  posix::Fd root_;
  StatCache* cache_;
  ChunkSink& sink_;
  Outbox outbox_;
  Instant now_;
  const std::function<bool()>& interrupted_;
  ChangeWatch watch_;
  std::vector<Known> known_;
  bool zeros_added_ = false;
  TreeSnapshot taken_;
};

}  // namespace

Result<TreeSnapshot> snapshot_tree(const std::string& root, const std::vector<Entry>& entries,
                                   StatCache* cache, ChunkSink& sink, Instant now,
                                   const std::function<bool()>& interrupted) {
  Result<posix::Fd> folder = posix::open_folder(root);
  if (!folder.ok()) return std::move(folder).error();
  Snapshotting snapshotting(std::move(folder).value(), cache, sink, now, interrupted);
  for (const Entry& entry : entries) {
    if (interrupted && interrupted()) return Error{Code::busy, "interrupted"};
    if (Status added = snapshotting.add(entry); !added.ok()) return std::move(added).error();
  }
  return snapshotting.finish();
}

}  // namespace gpl::artifact
