#include <algorithm>

#include "commands.h"
#include "gpl/client/job_choice.h"
#include "gpl/client/job_wait.h"
#include "option_table.h"
#include "outcome_json.h"
#include "output.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr int exit_failed = 125;

constexpr OptionRow rows[] = {
    {"timeout", Kind::value, "DUR",
     "Options:", "wait no longer than 90s, 10m, 1h30m; the jobs go on, exit 1"},
    {"everyone", Kind::flag, "", "Options:", "last and all are of everyone's jobs, not of yours"},
    {"json", Kind::flag, "", "Options:", "print one object: how each of them ended"},
    {"quiet", Kind::flag, "", "Options:", "say nothing but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(Wait until jobs have ended.

  gpl wait 12
  gpl wait 1-3,8 && echo all went well
  gpl wait all --timeout 1h

Usage: gpl wait [OPTIONS] JOB...

all is those of yours that have not ended yet.
)";
constexpr const char* help_tail =
    R"(
Exit: the job's own code, as of gpl run; of several jobs, that of the failing one of lowest
number; 1 when --timeout came first; 125 when no peer answers or there is no such job.
)";

int fail(const Error& error) {
  return complain_of(Error{error.code, "wait: " + error.message}, exit_failed);
}

Json to_json(const std::vector<JobId>& jobs, const std::map<JobId, Outcome>& outcomes) {
  Json list = Json::array();
  for (const JobId job : jobs) {
    const auto found = outcomes.find(job);
    const bool ended = found != outcomes.end();
    list.push_back(
        {{"job", job.value},
         {"outcome", ended ? outcome_json(found->second) : Json(nullptr)},
         {"exit_status", ended ? Json(gpl::exit_status(found->second)) : Json(nullptr)}});
  }
  return {{"schema", 1}, {"jobs", std::move(list)}};
}

// The jobs meant, and how those ended that did in time.
struct Waited {
  std::vector<JobId> jobs;
  std::map<JobId, Outcome> outcomes;
};

Result<Waited> wait_for_words(const ParsedOptions& options, std::optional<Duration> at_most) {
  const client::Voice voice(options.has("quiet"));
  Result<std::unique_ptr<client::Session>> session = open_session(options, voice);
  if (!session.ok()) return std::move(session).error();
  client::JobScope scope;
  scope.everyone = options.has("everyone");
  scope.active = true;
  scope.may_be_none = true;
  Result<std::vector<client::ChosenJob>> chosen =
      client::choose_jobs(*session.value(), options.rest, scope);
  if (!chosen.ok()) return std::move(chosen).error();
  Waited waited;
  for (const client::ChosenJob& job : chosen.value()) {
    if (job.task) {
      return Error{Code::invalid, "a single task cannot be waited for yet: name its job, " +
                                      std::to_string(job.job.id.value)};
    }
    waited.jobs.push_back(job.job.id);
  }
  Result<std::map<JobId, Outcome>> outcomes =
      client::wait_for(*session.value(), waited.jobs, at_most);
  if (!outcomes.ok()) return std::move(outcomes).error();
  waited.outcomes = std::move(outcomes).value();
  return waited;
}

}  // namespace

std::span<const OptionRow> wait_options() { return rows; }

int wait_command(const Invocation& invocation) {
  Result<ParsedOptions> parsed = parse_mixed_options(rows, invocation.args);
  if (!parsed.ok()) return fail(parsed.error());
  const ParsedOptions& options = parsed.value();
  if (options.has("help")) return print(help_head + describe_options(rows) + help_tail);
  if (options.rest.empty()) {
    return fail(Error{Code::invalid, "which job? gpl wait 12, 1-3,8, last or all"});
  }
  std::optional<Duration> at_most;
  if (options.has("timeout")) {
    Result<Duration> limit = parse_duration(options.last("timeout"));
    if (!limit.ok()) {
      return fail(Error{limit.error().code, "--timeout: " + limit.error().message});
    }
    at_most = limit.value();
  }
  Result<Waited> waited = wait_for_words(options, at_most);
  if (!waited.ok()) return fail(waited.error());
  const auto& [jobs, outcomes] = waited.value();
  if (options.has("json")) {
    if (const int code = print(to_text(to_json(jobs, outcomes)), exit_failed); code != 0) {
      return code;
    }
  }
  if (outcomes.size() == jobs.size()) return client::exit_status(outcomes);
  const std::size_t left = jobs.size() - outcomes.size();
  complain("wait: " + format_duration(*at_most) + " have passed, and " +
           (jobs.size() == 1 ? "it has" : std::to_string(left) + (left == 1 ? " has" : " have")) +
           " not ended");
  return 1;
}

}  // namespace gpl::cmd
