#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "commands.h"
#include "gpl/client/job_choice.h"
#include "gpl/client/log_reading.h"
#include "option_table.h"
#include "output.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"follow", Kind::flag, "", "Options:", "and what it writes, until it has ended (-f)"},
    {"stdout", Kind::flag, "", "Options:", "only what it wrote to its standard output"},
    {"stderr", Kind::flag, "", "Options:", "only what it wrote to its standard error"},
    {"everyone", Kind::flag, "", "Options:", "last is of everyone's jobs, not of yours"},
    {"quiet", Kind::flag, "", "Options:", "say nothing of gpl's own but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(Print what a job has written, its stdout to stdout and its stderr to stderr.

  gpl logs 12
  gpl logs -f last
  gpl logs 12 --stdout > result.csv

Usage: gpl logs [-f] [OPTIONS] JOB

Of output that nobody followed a very long middle may have been left out; it is told where.
)";

int fail(const Error& error) { return complain_of(Error{error.code, "logs: " + error.message}, 1); }

Result<int> read(const Invocation& invocation, const ParsedOptions& options) {
  const client::Voice voice(options.has("quiet"));
  Result<std::unique_ptr<client::Session>> session = open_session(options, voice);
  if (!session.ok()) return std::move(session).error();
  client::JobScope scope;
  scope.everyone = options.has("everyone");
  Result<client::ChosenJob> chosen =
      client::choose_job(*session.value(), options.rest.front(), scope);
  if (!chosen.ok()) return std::move(chosen).error();
  client::LogWish wish;
  wish.job = chosen.value().job.id;
  wish.task = chosen.value().task;
  wish.follow = options.has("follow");
  if (options.has("stdout")) wish.only = wire::OutputStream::out;
  if (options.has("stderr")) wish.only = wire::OutputStream::err;
  wish.targets.out_closed = (invocation.closed_stdio >> STDOUT_FILENO & 1U) != 0;
  return client::read_log(*session.value(), wish, voice);
}

}  // namespace

std::span<const OptionRow> logs_options() { return rows; }

int logs_command(const Invocation& invocation) {
  std::vector<std::string> words = invocation.args;
  std::replace(words.begin(), words.end(), std::string("-f"), std::string("--follow"));
  Result<ParsedOptions> parsed = parse_mixed_options(rows, std::move(words));
  if (!parsed.ok()) return fail(parsed.error());
  const ParsedOptions& options = parsed.value();
  if (options.has("help")) return print(help_head + describe_options(rows));
  if (options.rest.size() != 1) {
    return fail(Error{Code::invalid, "which job? gpl logs 12, or last"});
  }
  if (options.has("stdout") && options.has("stderr")) {
    return fail(Error{Code::invalid, "--stdout or --stderr, or neither for both"});
  }
  ::signal(SIGPIPE, SIG_IGN);
  Result<int> code = read(invocation, options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace gpl::cmd
