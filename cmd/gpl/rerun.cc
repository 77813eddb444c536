#include <sys/random.h>

#include "commands.h"
#include "gpl/posix/error.h"
#include "job_change.h"
#include "json.h"
#include "option_table.h"
#include "output.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    everyone_row,
    {"json", Kind::flag, "", "Options:", "print one object"},
    {"quiet", Kind::flag, "", "Options:", "say nothing but the new numbers and errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(Submit jobs again as they were, on the files that they had, and print the new numbers.

  gpl rerun 12
  gpl wait $(gpl rerun last)

Usage: gpl rerun [OPTIONS] JOB...

JOB is a number, 1-3,8, last or all. A job that had secrets cannot be run again: they are
gone with it.
)";

int fail(const Error& error) {
  complain("rerun: " + error.message);
  return 2;
}

/// A number for each job, so that a question that is asked twice makes one job.
Result<std::vector<RequestId>> draw_request_ids(std::size_t count) {
  std::vector<RequestId> ids(count);
  for (RequestId& id : ids) {
    std::uint64_t drawn[2];
    if (::getrandom(drawn, sizeof drawn, 0) != static_cast<ssize_t>(sizeof drawn))
      return posix::io_error("cannot draw a random number");
    id = {drawn[0], drawn[1]};
  }
  return ids;
}

int rerun(client::Session& session, const ParsedOptions& options) {
  client::JobScope scope;
  scope.everyone = options.has("everyone");
  Result<std::vector<client::ChosenJob>> jobs = client::choose_jobs(session, options.rest, scope);
  if (!jobs.ok()) return complain_of_answer(jobs.error(), session);
  if (Status whole = require_whole_jobs("rerun", jobs.value()); !whole.ok())
    return fail(whole.error());
  Result<std::vector<RequestId>> ids = draw_request_ids(jobs.value().size());
  if (!ids.ok()) return complain_of(ids.error(), 125);
  std::size_t next = 0;
  std::string numbers;
  Json made = Json::array();
  const int code = change_each(
      session, jobs.value(),
      [&](const client::ChosenJob& job) {
        return wire::RerunJob{ids.value()[next++], job.job.id};
      },
      [&](const client::ChosenJob& job, const wire::Answer& answer) {
        const auto* submitted = std::get_if<wire::Submitted>(&answer);
        if (submitted == nullptr) return;
        numbers += std::to_string(submitted->job.value) + "\n";
        made.push_back({{"job", submitted->job.value}, {"rerun_of", job.job.id.value}});
      });
  const int shown =
      print(options.has("json") ? to_text({{"schema", 1}, {"jobs", std::move(made)}}) : numbers);
  return shown != 0 ? shown : code;
}

}  // namespace

std::span<const OptionRow> rerun_options() { return rows; }

int rerun_command(const Invocation& invocation) {
  Result<ParsedOptions> options = parse_mixed_options(rows, invocation.args);
  if (!options.ok()) return fail(options.error());
  if (options.value().has("help")) return print(help_head + describe_options(rows));
  if (options.value().rest.empty())
    return fail(Error{Code::invalid, "which job? a number, last or all; gpl status lists them"});
  const client::Voice voice(options.value().has("quiet"));
  Result<std::unique_ptr<client::Session>> session = open_session(options.value(), voice);
  if (!session.ok()) return complain_of(session.error(), 125);
  return rerun(*session.value(), options.value());
}

}  // namespace gpl::cmd
