#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/client/embedded_run.h"
#include "gpl/client/peer_run.h"
#include "gpl/wire/client_message.h"

namespace gpl::cmd {

/// What `gpl run --json` and `gpl attach --json` tell of a run, by whomever it was run.
struct RunReport {
  JobId job;
  std::string name;
  std::vector<std::string> command;
  std::optional<Outcome> outcome;  ///< nothing: gpl left before the end
  int exit_status = 0;
  std::optional<std::int64_t> started_ms;  ///< since the epoch
  std::optional<std::int64_t> ended_ms;
  std::optional<host::FirstProcessEnded> usage;  ///< not known of another machine's
  client::Results results;
  std::string peer;  ///< where it ran; "": nowhere
  std::optional<AttemptId> attempt;
};

RunReport report_of(const client::EmbeddedRequest& request, const client::EmbeddedReport& report);
/// `summary`: the job's, once it has ended; nothing: not known.
RunReport report_of(const JobSpec& spec, const client::PeerReport& report,
                    const std::optional<wire::JobSummary>& summary);

/// The object, as gpl-run(1) documents it, with a newline.
std::string format_run_report(const RunReport& report);

}  // namespace gpl::cmd
