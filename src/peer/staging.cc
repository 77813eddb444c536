#include "gpl/peer/staging.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "gpl/artifact/delivery.h"
#include "gpl/artifact/made_files.h"
#include "gpl/artifact/tree_materialise.h"
#include "gpl/peer/staged_attempt.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"

namespace gpl::peer {
namespace {

/// What one asking is about; goes to the pool with the work.
struct Subject {
  JobId job;
  TaskId task;
  Fence fence;
  std::string attempts_folder;
};

Result<artifact::Digest> digest_of_tree(const ContentId& tree) {
  const auto id = artifact::Digest::from_bytes(tree);
  if (!id)
    return Error{Code::invalid, "a tree's id has 32 bytes, not " + std::to_string(tree.size())};
  return *id;
}

Status make_tree(const artifact::ChunkStore& store, const ContentId& tree,
                 const std::string& destination, const std::atomic<bool>& interrupted) {
  if (tree.empty()) return success();
  const Result<artifact::Digest> id = digest_of_tree(tree);
  if (!id.ok()) return id.error();
  const Result<artifact::Manifest> manifest = store.tree(id.value());
  if (!manifest.ok()) return manifest.error();
  const Result<std::vector<artifact::Entry>> made = artifact::materialise_tree(
      manifest.value(), store, destination, [&interrupted] { return interrupted.load(); });
  return made.ok() ? success() : Status(made.error());
}

Status stage(const artifact::ChunkStore& store, const Subject& subject, const ContentId& tree,
             const std::atomic<bool>& interrupted) {
  const Result<StagedAttempt> attempt = StagedAttempt::open(subject.attempts_folder, subject.fence);
  if (!attempt.ok()) return attempt.error();
  const Result<std::optional<StagedMark>> mark = attempt.value().staged();
  if (!mark.ok()) return mark.error();
  if (mark.value() && mark.value()->tree == tree) return success();
  // What a peer that was killed meanwhile has left.
  if (Status emptied = attempt.value().empty_work(); !emptied.ok()) return emptied;
  Status made = make_tree(store, tree, attempt.value().work_path(), interrupted);
  if (!made.ok()) return made;
  return attempt.value().write_staged(subject.job, subject.task, tree);
}

// How the tree's files lay in `work` when the command began. Nothing when that is not known any
// more: they were collected from the store, and the attempt's end is told late.
std::optional<std::vector<artifact::Entry>> staged_entries(const artifact::ChunkStore& store,
                                                           const StagedMark& mark) {
  std::vector<artifact::Entry> entries;
  if (!mark.tree) return std::nullopt;
  if (mark.tree->empty()) return entries;
  const Result<artifact::Digest> id = digest_of_tree(*mark.tree);
  if (!id.ok()) return std::nullopt;
  const Result<artifact::Manifest> manifest = store.tree(id.value());
  if (!manifest.ok()) return std::nullopt;
  entries.reserve(manifest.value().entries.size());
  for (const artifact::TreeEntry& from : manifest.value().entries) {
    artifact::Entry entry;
    entry.path = from.path;
    entry.type = from.type;
    entry.mode = from.mode;
    entry.size_bytes = from.size_bytes;
    entry.mtime_ns = from.mtime_ns;
    entry.link_target = from.link_target;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Status move_made(const artifact::ChunkStore& store, const StagedAttempt& attempt,
                 const StagedMark& mark) {
  if (!attempt.has_work()) return success();  // they were moved before
  const std::optional<std::vector<artifact::Entry>> staged = staged_entries(store, mark);
  const Result<std::vector<artifact::Entry>> made =
      artifact::made_files(attempt.work_path(), {mark.changed_ns, staged ? &*staged : nullptr});
  if (!made.ok()) return made.error();
  if (made.value().empty()) return success();
  if (Status folder = attempt.make_files(); !folder.ok()) return folder;
  const Result<artifact::Delivered> moved = artifact::deliver(
      attempt.work_path(), made.value(), attempt.files_path(), artifact::Handover::move);
  if (!moved.ok()) return moved.error();
  if (moved.value().failed.empty()) return success();
  const artifact::Undelivered& first = moved.value().failed.front();
  return Error{Code::io, "cannot keep " + first.entry.path + ", which " + first.reason +
                             "; it is still in " + attempt.work_path()};
}

Result<std::vector<wire::ResultFile>> gather(const artifact::ChunkStore& store,
                                             const Subject& subject, StagingMode mode,
                                             bool without_tree) {
  const Result<StagedAttempt> opened = StagedAttempt::open(subject.attempts_folder, subject.fence);
  if (!opened.ok()) return opened.error();
  const StagedAttempt& attempt = opened.value();
  if (mode == StagingMode::none) return std::vector<wire::ResultFile>();
  const Result<std::optional<CollectedMark>> collected = attempt.collected();
  if (!collected.ok()) return collected.error();
  if (!collected.value()) {
    Result<std::optional<StagedMark>> mark = attempt.staged();
    if (!mark.ok()) return mark.error();
    if (!mark.value() && without_tree) mark = std::optional(StagedMark{ContentId(), 0});
    // Without it the command had not begun, and has made nothing.
    if (mark.value()) {
      if (Status moved = move_made(store, attempt, *mark.value()); !moved.ok())
        return moved.error();
    }
    Status written = attempt.write_collected({subject.job, subject.task, posix::wall_clock()});
    if (!written.ok()) return written.error();
  }
  return attempt.files(subject.task);
}

// Whatever cannot be removed, the keeper will try to.
void clear(const Subject& subject) {
  const Result<StagedAttempt> attempt = StagedAttempt::open(subject.attempts_folder, subject.fence);
  if (attempt.ok()) (void)attempt.value().remove_work();
}

FailedToStart failure_of(const Error& error) {
  FailedToStart failure;
  failure.message = "cannot bring the job's files to where it runs: " + error.message;
  return failure;
}

}  // namespace

Staging::Staging(Pool& pool, const artifact::ChunkStore& store, std::string attempts_folder)
    : pool_(pool), store_(store), attempts_folder_(std::move(attempts_folder)) {}

Staging::~Staging() {
  for (const auto& [fence, attempt] : attempts_) {
    if (attempt->interrupted) *attempt->interrupted = true;
  }
}

Staging::Attempt& Staging::attempt(const Fence& fence) {
  std::unique_ptr<Attempt>& found = attempts_[fence];
  if (!found) found = std::make_unique<Attempt>(pool_);
  return *found;
}

void Staging::settle(const Fence& fence) {
  const auto found = attempts_.find(fence);
  if (found != attempts_.end() && found->second->strand.pending() == 0) attempts_.erase(found);
}

void Staging::prepare(JobId job, TaskId task, Fence fence, ContentId tree, Prepared done) {
  Attempt& asked = attempt(fence);
  if (asked.interrupted && !*asked.interrupted) {
    asked.prepared = std::move(done);
    return;
  }
  asked.interrupted = std::make_shared<std::atomic<bool>>(false);
  asked.prepared = std::move(done);
  struct Work {
    Subject subject;
    ContentId tree;
    std::shared_ptr<std::atomic<bool>> interrupted;
    std::optional<Error> error;
  };
  auto work = std::make_shared<Work>(
      Work{{job, task, fence, attempts_folder_}, std::move(tree), asked.interrupted, {}});
  const Pool::Length length = work->tree.empty() ? Pool::Length::brief : Pool::Length::lengthy;
  asked.strand.submit(
      [work, &store = store_] {
        Status staged = stage(store, work->subject, work->tree, *work->interrupted);
        if (!staged.ok()) work->error = std::move(staged).error();
      },
      [this, work] {
        std::optional<FailedToStart> failure;
        if (work->error) failure = failure_of(*work->error);
        finish_prepare(work->subject.fence, work->interrupted, std::move(failure));
      },
      length);
}

bool Staging::made_nothing(const Fence& fence) const {
  const std::string folder = attempts_folder_ + "/" + StagedAttempt::name_of(fence);
  if (::access((folder + "/files").c_str(), F_OK) == 0 || errno != ENOENT) return false;
  const Result<posix::Fd> work = posix::open_folder(folder + "/work");
  if (!work.ok()) return work.error().code == Code::not_found;
  const Result<std::vector<std::string>> names = posix::names_in(work.value().get());
  return names.ok() && names.value().empty();
}

void Staging::cancel(const Fence& fence) {
  const auto found = attempts_.find(fence);
  if (found == attempts_.end() || !found->second->interrupted) return;
  *found->second->interrupted = true;
  found->second->prepared = {};
}

void Staging::finish_prepare(const Fence& fence, const std::shared_ptr<std::atomic<bool>>& asked,
                             std::optional<FailedToStart> failure) {
  Prepared done;
  Attempt& found = attempt(fence);
  // Else it was given up, and asked for again meanwhile.
  if (found.interrupted == asked) {
    found.interrupted.reset();
    done = std::exchange(found.prepared, {});
  }
  settle(fence);
  if (done) done(std::move(failure));
}

void Staging::collect(JobId job, TaskId task, Fence fence, StagingMode mode, Found found,
                      Cleared cleared, bool without_tree) {
  struct Work {
    Subject subject;
    Result<std::vector<wire::ResultFile>> files;
  };
  auto work = std::make_shared<Work>(
      Work{{job, task, fence, attempts_folder_}, std::vector<wire::ResultFile>()});
  auto done = [this, work, found = std::move(found), cleared = std::move(cleared)] {
    const Subject& subject = work->subject;
    if (work->files.ok()) {
      attempt(subject.fence)
          .strand.submit([subject] { clear(subject); },
                         [this, fence = subject.fence, cleared] {
                           settle(fence);
                           if (cleared) cleared();
                         },
                         Pool::Length::lengthy);
    } else {
      settle(subject.fence);
    }
    found(std::move(work->files));
  };
  attempt(fence).strand.submit(
      [work, mode, without_tree, &store = store_] {
        work->files = gather(store, work->subject, mode, without_tree);
      },
      std::move(done), Pool::Length::lengthy);
}

}  // namespace gpl::peer
