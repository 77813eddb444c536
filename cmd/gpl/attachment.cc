#include "attachment.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "gpl/client/job_choice.h"
#include "output.h"
#include "run_report.h"
#include "session.h"

namespace gpl::cmd {
namespace {

constexpr int exit_failed = 125;

std::optional<wire::JobSummary> summary_of(client::Session& session, JobId job) {
  wire::JobQuery query;
  query.first = query.last = job;
  query.everyone = true;
  Result<std::vector<wire::JobSummary>> jobs = client::list_jobs(session, {query}, false);
  if (!jobs.ok() || jobs.value().empty()) return std::nullopt;
  return std::move(jobs.value().front());
}

}  // namespace

client::Attachment attachment_of(JobSpec spec, std::string here, const Invocation& invocation,
                                 const ParsedOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  const bool to_err = options.has("json");
  client::Attachment attachment;
  attachment.pass_stdin = spec.pass_stdin;
  attachment.spec = std::move(spec);
  attachment.target_folder = std::move(here);
  attachment.targets.out = to_err ? STDERR_FILENO : STDOUT_FILENO;
  attachment.targets.out_closed = !to_err && (invocation.closed_stdio >> STDOUT_FILENO & 1U) != 0;
  attachment.on_terminal = !options.has("quiet") && ::isatty(STDERR_FILENO) != 0;
  return attachment;
}

int finish_attached(client::Session& session, const JobSpec& spec,
                    const Result<client::PeerReport>& report, const ParsedOptions& options) {
  if (!report.ok()) return complain_of(report.error(), exit_failed);
  if (options.has("json")) {
    const bool ended = report.value().outcome.has_value();
    (void)print(format_run_report(report_of(
        spec, report.value(), ended ? summary_of(session, report.value().job) : std::nullopt)));
  }
  return report.value().exit_status;
}

}  // namespace gpl::cmd
