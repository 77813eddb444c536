#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "commands.h"
#include "gpl/artifact/delivery.h"
#include "gpl/client/kept_files.h"
#include "gpl/core/job_selector.h"
#include "gpl/core/size.h"
#include "gpl/host/folders.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "json.h"
#include "option_table.h"
#include "output.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"into", Kind::value, "DIR", "Options:", "write below DIR instead of this folder"},
    {"force", Kind::flag, "",
     "Options:", "replace files that were changed here since the run began"},
    {"json", Kind::flag, "", "Options:", "print what was written as one object"},
    {"quiet", Kind::flag, "", "Options:", "say nothing but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
};

constexpr const char* help_head =
    R"(Bring back files that a run made and that --out did not name.

  gpl get last
  gpl get 12 'ckpt/*' --into results

Usage: gpl get [OPTIONS] JOB [PATTERN...]

JOB is a number, 1-3,8, last or all; gpl history lists them. Of several jobs, each one's
files go below a folder with its number.
)";

int fail(const Error& error) {
  complain("get: " + error.message);
  return error.code == Code::invalid ? 2 : 1;
}

// Changed here after the run had started: bringing back the run's would lose that change.
bool changed_here(const std::string& target, const artifact::Entry& file,
                  const client::KeptRun& run) {
  struct stat status;
  if (::lstat((target + "/" + file.path).c_str(), &status) != 0) return false;
  const std::int64_t mtime_ns = posix::to_ns(status.st_mtim);
  return mtime_ns / 1'000'000 > run.started_ms && mtime_ns != file.mtime_ns;
}

struct Wish {
  std::vector<std::string> patterns;
  bool force = false;
  bool quiet = false;
};

// What was written of one run; `failed` is set when something was not.
std::vector<artifact::Entry> get_run(const client::KeptRun& run, const std::string& target,
                                     const Wish& wish, bool& failed) {
  std::vector<artifact::Entry> files;
  for (const artifact::Entry& file : run.files) {
    if (!wish.patterns.empty() && !client::matches_any(wish.patterns, file.path)) continue;
    if (!wish.force && changed_here(target, file, run)) {
      complain("get: " + file.path + " was changed here since the run began; --force replaces it");
      failed = true;
      continue;
    }
    files.push_back(file);
  }
  if (Status made = posix::make_folders(target, 0777); !made.ok()) {
    fail(made.error());
    failed = true;
    return {};
  }
  Result<artifact::Delivered> delivered =
      artifact::deliver(run.files_path, files, target, artifact::Handover::copy);
  if (!delivered.ok()) {
    fail(delivered.error());
    failed = true;
    return {};
  }
  for (const artifact::Undelivered& undelivered : delivered.value().failed) {
    complain("get: " + undelivered.entry.path + ": " + undelivered.reason);
    failed = true;
  }
  return std::move(delivered.value().done);
}

void say_written(const client::KeptRun& run, const std::vector<artifact::Entry>& files) {
  std::string line =
      "job " + std::to_string(run.job.value) + " (" + printable(shell_words(run.command)) + "): ";
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i == 10) {
      line += ", and " + std::to_string(files.size() - i) + " more";
      break;
    }
    if (i > 0) line += ", ";
    line += printable(files[i].path) + " " + format_file_size(files[i].size_bytes);
  }
  complain(line);
}

Result<std::vector<client::KeptRun>> select_runs(const JobSelector& selector) {
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return std::move(folders).error();
  Result<host::SpoolFolder> spools = host::SpoolFolder::open(folders.value().state);
  if (!spools.ok()) return std::move(spools).error();
  const client::Voice voice(false);
  Result<std::vector<client::KeptRun>> runs = client::kept_runs(spools.value(), &voice);
  if (!runs.ok()) return runs;
  if (runs.value().empty()) return Error{Code::not_found, "no run has files to bring back"};
  const JobId newest = runs.value().back().job;
  std::erase_if(runs.value(),
                [&](const client::KeptRun& run) { return !selector.takes(run.job, newest); });
  if (runs.value().empty()) {
    return Error{Code::not_found,
                 "no such job has files to bring back; gpl history lists those that have"};
  }
  return runs;
}

int get_runs(const std::vector<client::KeptRun>& runs, const std::string& into, const Wish& wish,
             bool as_json) {
  bool failed = false;
  std::size_t written = 0;
  Json jobs = Json::array();
  for (const client::KeptRun& run : runs) {
    std::string target = into.empty() ? "." : into;
    if (runs.size() > 1) target += "/" + std::to_string(run.job.value);
    const std::vector<artifact::Entry> files = get_run(run, target, wish, failed);
    written += files.size();
    if (!wish.quiet && !files.empty()) say_written(run, files);
    Json list = Json::array();
    for (const artifact::Entry& file : files) list.push_back(file_json(file));
    jobs.push_back({{"job", run.job.value}, {"files", std::move(list)}});
  }
  if (written == 0 && !failed) {
    return fail(Error{Code::not_found, "the job kept no file that matches"});
  }
  if (as_json) {
    if (const int code = print(to_text({{"schema", 1}, {"jobs", jobs}})); code != 0) return code;
  }
  return failed ? 1 : 0;
}

}  // namespace

std::span<const OptionRow> get_options() { return rows; }

int get_command(const Invocation& invocation) {
  Result<ParsedOptions> parsed = parse_mixed_options(rows, invocation.args);
  if (!parsed.ok()) return fail(parsed.error());
  const ParsedOptions& options = parsed.value();
  if (options.has("help")) return print(help_head + describe_options(rows));
  if (options.rest.empty()) {
    return fail(Error{Code::invalid, "which job? gpl get last, or a number of gpl history"});
  }
  Result<JobSelector> selector = parse_job_selector(options.rest.front());
  if (!selector.ok()) return fail(selector.error());
  Result<std::vector<client::KeptRun>> runs = select_runs(selector.value());
  if (!runs.ok()) return fail(runs.error());
  const Wish wish{
      {options.rest.begin() + 1, options.rest.end()}, options.has("force"), options.has("quiet")};
  return get_runs(runs.value(), options.last("into"), wish, options.has("json"));
}

}  // namespace gpl::cmd
