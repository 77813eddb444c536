#include "run_report.h"

#include "gpl/core/job_state.h"
#include "json.h"

namespace gpl::cmd {
namespace {

Json files_json(const std::vector<artifact::Entry>& files) {
  Json list = Json::array();
  for (const artifact::Entry& file : files) list.push_back(file_json(file));
  return list;
}

Json outcome_json(const Outcome& outcome) {
  Json json = {{"kind", name_of(outcome)},
               {"exit_code", nullptr},
               {"signal", nullptr},
               {"message", nullptr}};
  if (const auto* exited = std::get_if<Exited>(&outcome)) json["exit_code"] = exited->code;
  if (const auto* signalled = std::get_if<Signalled>(&outcome)) json["signal"] = signalled->signal;
  if (const auto* failed = std::get_if<FailedToStart>(&outcome)) json["message"] = failed->message;
  if (const auto* lost = std::get_if<Lost>(&outcome)) json["message"] = lost->why;
  return json;
}

}  // namespace

std::string format_run_report(const client::EmbeddedRequest& request,
                              const client::EmbeddedReport& report) {
  const client::Results& results = report.results;
  const Json json = {
      {"schema", 1},
      {"job", report.job.value},
      {"name", request.spec.name.empty() ? Json(nullptr) : Json(request.spec.name)},
      {"command", request.spec.command},
      {"outcome", outcome_json(report.outcome)},
      {"exit_status", report.exit_status},
      {"started_ms", report.started_ms},
      {"ended_ms", report.ended_ms},
      {"user_us", report.usage.user_us},
      {"system_us", report.usage.system_us},
      {"max_rss_bytes", report.usage.max_rss_kib * 1024},
      {"brought_back", files_json(results.brought)},
      {"kept", files_json(results.kept)},
  };
  return to_text(json);
}

}  // namespace gpl::cmd
