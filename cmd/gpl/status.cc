#include "commands.h"
#include "gpl/client/status_table.h"
#include "gpl/posix/clock.h"
#include "job_change.h"
#include "option_table.h"
#include "output.h"
#include "session.h"
#include "status_json.h"
#include "terminal.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"all", Kind::flag, "", "Options:", "list all jobs, those that ended long ago too"},
    {"everyone", Kind::flag, "",
     "Options:", "with --all, last or all: everyone's jobs, not yours alone"},
    {"json", Kind::flag, "", "Options:", "print one object"},
    {"quiet", Kind::flag, "", "Options:", "print just the jobs' numbers"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(Show the cluster on one screen, or all that is known of some jobs.

  gpl status                        peers, devices, running jobs, the queue, recent ends
  gpl status 12                     one job: why it waits, where it runs, how it ended
  gpl status --all --json | jq '.jobs[] | select(.failed > 0) | .job'

Usage: gpl status [OPTIONS] [JOB...]

JOB is a number, 1-3,8, last or all.
)";

client::Screen screen() { return {posix::wall_clock(), terminal_width()}; }

int print_numbers(const std::vector<wire::JobSummary>& jobs) {
  std::string numbers;
  for (const wire::JobSummary& job : jobs) numbers += std::to_string(job.id.value) + "\n";
  return print(numbers);
}

int show_cluster(client::Session& session, const ParsedOptions& options) {
  Result<wire::ClusterStatus> status = session.ask_for<wire::ClusterStatus>(wire::AskCluster{});
  if (!status.ok()) return complain_of_answer(status.error(), session);
  if (options.has("json")) return print(cluster_json(status.value()));
  if (options.has("quiet")) return print_numbers(status.value().active);
  return print(client::cluster_text(status.value(), screen()));
}

int show_all(client::Session& session, const ParsedOptions& options) {
  wire::JobQuery query;
  query.which = wire::JobQuery::Which::all;
  query.everyone = options.has("everyone");
  Result<std::vector<wire::JobSummary>> jobs = client::list_jobs(session, {query}, false);
  if (!jobs.ok()) return complain_of_answer(jobs.error(), session);
  if (options.has("json")) return print(jobs_json(jobs.value()));
  if (options.has("quiet")) return print_numbers(jobs.value());
  return print(client::jobs_text(jobs.value(), screen()));
}

int show_jobs(client::Session& session, const ParsedOptions& options) {
  client::JobScope scope;
  scope.everyone = options.has("everyone");
  scope.details = !options.has("quiet");
  Result<std::vector<client::ChosenJob>> chosen = client::choose_jobs(session, options.rest, scope);
  if (!chosen.ok()) return complain_of_answer(chosen.error(), session);
  std::vector<wire::JobSummary> jobs;
  for (client::ChosenJob& job : chosen.value()) jobs.push_back(std::move(job.job));
  if (options.has("json")) return print(jobs_json(jobs));
  if (options.has("quiet")) return print_numbers(jobs);
  const Instant now = posix::wall_clock();
  std::string text;
  for (const wire::JobSummary& job : jobs) text += client::job_text(job, now);
  return print(text);
}

}  // namespace

std::span<const OptionRow> status_options() { return rows; }

int status_command(const Invocation& invocation) {
  Result<ParsedOptions> parsed = parse_mixed_options(rows, invocation.args);
  if (!parsed.ok()) {
    complain("status: " + parsed.error().message);
    return 2;
  }
  const ParsedOptions& options = parsed.value();
  if (options.has("help")) return print(help_head + describe_options(rows));
  if (options.has("all") && !options.rest.empty()) {
    complain("status: either --all or jobs: " + shell_words(options.rest));
    return 2;
  }
  const client::Voice voice(options.has("quiet"));
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return complain_of(folders.error(), 125);
  Result<std::unique_ptr<client::Session>> session =
      client::find_cluster(cluster_choice(options), folders.value(), voice);
  if (!session.ok()) return complain_of(session.error(), 125);
  if (session.value() == nullptr) {
    complain(
        "no peer runs here, and this machine is in no cluster: gpl worker --detach starts one");
    return 1;
  }
  if (!options.rest.empty()) return show_jobs(*session.value(), options);
  return options.has("all") ? show_all(*session.value(), options)
                            : show_cluster(*session.value(), options);
}

}  // namespace gpl::cmd
