#include "gpl/client/kept_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "gpl/artifact/delivery.h"
#include "gpl/artifact/glob.h"
#include "gpl/host/temp_folder.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/tree.h"

namespace gpl::client {
namespace {

constexpr std::int64_t minute_ms = 60'000;
constexpr std::int64_t hour_ms = 60 * minute_ms;
constexpr std::int64_t kept_at_least_ms = 7 * (24 * hour_ms);

std::string_view without_dressing(std::string_view pattern) {
  while (pattern.starts_with("./")) pattern.remove_prefix(2);
  while (pattern.ends_with('/')) pattern.remove_suffix(1);
  return pattern == "." ? std::string_view() : pattern;
}

std::int64_t changed_ms(int folder, const char* name) {
  struct stat status;
  if (::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return posix::to_ns(status.st_mtim) / 1'000'000;
}

bool exists(int folder, const char* name) {
  return ::faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// The gpl of this run was killed, and its guard has ended the job since: nobody has looked at what
// it made. Without a spec the command had not begun.
Status finish_killed(host::Spool& spool) {
  Result<host::Record> spec = spool.read_spec();
  if (!spec.ok()) {
    // A run that has just made its folder and has yet to lock it is none of ours.
    const bool fresh =
        posix::wall_clock().since_epoch_ms - changed_ms(spool.folder(), ".") < minute_ms;
    return fresh ? success() : spool.remove();
  }
  (void)host::TempFolder::remove(std::string(spec.value().get("temp_folder")));
  if (!exists(spool.folder(), "work") && !exists(spool.folder(), "files")) return spool.remove();
  // It had come to an end, and only its exit could not be written: a full disk.
  if (!exists(spool.folder(), "work")) return success();
  Result<std::int64_t> started = spool.spec_changed_ns();
  if (!started.ok()) return std::move(started).error();
  Result<std::vector<artifact::Entry>> made =
      artifact::made_files(spool.work_path(), {started.value(), nullptr});
  if (!made.ok()) return std::move(made).error();
  if (made.value().empty()) return spool.remove();
  if (Status kept = keep_files(spool, made.value()); !kept.ok()) return kept;
  host::Record exit;
  exit.add("outcome", "lost");
  return spool.write_exit(exit, posix::Durability::none);
}

// Nothing for a run that left nothing. Requires that it is over.
std::optional<KeptRun> read_kept(const host::Spool& spool) {
  Result<host::Record> spec = spool.read_spec();
  Result<std::optional<host::Record>> exit = spool.read_exit();
  if (!spec.ok() || !exit.ok()) return std::nullopt;
  Result<std::vector<artifact::Entry>> files =
      artifact::made_files(spool.files_path(), {0, nullptr});
  if (!files.ok() || files.value().empty()) return std::nullopt;
  KeptRun run;
  run.job = spool.job();
  run.command = spec.value().all("argv");
  run.name = spec.value().get("name");
  run.source_folder = spec.value().get("source_folder");
  run.files_path = spool.files_path();
  run.started_ms = spec.value().number("started_ms");
  run.ended_ms = exit.value() ? exit.value()->number("ended_ms") : 0;
  run.outcome = exit.value() ? exit.value()->get("outcome") : "lost";
  run.files = std::move(files).value();
  return run;
}

bool space_is_short(const host::SpoolFolder& spools) {
  struct statvfs status;
  if (::fstatvfs(spools.folder(), &status) != 0) return false;
  return status.f_bavail < status.f_blocks / 10;
}

}  // namespace

bool matches_any(const std::vector<std::string>& patterns, const std::string& path) {
  for (const std::string& pattern : patterns) {
    const std::string_view plain = without_dressing(pattern);
    if (plain.empty()) return true;
    const artifact::Glob glob(plain);
    for (std::size_t end = 0; end != std::string::npos;) {
      end = path.find('/', end + 1);
      if (glob.matches(std::string_view(path).substr(0, end))) return true;
    }
  }
  return false;
}

Status keep_files(host::Spool& spool, const std::vector<artifact::Entry>& files) {
  if (::mkdirat(spool.folder(), "files", 0700) != 0 && errno != EEXIST) {
    return posix::io_error("cannot make the folder " + spool.files_path());
  }
  Result<artifact::Delivered> moved =
      artifact::deliver(spool.work_path(), files, spool.files_path(), artifact::Handover::move);
  if (!moved.ok()) return std::move(moved).error();
  if (!moved.value().failed.empty()) {
    const artifact::Undelivered& first = moved.value().failed.front();
    return Error{Code::io, "cannot keep " + first.entry.path + ", which " + first.reason +
                               "; everything is still in " + spool.work_path()};
  }
  return posix::remove_tree_at(spool.folder(), "work");
}

Result<std::vector<KeptRun>> kept_runs(host::SpoolFolder& spools, const Voice* voice) {
  Result<std::vector<JobId>> jobs = spools.list();
  if (!jobs.ok()) return std::move(jobs).error();
  std::vector<KeptRun> runs;
  for (const JobId job : jobs.value()) {
    Result<host::Spool> spool = spools.open_existing(job);
    if (!spool.ok()) continue;  // it runs, or has gone meanwhile
    if (!exists(spool.value().folder(), "exit")) {
      if (Status finished = finish_killed(spool.value()); !finished.ok()) {
        if (voice != nullptr) voice->complain(finished.error().message);
        continue;
      }
    }
    if (std::optional<KeptRun> run = read_kept(spool.value())) runs.push_back(std::move(*run));
  }
  return runs;
}

void sweep(host::SpoolFolder& spools) {
  constexpr const char* stamp = "swept";
  const std::int64_t at_ms = posix::wall_clock().since_epoch_ms;
  const std::int64_t last_ms = changed_ms(spools.folder(), stamp);
  if (last_ms <= at_ms && at_ms - last_ms < hour_ms) return;
  const posix::Fd touched(
      ::openat(spools.folder(), stamp, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!touched.valid() || ::futimens(touched.get(), nullptr) != 0) return;
  Result<std::vector<KeptRun>> runs = kept_runs(spools);
  if (!runs.ok()) return;  // not this run's business; `gpl get` and `gpl history` say it
  for (const KeptRun& run : runs.value()) {
    if (at_ms - run.ended_ms < kept_at_least_ms || !space_is_short(spools)) continue;
    Result<host::Spool> spool = spools.open_existing(run.job);
    if (spool.ok()) (void)spool.value().remove();
  }
}

}  // namespace gpl::client
