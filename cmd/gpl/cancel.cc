#include "commands.h"
#include "gpl/client/job_wait.h"
#include "gpl/client/job_words.h"
#include "job_change.h"
#include "option_table.h"
#include "output.h"
#include "patience.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"wait", Kind::flag, "", "Options:", "return once they have ended"},
    everyone_row,
    {"quiet", Kind::flag, "", "Options:", "say nothing but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(Cancel jobs: those that wait never run, those that run are told to end.

  gpl cancel 12
  gpl cancel --wait last
  gpl cancel all                    all of yours that have not ended

Usage: gpl cancel [OPTIONS] JOB...

JOB is a number, 1-3,8, last or all. A job gets SIGTERM, and SIGKILL 10 seconds later.
)";

int fail(const Error& error) {
  complain("cancel: " + error.message);
  return 2;
}

int cancel(client::Session& session, const ParsedOptions& options, const client::Voice& voice) {
  client::JobScope scope;
  scope.everyone = options.has("everyone");
  scope.active = true;
  scope.may_be_none = true;
  Result<std::vector<client::ChosenJob>> jobs = client::choose_jobs(session, options.rest, scope);
  if (!jobs.ok()) return complain_of_answer(jobs.error(), session);
  const bool wait = options.has("wait");
  if (wait) {
    if (Status whole = require_whole_jobs("--wait", jobs.value()); !whole.ok())
      return fail(whole.error());
  }
  std::vector<JobId> cancelled;
  const auto question = [](const client::ChosenJob& job) -> wire::Question {
    wire::CancelJob asked{job.job.id, std::nullopt};
    if (job.task) asked.tasks = TaskRange{*job.task, *job.task};
    return asked;
  };
  const int code = change_each(
      session, jobs.value(), question, [&](const client::ChosenJob& job, const wire::Answer&) {
        if (!job.job.ended_at) return cancelled.push_back(job.job.id);
        voice.say("job " + std::to_string(job.job.id.value) + " had ended before" +
                  (job.job.outcome ? ": " + client::outcome_words(*job.job.outcome) : ""));
      });
  if (!wait || cancelled.empty() || code == 125) return code;
  const Patience patience(session, voice,
                          "waiting for them to end (Ctrl-C: they end all the same)");
  const auto ended = client::wait_for(session, cancelled, std::nullopt);
  if (!ended.ok()) return complain_of_answer(ended.error(), session);
  return code;
}

}  // namespace

std::span<const OptionRow> cancel_options() { return rows; }

int cancel_command(const Invocation& invocation) {
  Result<ParsedOptions> options = parse_mixed_options(rows, invocation.args);
  if (!options.ok()) return fail(options.error());
  if (options.value().has("help")) return print(help_head + describe_options(rows));
  if (options.value().rest.empty())
    return fail(Error{Code::invalid, "which job? a number, last or all; gpl status lists them"});
  const client::Voice voice(options.value().has("quiet"));
  Result<std::unique_ptr<client::Session>> session = open_session(options.value(), voice);
  if (!session.ok()) return complain_of(session.error(), 125);
  return cancel(*session.value(), options.value(), voice);
}

}  // namespace gpl::cmd
