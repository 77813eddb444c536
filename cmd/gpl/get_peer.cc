#include "get_peer.h"

#include <unistd.h>

#include "fetch_line.h"
#include "gpl/client/fetch.h"
#include "gpl/client/job_choice.h"
#include "gpl/posix/file.h"
#include "output.h"
#include "session.h"

namespace gpl::cmd {
namespace {

int fail(const Error& error) { return complain_of(Error{error.code, "get: " + error.message}, 1); }

// The jobs meant that have ended. One that was named and runs is an error.
Result<std::vector<wire::JobSummary>> choose(client::Session& session, const std::string& selector,
                                             bool everyone) {
  client::JobScope scope;
  scope.everyone = everyone;
  Result<std::vector<client::ChosenJob>> chosen = client::choose_jobs(session, {selector}, scope);
  if (!chosen.ok()) return std::move(chosen).error();
  std::vector<wire::JobSummary> ended;
  for (client::ChosenJob& job : chosen.value()) {
    if (job.job.state == "ended") {
      ended.push_back(std::move(job.job));
    } else if (selector != "all") {
      const std::string number = std::to_string(job.job.id.value);
      std::string words = "job " + number;
      words += " has not ended: gpl wait " + number + " waits for it";
      return Error{Code::busy, std::move(words)};
    }
  }
  return ended;
}

Result<GotJob> get_job(client::Session& session, const wire::JobSummary& job,
                       const std::string& target, const GetWish& wish, bool& failed) {
  GotJob got{job.id, job.command, {}};
  Result<wire::Results> results = client::ask_results(session, job.id);
  if (!results.ok()) return std::move(results).error();
  const std::int64_t began_ms = job.started_at.value_or(job.submitted_at).since_epoch_ms;
  std::vector<wire::ResultFile> wanted;
  for (const wire::ResultFile& file : results.value().files) {
    if (file.is_folder) continue;
    if (takes(wish, client::entry_of(file), target, began_ms, failed)) wanted.push_back(file);
  }
  if (wanted.empty()) return got;
  if (Status made = posix::make_folders(target, 0777); !made.ok()) return std::move(made).error();
  FetchLine line(!wish.quiet && ::isatty(STDERR_FILENO) != 0);
  Result<artifact::Delivered> here = client::fetch_files(
      session, job.id, wanted, target, [&](const wire::ResultFile& file, std::uint64_t bytes) {
        line.show(file.path, bytes, file.size_bytes);
      });
  line.clear();
  if (!here.ok()) return std::move(here).error();
  for (const artifact::Undelivered& undelivered : here.value().failed) {
    complain("get: " + undelivered.entry.path + ": " + undelivered.reason);
    failed = true;
  }
  got.files = std::move(here.value().done);
  Status forgotten = client::forget_files(session, job.id, wanted, got.files);
  if (!forgotten.ok()) return std::move(forgotten).error();
  return got;
}

}  // namespace

int get_from_peer(client::Session& session, const std::string& selector, bool everyone,
                  const GetWish& wish) {
  Result<std::vector<wire::JobSummary>> jobs = choose(session, selector, everyone);
  if (!jobs.ok()) return fail(jobs.error());
  bool failed = false;
  std::vector<GotJob> all;
  for (const wire::JobSummary& job : jobs.value()) {
    const std::string target = target_of(wish, jobs.value().size() > 1, job.id);
    Result<GotJob> got = get_job(session, job, target, wish, failed);
    if (!got.ok()) {
      (void)fail(got.error());
      failed = true;
      continue;
    }
    if (!wish.quiet && !got.value().files.empty()) say_got(got.value());
    all.push_back(std::move(got).value());
  }
  return finish_get(wish, all, failed);
}

}  // namespace gpl::cmd
