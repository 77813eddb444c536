#include "gpl/client/explain_json.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace gpl::client {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// Whether a reason's asked, has and free are counts or bytes.
bool is_counted(ReasonCode code) {
  switch (code) {
    case ReasonCode::cpus:
    case ReasonCode::cpus_held:
    case ReasonCode::memory:
    case ReasonCode::memory_held:
    case ReasonCode::gpu_none:
    case ReasonCode::gpu_count:
    case ReasonCode::gpu_memory:
    case ReasonCode::gpu_memory_unknown:
    case ReasonCode::gpu_held:
    case ReasonCode::gpu_memory_used:
      return true;
    case ReasonCode::other_peer:
    case ReasonCode::label:
    case ReasonCode::unreachable:
    case ReasonCode::closed:
    case ReasonCode::not_reported:
    case ReasonCode::gpu_unusable:
    case ReasonCode::gpu_sliced:
    case ReasonCode::gpu_model:
    case ReasonCode::gpu_compute_capability:
    case ReasonCode::gpu_compute_capability_unknown:
    case ReasonCode::environment_missing:
    case ReasonCode::environment_without_python:
    case ReasonCode::framework_missing:
    case ReasonCode::framework_version:
    case ReasonCode::framework_backend:
    case ReasonCode::framework_device:
      return false;
  }
  return false;
}

Json figure(const Reason& reason, const std::string& text) {
  // A label's value may be any word.
  if (text.empty() || (text == "unknown" && reason.code != ReasonCode::label)) return nullptr;
  if (!is_counted(reason.code)) return text;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? Json(number) : Json(text);
}

Json reason_json(const Reason& reason) {
  return {{"code", name_of(reason.code)},
          {"subject", text_or_null(reason.subject)},
          {"asked", figure(reason, reason.asked)},
          {"has", figure(reason, reason.has)},
          {"free", figure(reason, reason.free)},
          {"holder", text_or_null(reason.holder)},
          {"text", reason.text}};
}

Json placement_json(const PeerAnswer& answer) {
  if (!answer.fit.placement) return nullptr;
  Json devices = Json::array();
  Json slices = Json::array();
  for (const DeviceChoice& choice : answer.fit.placement->devices) {
    devices.push_back(std::string(name_of(choice.kind)) + ":" + std::to_string(choice.index));
    if (!choice.slice.empty()) slices.push_back(choice.slice);
  }
  return {{"devices", std::move(devices)},
          {"slices", std::move(slices)},
          {"environment", text_or_null(answer.environment)},
          {"shared_memory_bytes", or_null(answer.fit.placement->shared_memory_bytes)}};
}

Json peer_json(const PeerAnswer& answer) {
  Json reasons = Json::array();
  for (const Reason& reason : answer.fit.reasons) reasons.push_back(reason_json(reason));
  const auto& age = answer.report_age;
  const auto& free_by = answer.fit.free_by;
  return {{"peer", answer.peer},
          {"fits", name_of(answer.fits)},
          {"report_age_ms", age ? Json(age->count_ms) : Json(nullptr)},
          {"free_by_ms", free_by ? Json(free_by->since_epoch_ms) : Json(nullptr)},
          {"reasons", std::move(reasons)},
          {"placement", placement_json(answer)}};
}

Json asked_json(const Requirement& asked) {
  Json frameworks = Json::array();
  for (const FrameworkWish& wish : asked.frameworks) {
    frameworks.push_back(
        {{"name", wish.shown_name()}, {"specifier", text_or_null(wish.specifiers.to_string())}});
  }
  Json labels = Json::array();
  for (const Label& label : asked.labels) {
    labels.push_back({{"key", label.key}, {"value", label.value}});
  }
  const auto& capability = asked.compute_capability;
  return {{"gpus", asked.gpus > 0 ? Json(asked.gpus) : Json(nullptr)},
          {"kind", asked.kind ? Json(name_of(*asked.kind)) : Json(nullptr)},
          {"gpu_memory_bytes", or_null(asked.gpu_memory_bytes)},
          {"gpu_share", asked.gpu_share ? Json(true) : Json(nullptr)},
          {"gpu_model", text_or_null(asked.gpu_model)},
          {"compute_capability", capability ? Json(to_string(*capability)) : Json(nullptr)},
          {"cpus", or_null(asked.cpus)},
          {"memory_bytes", or_null(asked.memory_bytes)},
          {"frameworks", std::move(frameworks)},
          {"environment", text_or_null(asked.environment)},
          {"on", text_or_null(asked.on)},
          {"labels", std::move(labels)}};
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string requirement_json(const Requirement& requirement) {
  return text_of(asked_json(requirement));
}

std::string explanation_json(const Explanation& explanation, const Requirement& requirement) {
  Json peers = Json::array();
  for (const PeerAnswer& answer : explanation.peers) peers.push_back(peer_json(answer));
  const Json json = {{"schema", 1},
                     {"verdict", name_of(explanation.verdict)},
                     {"headline", explanation.headline},
                     {"asked", asked_json(requirement)},
                     {"peers", std::move(peers)},
                     {"nearest", text_or_null(explanation.nearest)}};
  return text_of(json);
}

}  // namespace gpl::client
