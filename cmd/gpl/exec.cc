#include <unistd.h>

#include <csignal>

#include "commands.h"
#include "gpl/client/exec_run.h"
#include "gpl/client/job_choice.h"
#include "option_table.h"
#include "output.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr int exit_usage = 2;
constexpr int exit_failed = 125;

constexpr OptionRow rows[] = {
    {"everyone", Kind::flag, "", "Options:", "last means the newest job of anyone"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(Run a command inside a job that runs: in its folder, with its environment and devices.

  gpl exec 12 nvidia-smi
  gpl exec last -- sh -c 'tail -n 3 *.log'

Usage: gpl exec [OPTIONS] JOB[.TASK] [--] COMMAND [ARG...]

JOB is a number or last. The command's standard input is empty; it ends with the job.
)";
constexpr const char* help_tail =
    R"(
Exit: the command's own code; 128+N when signal N ended it; 125 gpl itself failed, 126 not
executable, 127 not found; 2 usage.
)";

int fail(const Error& error) {
  complain("exec: " + error.message);
  return exit_usage;
}

/// The words of `gpl exec`, whose command is nobody's to take apart.
struct Asked {
  ParsedOptions options;
  std::string job;
  std::vector<std::string> command;
};

Result<Asked> parse(const std::vector<std::string>& args) {
  Asked asked;
  auto job = args.begin();
  while (job != args.end() && job->starts_with('-') && *job != "--") {
    // The one option whose value is a word of its own.
    if (*job == "--peers" && job + 1 != args.end()) ++job;
    ++job;
  }
  Result<ParsedOptions> options = parse_options(rows, {args.begin(), job});
  if (!options.ok()) return std::move(options).error();
  asked.options = std::move(options).value();
  if (asked.options.has("help")) return asked;
  if (job != args.end() && *job == "--") ++job;
  if (job == args.end())
    return Error{Code::invalid, "in which job? gpl exec 12 -- COMMAND; gpl status lists them"};
  asked.job = *job++;
  if (job != args.end() && *job == "--") ++job;
  asked.command.assign(job, args.end());
  if (asked.command.empty())
    return Error{Code::invalid, "no command: gpl exec " + shell_words({asked.job}) + " -- COMMAND"};
  return asked;
}

int exec_in(client::Session& session, const Asked& asked, const client::OutputTargets& targets,
            const client::Voice& voice) {
  client::JobScope scope;
  scope.everyone = asked.options.has("everyone");
  Result<client::ChosenJob> job = client::choose_job(session, asked.job, scope);
  if (!job.ok()) return complain_of(job.error(), exit_failed);
  session.set_job(job.value().job.id);
  Result<int> code = client::exec_in_task(
      session, {job.value().job.id, job.value().task, asked.command}, targets, voice);
  return code.ok() ? code.value() : complain_of(code.error(), exit_failed);
}

}  // namespace

std::span<const OptionRow> exec_options() { return rows; }

int exec_command(const Invocation& invocation) {
  Result<Asked> asked = parse(invocation.args);
  if (!asked.ok()) return fail(asked.error());
  if (asked.value().options.has("help"))
    return print(help_head + describe_options(rows) + help_tail);
  ::signal(SIGPIPE, SIG_IGN);
  const client::Voice voice(false);
  Result<std::unique_ptr<client::Session>> session = open_session(asked.value().options, voice);
  if (!session.ok()) return complain_of(session.error(), exit_failed);
  client::OutputTargets targets;
  targets.out_closed = (invocation.closed_stdio >> STDOUT_FILENO & 1U) != 0;
  return exec_in(*session.value(), asked.value(), targets, voice);
}

}  // namespace gpl::cmd
