#include <csignal>

#include "commands.h"
#include "gpl/client/submission.h"
#include "job_request.h"
#include "json.h"
#include "option_table.h"
#include "output.h"
#include "run_options.h"
#include "session.h"

namespace gpl::cmd {

namespace {

constexpr int exit_failed = 125;

constexpr const char* help_head =
    R"(Queue a command with the files of this folder, and print the number of its job.

  gpl submit --gpus 1 -- python train.py
  gpl submit --after 12 --retries 2 -- ./evaluate.sh
  job=$(gpl submit -- make) && gpl wait "$job"

Usage: gpl submit [OPTIONS] -- COMMAND [ARG...]
       gpl submit [OPTIONS] JOB.toml
)";
constexpr const char* help_tail =
    R"(
It returns once the job and its files are safe. gpl status, logs, wait, attach, cancel and
get take the number. Exit: 0; 125 when the job was refused, or no peer answers; 2 usage.
)";

Result<JobId> submit(JobRequest& asked, const client::Voice& voice) {
  if (asked.spec.pass_stdin) {
    return Error{Code::invalid, "submit: nobody passes standard input on: gpl run --stdin does"};
  }
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return std::move(folders).error();
  Result<host::Configuration> configuration =
      host::read_configuration(folders.value().configuration + "/gpl.toml");
  if (!configuration.ok()) return std::move(configuration).error();
  Result<std::string> here = current_folder();
  if (!here.ok()) return std::move(here).error();
  Result<client::SubmissionRequest> request =
      submission_of(asked, folders.value(), configuration.value(), here.value());
  if (!request.ok()) return std::move(request).error();
  Result<std::unique_ptr<client::Session>> session =
      client::need_cluster(cluster_choice(asked.options), folders.value(), voice);
  if (!session.ok()) return std::move(session).error();
  Result<client::Submission> submission =
      client::Submission::begin(*session.value(), std::move(request).value(), voice);
  if (!submission.ok()) return std::move(submission).error();
  return client::submit_detached(*session.value(), submission.value(), voice);
}

}  // namespace

int submit_command(const Invocation& invocation) {
  Result<JobRequest> asked = parse_job_request("submit", submit_options(), invocation.args);
  if (!asked.ok()) return complain_of(asked.error(), exit_failed);
  const ParsedOptions& options = asked.value().options;
  if (options.has("help")) {
    return print(help_head + describe_options(submit_options()) + help_tail);
  }
  const client::Voice voice(options.has("quiet"));
  Result<JobId> job = submit(asked.value(), voice);
  if (!job.ok()) return complain_of(job.error(), exit_failed);
  if (options.has("json")) {
    return print(to_text({{"schema", 1}, {"job", job.value().value}}), exit_failed);
  }
  return print(std::to_string(job.value().value) + "\n", exit_failed);
}

}  // namespace gpl::cmd
