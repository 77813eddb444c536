#include <unistd.h>

#include <cstdio>

#include "attachment.h"
#include "commands.h"
#include "gpl/client/cluster.h"
#include "gpl/client/embedded_placement.h"
#include "gpl/client/embedded_run.h"
#include "gpl/client/explain_json.h"
#include "gpl/client/submission.h"
#include "job_request.h"
#include "option_table.h"
#include "output.h"
#include "run_options.h"
#include "run_report.h"
#include "session.h"

namespace gpl::cmd {
namespace {

constexpr int exit_failed = 125;

constexpr const char* help_head =
    R"(Run a command in a private copy of this folder, wait for it, stream its output.

  gpl run -- python train.py --lr 0.1
  gpl run --out 'out/*.mp4' --time-limit 2h -- bash transcode.sh
  tar c in | gpl run --stdin -- tar tv
  gpl run job.toml

Usage: gpl run [OPTIONS] -- COMMAND [ARG...]
       gpl run [OPTIONS] JOB.toml
)";
constexpr const char* help_tail =
    R"(
Exit: the command's own code; 128+N when signal N ended it; 124 time limit, 125 gpl
itself failed, 126 not executable, 127 not found, 130 interrupted; 2 usage.
)";

// What this process knows besides what it was asked.
struct Surroundings {
  host::Folders folders;
  host::Configuration configuration;
  std::string here;
};

Result<Surroundings> look_around() {
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return std::move(folders).error();
  Result<host::Configuration> configuration =
      host::read_configuration(folders.value().configuration + "/gpl.toml");
  if (!configuration.ok()) return std::move(configuration).error();
  Result<std::string> here = current_folder();
  if (!here.ok()) return std::move(here).error();
  return Surroundings{std::move(folders).value(), std::move(configuration).value(),
                      std::move(here).value()};
}

// Shows where the job would run: 0 it fits now, 1 it does not.
int show(const Result<Explanation>& explanation, const JobRequest& asked) {
  if (!explanation.ok()) {
    (void)complain_of(explanation.error(), exit_failed);
    return exit_failed;
  }
  const int shown = print(asked.options.has("json")
                              ? client::explanation_json(explanation.value(), asked.requirement)
                              : to_text(explanation.value()));
  if (shown != 0) return shown;
  return explanation.value().verdict == Verdict::fits ? 0 : 1;
}

Result<Explanation> ask_explanation(client::Session& session, const Requirement& requirement) {
  Result<wire::Explained> explained =
      session.ask_for<wire::Explained>(wire::AskExplanation{std::nullopt, requirement});
  if (!explained.ok()) return std::move(explained).error();
  return std::move(explained.value().explanation);
}

int run_with_peer(client::Session& session, JobRequest& asked, Surroundings& around,
                  const Invocation& invocation, const client::Voice& voice) {
  if (asked.options.has("explain")) {
    return show(ask_explanation(session, asked.requirement), asked);
  }
  Result<client::SubmissionRequest> request =
      submission_of(asked, around.folders, around.configuration, around.here);
  if (!request.ok()) return complain_of(request.error(), exit_failed);
  const client::Attachment attachment =
      attachment_of(asked.spec, around.here, invocation, asked.options);
  Result<client::Submission> submission =
      client::Submission::begin(session, std::move(request).value(), voice);
  if (!submission.ok()) return complain_of(submission.error(), exit_failed);
  const Result<client::PeerReport> report =
      client::run_on_peer(session, submission.value(), attachment, voice);
  return finish_attached(session, asked.spec, report, asked.options);
}

Result<client::EmbeddedRequest> embedded_request(JobRequest& asked, Surroundings& around,
                                                 const Invocation& invocation) {
  if (const std::string option = client::needing_cluster(asked.terms); !option.empty()) {
    return Error{Code::invalid,
                 "run: " + option + " needs a cluster: gpl worker --detach makes this machine one"};
  }
  Result<std::vector<wire::Secret>> secrets = read_secrets(asked.terms);
  if (!secrets.ok()) return Error{secrets.error().code, "run: " + secrets.error().message};
  client::EmbeddedRequest request;
  request.spec = std::move(asked.spec);
  // They go no further than into the environment of the command.
  for (wire::Secret& secret : secrets.value()) {
    request.spec.env.push_back({std::move(secret.name), std::move(secret.value)});
  }
  request.requirement = asked.requirement;
  request.configuration = std::move(around.configuration);
  request.folders = std::move(around.folders);
  request.source = std::move(around.here);
  request.data = asked.terms.data;
  request.stdout_closed = (invocation.closed_stdio >> STDOUT_FILENO & 1U) != 0;
  request.stdout_to_err = asked.options.has("json");
  return request;
}

int run_embedded(JobRequest& asked, Surroundings& around, const Invocation& invocation,
                 const client::Voice& voice) {
  Result<client::EmbeddedRequest> request = embedded_request(asked, around, invocation);
  if (!request.ok()) return complain_of(request.error(), exit_failed);
  if (asked.options.has("explain")) {
    return show(client::explain_here(request.value().requirement, request.value().configuration),
                asked);
  }
  Result<client::EmbeddedReport> report = client::run_embedded(request.value(), voice);
  if (!report.ok()) {
    (void)complain_of(report.error(), exit_failed);
    return exit_failed;
  }
  if (asked.options.has("json")) {
    (void)print(format_run_report(report_of(request.value(), report.value())));
  }
  return report.value().exit_status;
}

}  // namespace

int run_command(const Invocation& invocation) {
  Result<JobRequest> asked = parse_job_request("run", run_options(), invocation.args);
  if (!asked.ok()) return complain_of(asked.error(), exit_failed);
  if (asked.value().options.has("help")) {
    return print(help_head + describe_options(run_options()) + help_tail);
  }
  Result<Surroundings> around = look_around();
  if (!around.ok()) return complain_of(around.error(), exit_failed);
  const client::Voice voice(asked.value().options.has("quiet"));
  Result<std::unique_ptr<client::Session>> session =
      client::find_cluster(cluster_choice(asked.value().options), around.value().folders, voice);
  if (!session.ok()) return complain_of(session.error(), exit_failed);
  if (session.value() == nullptr) {
    return run_embedded(asked.value(), around.value(), invocation, voice);
  }
  return run_with_peer(*session.value(), asked.value(), around.value(), invocation, voice);
}

}  // namespace gpl::cmd
