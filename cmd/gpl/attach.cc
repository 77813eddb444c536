#include "attachment.h"
#include "commands.h"
#include "gpl/client/job_choice.h"
#include "option_table.h"
#include "output.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr int exit_failed = 125;

constexpr OptionRow rows[] = {
    {"everyone", Kind::flag, "", "Options:", "last is of everyone's jobs, not of yours"},
    {"json", Kind::flag, "",
     "Options:", "one object on stdout at the end; the job's stdout goes to stderr"},
    {"quiet", Kind::flag, "", "Options:", "say nothing of gpl's own but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(Take up a job as if gpl run had begun it here: its output from the start, then its results.

  gpl attach 12
  gpl attach last --json

Usage: gpl attach [OPTIONS] JOB

Signals go to the job: Ctrl-C interrupts it, twice cancels it. SIGHUP leaves it alone.
)";
constexpr const char* help_tail =
    R"(
Exit: as gpl run: the command's own code, 128+N, 124 to 127, 130; 2 usage.
)";

int fail(const Error& error) {
  return complain_of(Error{error.code, "attach: " + error.message}, exit_failed);
}

}  // namespace

std::span<const OptionRow> attach_options() { return rows; }

int attach_command(const Invocation& invocation) {
  Result<ParsedOptions> parsed = parse_mixed_options(rows, invocation.args);
  if (!parsed.ok()) return fail(parsed.error());
  const ParsedOptions& options = parsed.value();
  if (options.has("help")) return print(help_head + describe_options(rows) + help_tail);
  if (options.rest.size() != 1) {
    return fail(Error{Code::invalid, "which job? gpl attach 12, or last"});
  }
  Result<std::string> here = current_folder();
  if (!here.ok()) return fail(here.error());
  const client::Voice voice(options.has("quiet"));
  Result<std::unique_ptr<client::Session>> session = open_session(options, voice);
  if (!session.ok()) return fail(session.error());
  client::JobScope scope;
  scope.everyone = options.has("everyone");
  scope.details = true;
  Result<client::ChosenJob> chosen =
      client::choose_job(*session.value(), options.rest.front(), scope);
  if (!chosen.ok()) return fail(chosen.error());
  const wire::JobSummary& job = chosen.value().job;
  JobSpec spec = job.description ? job.description->spec : JobSpec();
  client::Attachment attachment = attachment_of(spec, std::move(here).value(), invocation, options);
  attachment.pass_stdin = false;  // who began it has the input
  const Result<client::PeerReport> report =
      client::attach_to(*session.value(), job.id, attachment, voice);
  return finish_attached(*session.value(), spec, report, options);
}

}  // namespace gpl::cmd
