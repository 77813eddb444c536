#include "status_json.h"

#include <optional>

#include "gpl/client/explain_json.h"
#include "gpl/core/hex.h"
#include "gpl/core/job_state.h"
#include "json.h"
#include "outcome_json.h"

namespace gpl::cmd {
namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json time_or_null(const std::optional<Instant>& at) {
  return at ? Json(at->since_epoch_ms) : Json(nullptr);
}

/// With the signal that ended a job which was told to end.
Json end_json(const Outcome& outcome) {
  Json json = outcome_json(outcome);
  const auto* timed_out = std::get_if<TimedOut>(&outcome);
  const auto* cancelled = std::get_if<Cancelled>(&outcome);
  const int signal = timed_out != nullptr   ? timed_out->signal
                     : cancelled != nullptr ? cancelled->signal
                                            : 0;
  if (signal != 0) json["signal"] = signal;
  return json;
}

std::string_view name_of(OnLoss on_loss) {
  switch (on_loss) {
    case OnLoss::wait:
      return "wait";
    case OnLoss::retry:
      return "retry";
    case OnLoss::fail:
      return "fail";
  }
  return "";
}

std::string_view name_of(After after) {
  switch (after) {
    case After::ok:
      return "ok";
    case After::any:
      return "any";
    case After::fail:
      return "fail";
  }
  return "";
}

void add_description(const JobDescription& job, Json& json) {
  Json after = Json::array();
  for (const Dependency& dependency : job.after)
    after.push_back({{"job", dependency.job.value}, {"how", name_of(dependency.after)}});
  Json variables = Json::array();  // their values may be nobody else's business
  for (const EnvironmentVariable& variable : job.spec.env) variables.push_back(variable.name);
  const auto& limit = job.spec.time_limit;
  json["asked"] = Json::parse(client::requirement_json(job.requirement));
  json["folder"] = text_or_null(job.spec.folder);
  json["no_stage"] = job.spec.staging == StagingMode::none;
  json["stage"] = job.spec.stage;
  json["out"] = job.spec.outputs;
  json["stdin"] = job.spec.pass_stdin;
  json["env"] = std::move(variables);
  json["secrets"] = job.spec.secrets;
  json["time_limit_ms"] = limit ? Json(limit->count_ms) : Json(nullptr);
  json["retries"] = job.retries;
  json["on_loss"] = name_of(job.on_loss);
  json["priority"] = job.priority;
  json["after"] = std::move(after);
}

Json job_json(const wire::JobSummary& job) {
  const bool has_ended = job.outcome.has_value();
  Json json = {
      {"job", job.id.value},
      {"name", text_or_null(job.name)},
      {"command", job.command},
      {"state", job.state},
      {"why", text_or_null(job.why)},
      {"position", job.position > 0 ? Json(job.position) : Json(nullptr)},
      {"by", job.submitter_name},
      {"uid", job.submitter.client.empty() ? Json(job.submitter.uid) : Json(nullptr)},
      {"where", job.where},
      {"submitted_ms", job.submitted_at.since_epoch_ms},
      {"started_ms", time_or_null(job.started_at)},
      {"ended_ms", time_or_null(job.ended_at)},
      {"outcome", has_ended ? end_json(*job.outcome) : Json(nullptr)},
      {"exit_status", has_ended ? Json(exit_status(*job.outcome)) : Json(nullptr)},
      {"tasks", job.tasks},
      {"waiting", job.waiting},
      {"under_way", job.running},
      {"succeeded", job.succeeded},
      {"failed", job.failed},
      {"client_gone", job.client_gone},
      {"kept_files", job.kept_files},
      {"kept_bytes", job.kept_bytes},
      {"left_out_bytes", job.left_out_bytes},
      {"kept_until_ms", time_or_null(job.kept_until)},
  };
  if (job.description) add_description(*job.description, json);
  return json;
}

Json list_json(const std::vector<wire::JobSummary>& jobs) {
  Json list = Json::array();
  for (const wire::JobSummary& job : jobs) list.push_back(job_json(job));
  return list;
}

Json hold_json(const DeviceHold& hold) {
  const auto& shared = hold.shared_memory_bytes;
  return {{"device", std::string(name_of(hold.kind)) + ":" + std::to_string(hold.index)},
          {"slice", text_or_null(hold.slice)},
          {"shared_memory_bytes", shared ? Json(*shared) : Json(nullptr)},
          {"holder", hold.holder},
          {"since_ms", time_or_null(hold.since)},
          {"ends_by_ms", time_or_null(hold.ends_by)}};
}

Json device_json(const Accelerator& device) {
  return {{"id", device.id},
          {"name", text_or_null(device.name)},
          {"usable", device.usable},
          {"problems", device.problems}};
}

Json peer_json(const wire::PeerSummary& peer) {
  const PeerView& view = peer.view;
  Json devices = Json::array();
  for (const Accelerator& device : view.accelerators) devices.push_back(device_json(device));
  Json holds = Json::array();
  for (const DeviceHold& hold : view.holds) holds.push_back(hold_json(hold));
  Json labels = Json::object();
  for (const Label& label : view.labels) labels[label.key] = label.value;
  const std::uint64_t lent = peer.memory_lent_bytes;
  return {{"peer", view.name},
          {"id", hex(peer.id.value)},
          {"state", peer.state},
          {"part", text_or_null(peer.part)},
          {"address", text_or_null(peer.address)},
          {"labels", std::move(labels)},
          {"closed", text_or_null(view.closed)},
          {"up_since_ms", peer.up_at.since_epoch_ms},
          {"unreachable_since_ms", time_or_null(view.unreachable_since)},
          {"cpus", peer.cpus_lent},
          {"cpus_held", view.cpus_held},
          {"memory_bytes", lent > 0 ? Json(lent) : Json(nullptr)},
          {"memory_held_bytes", view.memory_held_bytes},
          {"devices", std::move(devices)},
          {"holds", std::move(holds)}};
}

Json peer_list_json(const wire::ClusterStatus& status) {
  Json list = Json::array();
  for (const wire::PeerSummary& peer : status.peers) list.push_back(peer_json(peer));
  return list;
}

}  // namespace

std::string cluster_json(const wire::ClusterStatus& status) {
  return to_text({{"schema", 1},
                  {"cluster", text_or_null(status.cluster)},
                  {"leader", text_or_null(status.leader)},
                  {"voters", status.voters},
                  {"can_lose", status.can_lose},
                  {"unprotected", status.unprotected},
                  {"peers", peer_list_json(status)},
                  {"active", list_json(status.active)},
                  {"more_active", status.more_active},
                  {"ended", list_json(status.ended)}});
}

std::string jobs_json(const std::vector<wire::JobSummary>& jobs) {
  return to_text({{"schema", 1}, {"jobs", list_json(jobs)}});
}

std::string peers_json(const wire::ClusterStatus& status) {
  return to_text({{"schema", 1}, {"peers", peer_list_json(status)}});
}

}  // namespace gpl::cmd
