#include "source_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::artifact {
namespace {

// A file that was written this recently may still be being written.
constexpr std::int64_t recent_ns = 10'000'000'000;

bool same_state(const struct stat& one, const struct stat& other) {
  return one.st_size == other.st_size && posix::to_ns(one.st_mtim) == posix::to_ns(other.st_mtim);
}

Result<std::optional<SourceFile>> left_out(const Entry& entry, std::vector<Note>& notes) {
  // Gone since it was listed: as if it had gone a moment earlier.
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<SourceFile>();
  // The caller's own limits, and not this file's fault.
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
    return Error{Code::io, posix::errno_text(errno)};
  notes.push_back(
      {Note::Kind::left_out, entry.path, "cannot be read (" + posix::errno_text(errno) + ")"});
  return std::optional<SourceFile>();
}

}  // namespace

Result<std::optional<SourceFile>> open_source(int root, const Entry& entry,
                                              std::vector<Note>& notes) {
  const std::string& path = entry.source.empty() ? entry.path : entry.source;
  SourceFile source;
  source.file.reset(
      ::openat(root, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!source.file.valid() || ::fstat(source.file.get(), &source.before) != 0)
    return left_out(entry, notes);
  if (!S_ISREG(source.before.st_mode)) {
    notes.push_back({Note::Kind::left_out, entry.path, "is no longer a file"});
    return std::optional<SourceFile>();
  }
  return std::optional<SourceFile>(std::move(source));
}

ChangeWatch::ChangeWatch()
    : recent_since_ns_(posix::wall_clock().since_epoch_ms * 1'000'000 - recent_ns) {}

void ChangeWatch::note_if_changed(const Entry& entry, const SourceFile& source,
                                  std::vector<Note>& notes) const {
  const struct stat& before = source.before;
  const std::int64_t mtime_ns = posix::to_ns(before.st_mtim);
  bool changed =
      before.st_size != static_cast<std::int64_t>(entry.size_bytes) || mtime_ns != entry.mtime_ns;
  struct stat after;
  if (!changed && mtime_ns > recent_since_ns_ && ::fstat(source.file.get(), &after) == 0)
    changed = !same_state(before, after);
  if (changed)
    notes.push_back({Note::Kind::changed, entry.path, "was written to while it was taken"});
}

}  // namespace gpl::artifact
