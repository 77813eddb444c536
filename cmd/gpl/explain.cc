#include "commands.h"
#include "gpl/client/explain_json.h"
#include "job_change.h"
#include "option_table.h"
#include "output.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"everyone", Kind::flag, "", "Options:", "last means the newest job of anyone"},
    {"json", Kind::flag, "", "Options:", "print one object"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(Say why a job waits, and for every peer why or why not it could run there.

  gpl explain 12
  gpl explain last --json | jq -r .verdict

Usage: gpl explain [OPTIONS] JOB

JOB is a number or last. gpl run --explain says it of a job that is not submitted.
)";

int fail(const Error& error) {
  complain("explain: " + error.message);
  return 2;
}

int explain_job(client::Session& session, const ParsedOptions& options) {
  client::JobScope scope;
  scope.everyone = options.has("everyone");
  scope.details = options.has("json");
  Result<client::ChosenJob> job = client::choose_job(session, options.rest.front(), scope);
  if (!job.ok()) return complain_of_answer(job.error(), session);
  Result<wire::Explained> explained =
      session.ask_for<wire::Explained>(wire::AskExplanation{job.value().job.id, {}});
  if (!explained.ok()) return complain_of_answer(explained.error(), session);
  const Explanation& explanation = explained.value().explanation;
  if (!options.has("json")) return print(to_text(explanation));
  const std::optional<JobDescription>& description = job.value().job.description;
  return print(client::explanation_json(explanation,
                                        description ? description->requirement : Requirement()) +
               "\n");
}

}  // namespace

std::span<const OptionRow> explain_options() { return rows; }

int explain_command(const Invocation& invocation) {
  Result<ParsedOptions> options = parse_mixed_options(rows, invocation.args);
  if (!options.ok()) return fail(options.error());
  if (options.value().has("help")) return print(help_head + describe_options(rows));
  if (options.value().rest.size() != 1)
    return fail(Error{Code::invalid, "which job? one number, or last; gpl status lists them"});
  const client::Voice voice(false);
  Result<std::unique_ptr<client::Session>> session = open_session(options.value(), voice);
  if (!session.ok()) return complain_of(session.error(), 125);
  return explain_job(*session.value(), options.value());
}

}  // namespace gpl::cmd
