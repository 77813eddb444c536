#include "gpl/peer/results.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "gpl/peer/staged_attempt.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"
#include "gpl/posix/tree.h"
#include "result_file.h"

namespace gpl::peer {
namespace {

constexpr Duration kept_at_least = seconds(std::int64_t{7} * 24 * 3600);

bool space_is_short(const std::string& folder) {
  struct statvfs status;
  if (::statvfs(folder.c_str(), &status) != 0) return false;
  return status.f_bavail < status.f_blocks / 10;
}

std::uint64_t bytes_of(const std::vector<wire::ResultFile>& files) {
  std::uint64_t bytes = 0;
  for (const wire::ResultFile& file : files) bytes += file.size_bytes;
  return bytes;
}

bool before(const wire::ResultFile& one, const wire::ResultFile& other) {
  return one.path < other.path;
}

bool has_path(const KeptResults& kept, const std::string& path) {
  const auto at = std::lower_bound(
      kept.files.begin(), kept.files.end(), path,
      [](const wire::ResultFile& file, const std::string& wanted) { return file.path < wanted; });
  return at != kept.files.end() && at->path == path;
}

}  // namespace

Results::Results(Pool& pool, std::string attempts_folder, Emptied emptied,
                 std::function<bool()> short_of_space)
    : pool_(pool),
      attempts_folder_(std::move(attempts_folder)),
      emptied_(std::move(emptied)),
      short_of_space_(std::move(short_of_space)),
      removals_(pool) {
  if (!short_of_space_) {
    short_of_space_ = [folder = attempts_folder_] { return space_is_short(folder); };
  }
}

Status Results::restore() {
  const Result<posix::Fd> folder = posix::open_folder(attempts_folder_);
  if (!folder.ok()) {
    return folder.error().code == Code::not_found ? success() : Status(folder.error());
  }
  const Result<std::vector<std::string>> names = posix::names_in(folder.value().get());
  if (!names.ok()) return names.error();
  Status first_failure = success();
  for (const std::string& name : names.value()) {
    const std::optional<Fence> fence = StagedAttempt::fence_of(name);
    Status restored = fence ? restore_one(*fence) : success();
    if (!restored.ok() && first_failure.ok()) first_failure = std::move(restored);
  }
  return first_failure;
}

Status Results::restore_one(const Fence& fence) {
  const Result<StagedAttempt> attempt = StagedAttempt::open(attempts_folder_, fence);
  if (!attempt.ok()) {
    const bool gone = attempt.error().code == Code::not_found;
    return gone ? success() : Status(attempt.error());
  }
  const Result<std::optional<CollectedMark>> mark = attempt.value().collected();
  if (!mark.ok()) return mark.error();
  if (!mark.value()) return success();
  Result<std::vector<wire::ResultFile>> files = attempt.value().files(mark.value()->task);
  if (!files.ok()) return files.error();
  add(mark.value()->job, mark.value()->task, fence, std::move(files).value(), mark.value()->at);
  return success();
}

void Results::add(JobId job, TaskId task, Fence fence, std::vector<wire::ResultFile> files,
                  Instant at) {
  if (files.empty()) {
    drop(job, fence);
    return;
  }
  KeptResults kept;
  kept.task = task;
  kept.fence = fence;
  kept.files = std::move(files);
  std::sort(kept.files.begin(), kept.files.end(), before);
  kept.bytes = bytes_of(kept.files);
  kept.kept_until = at + kept_at_least;
  jobs_[job][fence] = std::move(kept);
}

void Results::drop(JobId job, const Fence& fence) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  found->second.erase(fence);
  if (found->second.empty()) jobs_.erase(found);
}

bool Results::has(JobId job, const Fence& fence) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.count(fence) != 0;
}

std::vector<KeptResults> Results::find(JobId job, std::optional<TaskId> task) const {
  std::vector<KeptResults> found;
  const auto attempts = jobs_.find(job);
  if (attempts == jobs_.end()) return found;
  for (const auto& [fence, kept] : attempts->second) {
    if (!task || kept.task == *task) found.push_back(kept);
  }
  std::stable_sort(
      found.begin(), found.end(),
      [](const KeptResults& one, const KeptResults& other) { return one.task < other.task; });
  return found;
}

ResultUsage Results::usage(JobId job) const {
  ResultUsage usage;
  const auto attempts = jobs_.find(job);
  if (attempts == jobs_.end()) return usage;
  for (const auto& [fence, kept] : attempts->second) {
    usage.files += kept.files.size();
    usage.bytes += kept.bytes;
    if (!usage.kept_until || kept.kept_until < *usage.kept_until)
      usage.kept_until = kept.kept_until;
  }
  return usage;
}

void Results::read(JobId job, TaskId task, const std::string& path, std::uint64_t offset,
                   std::uint32_t size_bytes, Read done) {
  std::optional<Fence> newest;
  if (const auto attempts = jobs_.find(job); attempts != jobs_.end()) {
    for (const auto& [fence, kept] : attempts->second) {
      if (kept.task == task && has_path(kept, path)) newest = fence;
    }
  }
  auto piece = std::make_shared<Result<wire::FilePiece>>(Error{
      Code::not_found,
      "no result '" + path + "' of job " + std::to_string(job.value) + " is kept here (any more)"});
  const std::uint32_t size = std::min(size_bytes, wire::piece_limit_bytes);
  pool_.submit(
      ticket_,
      [piece, newest, path, offset, size, folder = attempts_folder_] {
        if (newest) *piece = read_result(folder, *newest, path, offset, size);
      },
      [piece, done = std::move(done)] { done(std::move(*piece)); });
}

void Results::forget(JobId job, TaskId task, const std::vector<std::string>& paths, Done done) {
  struct Removal {
    Fence fence;
    std::vector<std::string> paths;
    bool all = false;
  };
  struct Work {
    std::vector<Removal> removals;
    Status status = success();
  };
  auto work = std::make_shared<Work>();
  const std::set<std::string> unwanted(paths.begin(), paths.end());
  for (const KeptResults& found : find(job, task)) {
    KeptResults& kept = jobs_[job][found.fence];
    Removal removal{kept.fence, {}, false};
    std::vector<wire::ResultFile> left;
    for (wire::ResultFile& file : kept.files) {
      if (unwanted.count(file.path) != 0) {
        removal.paths.push_back(std::move(file.path));
      } else {
        left.push_back(std::move(file));
      }
    }
    kept.files = std::move(left);
    kept.bytes = bytes_of(kept.files);
    if (removal.paths.empty()) continue;
    removal.all = kept.files.empty();
    if (removal.all) drop(job, removal.fence);
    work->removals.push_back(std::move(removal));
  }
  removals_.submit(
      [work, folder = attempts_folder_] {
        for (const Removal& removal : work->removals) {
          Status removed = remove_results(folder, removal.fence, removal.paths);
          if (!removed.ok() && work->status.ok()) work->status = std::move(removed);
        }
      },
      [this, work, done = std::move(done)] {
        for (const Removal& removal : work->removals) {
          if (removal.all) emptied_(removal.fence);
        }
        if (done) done(std::move(work->status));
      });
}

void Results::sweep(Instant now) {
  struct Old {
    Instant kept_until;
    JobId job;
    Fence fence;
    bool removed = false;
  };
  auto old = std::make_shared<std::vector<Old>>();
  for (const auto& [job, attempts] : jobs_) {
    for (const auto& [fence, kept] : attempts) {
      if (kept.kept_until <= now) old->push_back({kept.kept_until, job, fence, false});
    }
  }
  if (old->empty()) return;
  std::stable_sort(old->begin(), old->end(), [](const Old& one, const Old& other) {
    return one.kept_until < other.kept_until;
  });
  removals_.submit(
      [old, folder = attempts_folder_, is_short = short_of_space_] {
        for (Old& each : *old) {
          if (!is_short()) return;
          const Result<StagedAttempt> attempt = StagedAttempt::open(folder, each.fence);
          each.removed =
              !attempt.ok() || posix::remove_tree_at(attempt.value().folder(), "files").ok();
        }
      },
      [this, old] {
        for (const Old& each : *old) {
          if (!each.removed || !has(each.job, each.fence)) continue;
          drop(each.job, each.fence);
          emptied_(each.fence);
        }
      },
      Pool::Length::lengthy);
}

}  // namespace gpl::peer
