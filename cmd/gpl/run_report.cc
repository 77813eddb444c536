#include "run_report.h"

#include "gpl/core/job_state.h"
#include "gpl/host/machine.h"
#include "json.h"
#include "outcome_json.h"

namespace gpl::cmd {
namespace {

Json files_json(const std::vector<artifact::Entry>& files) {
  Json list = Json::array();
  for (const artifact::Entry& file : files) list.push_back(file_json(file));
  return list;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

RunReport report_of(const client::EmbeddedRequest& request, const client::EmbeddedReport& report) {
  RunReport told;
  told.job = report.job;
  told.name = request.spec.name;
  told.command = request.spec.command;
  told.outcome = report.outcome;
  told.exit_status = report.exit_status;
  told.started_ms = report.started_ms;
  told.ended_ms = report.ended_ms;
  told.usage = report.usage;
  told.results = report.results;
  told.peer = host::host_name();
  told.attempt = AttemptId{1};
  return told;
}

RunReport report_of(const JobSpec& spec, const client::PeerReport& report,
                    const std::optional<wire::JobSummary>& summary) {
  RunReport told;
  told.job = report.job;
  told.name = spec.name;
  told.command = spec.command;
  told.outcome = report.outcome;
  told.exit_status = report.exit_status;
  if (summary && summary->started_at) told.started_ms = summary->started_at->since_epoch_ms;
  if (summary && summary->ended_at) told.ended_ms = summary->ended_at->since_epoch_ms;
  told.results = report.results;
  told.peer = report.peer;
  if (report.attempt != AttemptId{}) told.attempt = report.attempt;
  return told;
}

std::string format_run_report(const RunReport& report) {
  const auto& usage = report.usage;
  const Json json = {
      {"schema", 1},
      {"job", report.job.value},
      {"name", text_or_null(report.name)},
      {"command", report.command},
      {"outcome", report.outcome ? outcome_json(*report.outcome) : Json(nullptr)},
      {"exit_status", report.exit_status},
      {"started_ms", or_null(report.started_ms)},
      {"ended_ms", or_null(report.ended_ms)},
      {"user_us", usage ? Json(usage->user_us) : Json(nullptr)},
      {"system_us", usage ? Json(usage->system_us) : Json(nullptr)},
      {"max_rss_bytes", usage ? Json(usage->max_rss_kib * 1024) : Json(nullptr)},
      {"brought_back", files_json(report.results.brought)},
      {"kept", files_json(report.results.kept)},
      {"peer", text_or_null(report.peer)},
      {"attempt", report.attempt ? Json(report.attempt->value) : Json(nullptr)},
  };
  return to_text(json);
}

}  // namespace gpl::cmd
