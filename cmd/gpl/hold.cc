#include <functional>

#include "commands.h"
#include "job_change.h"
#include "option_table.h"
#include "output.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    everyone_row,
    {"quiet", Kind::flag, "", "Options:", "say nothing but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* hold_help =
    R"(Keep jobs that wait from being started, until gpl release. What runs goes on.

  gpl hold 12
  gpl hold all                      all of yours that have not ended

Usage: gpl hold [OPTIONS] JOB...

JOB is a number, 1-3,8, last or all. A job that is held keeps its place by age.
)";

constexpr const char* release_help =
    R"(Let jobs that were held be started again.

  gpl release 12
  gpl release all

Usage: gpl release [OPTIONS] JOB...

JOB is a number, 1-3,8, last or all.
)";

struct Change {
  std::string name;
  const char* help;
  std::function<wire::Question(JobId)> question;
};

int fail(const Change& change, const Error& error) {
  complain(change.name + ": " + error.message);
  return 2;
}

int change_jobs(const Change& change, const std::vector<std::string>& args) {
  Result<ParsedOptions> options = parse_mixed_options(rows, args);
  if (!options.ok()) return fail(change, options.error());
  if (options.value().has("help")) return print(change.help + describe_options(rows));
  if (options.value().rest.empty())
    return fail(change, {Code::invalid, "which job? a number, last or all; gpl status lists them"});
  const client::Voice voice(options.value().has("quiet"));
  Result<std::unique_ptr<client::Session>> session = open_session(options.value(), voice);
  if (!session.ok()) return complain_of(session.error(), 125);
  client::JobScope scope;
  scope.everyone = options.value().has("everyone");
  scope.active = true;
  scope.may_be_none = true;
  Result<std::vector<client::ChosenJob>> jobs =
      client::choose_jobs(*session.value(), options.value().rest, scope);
  if (!jobs.ok()) return complain_of_answer(jobs.error(), *session.value());
  if (Status whole = require_whole_jobs(change.name, jobs.value()); !whole.ok())
    return fail(change, whole.error());
  return change_each(
      *session.value(), jobs.value(),
      [&](const client::ChosenJob& job) { return change.question(job.job.id); },
      [](const client::ChosenJob&, const wire::Answer&) {});
}

}  // namespace

std::span<const OptionRow> hold_options() { return rows; }
std::span<const OptionRow> release_options() { return rows; }

int hold_command(const Invocation& invocation) {
  return change_jobs({"hold", hold_help, [](JobId job) { return wire::HoldJob{job}; }},
                     invocation.args);
}

int release_command(const Invocation& invocation) {
  return change_jobs({"release", release_help, [](JobId job) { return wire::ReleaseJob{job}; }},
                     invocation.args);
}

}  // namespace gpl::cmd
