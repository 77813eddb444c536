#include <algorithm>

#include "commands.h"
#include "get_peer.h"
#include "get_report.h"
#include "gpl/artifact/delivery.h"
#include "gpl/client/cluster.h"
#include "gpl/client/kept_files.h"
#include "gpl/core/job_selector.h"
#include "gpl/host/folders.h"
#include "gpl/posix/file.h"
#include "option_table.h"
#include "output.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"into", Kind::value, "DIR", "Options:", "write below DIR instead of this folder"},
    {"force", Kind::flag, "",
     "Options:", "replace files that were changed here since the run began"},
    {"everyone", Kind::flag, "", "Options:", "last and all are of everyone's jobs, not of yours"},
    {"local", Kind::flag, "", "Options:", "of the runs of this machine that no cluster knew"},
    {"json", Kind::flag, "", "Options:", "print what was written as one object"},
    {"quiet", Kind::flag, "", "Options:", "say nothing but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(Bring back files that a run made and that --out did not name.

  gpl get last
  gpl get 12 'ckpt/*' --into results

Usage: gpl get [OPTIONS] JOB [PATTERN...]

JOB is a number, 1-3,8, last or all: gpl status and gpl history list them. Of several, each one's
files go below a folder with its number.
)";

int fail(const Error& error) { return complain_of(Error{error.code, "get: " + error.message}, 1); }

// What was written of one run; `failed` is set when something was not.
std::vector<artifact::Entry> get_run(const client::KeptRun& run, const std::string& target,
                                     const GetWish& wish, bool& failed) {
  std::vector<artifact::Entry> files;
  for (const artifact::Entry& file : run.files) {
    if (takes(wish, file, target, run.started_ms, failed)) files.push_back(file);
  }
  if (Status made = posix::make_folders(target, 0777); !made.ok()) {
    (void)fail(made.error());
    failed = true;
    return {};
  }
  Result<artifact::Delivered> delivered =
      artifact::deliver(run.files_path, files, target, artifact::Handover::copy);
  if (!delivered.ok()) {
    (void)fail(delivered.error());
    failed = true;
    return {};
  }
  for (const artifact::Undelivered& undelivered : delivered.value().failed) {
    complain("get: " + undelivered.entry.path + ": " + undelivered.reason);
    failed = true;
  }
  return std::move(delivered.value().done);
}

Result<std::vector<client::KeptRun>> select_runs(const JobSelector& selector,
                                                 const host::Folders& folders) {
  Result<host::SpoolFolder> spools = host::SpoolFolder::open(folders.state);
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

int get_runs(const std::vector<client::KeptRun>& runs, const GetWish& wish) {
  bool failed = false;
  std::vector<GotJob> all;
  for (const client::KeptRun& run : runs) {
    const std::string target = target_of(wish, runs.size() > 1, run.job);
    all.push_back({run.job, run.command, get_run(run, target, wish, failed)});
    if (!wish.quiet && !all.back().files.empty()) say_got(all.back());
  }
  return finish_get(wish, all, failed);
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
  const GetWish wish{{options.rest.begin() + 1, options.rest.end()},
                     options.last("into"),
                     options.has("force"),
                     options.has("quiet"),
                     options.has("json")};
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return fail(folders.error());
  const client::Voice voice(wish.quiet);
  Result<std::unique_ptr<client::Session>> session =
      client::find_cluster(cluster_choice(options), folders.value(), voice);
  if (!session.ok()) return fail(session.error());
  if (session.value() != nullptr) {
    return get_from_peer(*session.value(), options.rest.front(), options.has("everyone"), wish);
  }
  Result<std::vector<client::KeptRun>> runs = select_runs(selector.value(), folders.value());
  if (!runs.ok()) return fail(runs.error());
  return get_runs(runs.value(), wish);
}

}  // namespace gpl::cmd
