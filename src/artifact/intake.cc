#include "gpl/artifact/intake.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/tree.h"
#include "store_folders.h"
#include "store_object.h"

namespace gpl::artifact {
namespace {

// Up to this many files are synced one by one; of more, the whole file system at once, which waits
// for what others have written there, too.
constexpr std::size_t single_syncs = 8;
constexpr std::uint64_t commit_after_bytes = std::uint64_t{1} << 30U;
constexpr unsigned max_intakes = 10'000;

std::string joined(const std::set<Digest>& ids) {
  std::string bytes;
  bytes.reserve(ids.size() * Digest::size_bytes);
  for (const Digest& id : ids) bytes += id.bytes();
  return bytes;
}

}  // namespace

Result<Intake> Intake::begin(StoreFolders& folders) {
  // Nobody may take the folder for that of a dead process before it is locked.
  const Result<StoreLock> lock = StoreLock::shared(folders);
  if (!lock.ok()) return lock.error();
  std::string name;
  for (unsigned number = 1;; ++number) {
    name = std::to_string(number);
    if (::mkdirat(folders.intakes.get(), name.c_str(), 0700) == 0) break;
    if (errno != EEXIST || number == max_intakes)
      return store_error(folders, "cannot take anything in", errno);
  }
  posix::Fd folder(::openat(folders.intakes.get(), name.c_str(),
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  posix::Fd keep;
  if (folder.valid())
    keep.reset(::openat(folder.get(), "keep", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!keep.valid() || ::flock(keep.get(), LOCK_EX | LOCK_NB) != 0) {
    Error error = store_error(folders, "cannot take anything in", errno);
    (void)posix::remove_tree_at(folders.intakes.get(), name);
    return error;
  }
  return Intake(folders, std::move(name), std::move(folder), std::move(keep));
}

Intake::~Intake() {
  if (folder_.valid()) (void)posix::remove_tree_at(folders_->intakes.get(), name_);
}

Result<std::vector<Digest>> Intake::missing(const std::vector<Digest>& ids) {
  const Result<StoreLock> lock = StoreLock::shared(*folders_);
  if (!lock.ok()) return lock.error();
  std::set<Digest> seen;
  std::vector<Digest> absent;
  for (const Digest& id : ids) {
    if (!seen.insert(id).second || has_staged_chunk(id)) continue;
    if (!has_chunk(*folders_, id)) absent.push_back(id);
  }
  // Before the lock is gone: a collection that comes next knows them all.
  if (Status kept = keep(joined(seen)); !kept.ok()) return std::move(kept).error();
  return absent;
}

Status Intake::put(const Chunk& chunk) {
  if (has_staged_chunk(chunk.id())) return success();
  const std::optional<std::string> frame = compressor_.compress_if_it_pays(chunk.bytes());
  Status put = frame ? stage(compressed_chunk_name(chunk.id()), *frame)
                     : stage(raw_chunk_name(chunk.id()), chunk.bytes());
  if (!put.ok() || staged_bytes_ < commit_after_bytes) return put;
  Result<Committed> committed = commit();
  return committed.ok() ? success() : Status(std::move(committed).error());
}

Result<Digest> Intake::put_tree(const Manifest& manifest) {
  Result<std::string> encoded = encode_manifest(manifest);
  if (!encoded.ok()) return std::move(encoded).error();
  const Digest id = digest_of(encoded.value());
  std::string name = tree_name(id);
  if (staged_.count(name) != 0) return id;
  {
    const Result<StoreLock> lock = StoreLock::shared(*folders_);
    if (!lock.ok()) return lock.error();
    if (Status kept = keep(id.bytes()); !kept.ok()) return std::move(kept).error();
    if (has_tree(*folders_, id)) return id;
  }
  Status put = stage(std::move(name), compressor_.compress(encoded.value()));
  if (!put.ok()) return std::move(put).error();
  return id;
}

bool Intake::has_staged_chunk(const Digest& id) const {
  return staged_.count(raw_chunk_name(id)) != 0 || staged_.count(compressed_chunk_name(id)) != 0;
}

Status Intake::stage(std::string name, std::string_view bytes) {
  Result<posix::Fd> file = write_staged(name, bytes);
  if (!file.ok()) {
    ::unlinkat(folder_.get(), name.c_str(), 0);
    return std::move(file).error();
  }
  posix::Fd kept = staged_.size() < single_syncs ? std::move(file).value() : posix::Fd();
  staged_.emplace(std::move(name), std::move(kept));
  staged_bytes_ += bytes.size();
  return success();
}

Result<posix::Fd> Intake::write_staged(const std::string& name, std::string_view bytes) const {
  posix::Fd fd(::openat(folder_.get(), name.c_str(),
                        O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid() || !posix::write_all(fd.get(), bytes).ok())
    return store_error(*folders_, "cannot take a file's content in", errno);
  return fd;
}

Status Intake::keep(std::string_view ids) const {
  if (posix::write_all(keep_.get(), ids).ok()) return success();
  return store_error(*folders_, "cannot take anything in", errno);
}

Result<Committed> Intake::commit() {
  Committed committed;
  committed.objects = staged_.size();
  const Result<unsigned> synced = sync_staged();
  Status named = synced.ok() ? name_staged() : Status(synced.error());
  if (!named.ok()) {
    drop_staged();
    return std::move(named).error();
  }
  // Also with nothing put: the names that were found may be another process's, made just now.
  const Result<unsigned> safe = folders_->sync_names();
  if (!safe.ok()) return safe.error();
  committed.syncs = synced.value() + safe.value();
  return committed;
}

Result<unsigned> Intake::sync_staged() const {
  constexpr const char* what = "cannot bring what it took in to its disk";
  const auto count = static_cast<unsigned>(staged_.size());
  if (count > single_syncs) {
    // It tells of every failed write since the folder was opened, others' included. That is to err
    // on the safe side, once: the next intake opens anew.
    if (::syncfs(folder_.get()) != 0) return store_error(*folders_, what, errno);
    return 1U;
  }
  for (const auto& [name, file] : staged_) {
    if (::fdatasync(file.get()) != 0) return store_error(*folders_, what, errno);
  }
  return count;
}

Status Intake::name_staged() {
  const Result<StoreLock> lock = StoreLock::shared(*folders_);
  if (!lock.ok()) return lock.error();
  std::set<Digest> ids;
  for (const auto& [name, file] : staged_) ids.insert(*object_id(name));
  if (Status kept = keep(joined(ids)); !kept.ok()) return kept;
  while (!staged_.empty()) {
    const std::string& name = staged_.begin()->first;
    if (::renameat(folder_.get(), name.c_str(), folders_->objects.get(), name.c_str()) != 0)
      return store_error(*folders_, "cannot take anything in", errno);
    staged_.erase(staged_.begin());
  }
  staged_bytes_ = 0;
  return success();
}

void Intake::drop_staged() {
  for (const auto& [name, file] : staged_) ::unlinkat(folder_.get(), name.c_str(), 0);
  staged_.clear();
  staged_bytes_ = 0;
}

}  // namespace gpl::artifact
