#include <optional>

#include "devices_report.h"
#include "json.h"

namespace gpl::cmd {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json host_json(const HostFacts& host) {
  const Json memory = host.memory_bytes > 0 ? Json(host.memory_bytes) : Json(nullptr);
  return {{"name", host.name},     {"os", host.os},     {"arch", host.arch},
          {"kernel", host.kernel}, {"cpus", host.cpus}, {"memory_bytes", memory}};
}

Json partition_json(const Partition& slice) {
  return {{"uuid", slice.uuid},
          {"profile", slice.profile},
          {"memory_bytes", or_null(slice.memory_bytes)},
          {"gpu_instance", or_null(slice.gpu_instance)}};
}

Json hold_json(const DeviceHold& hold) {
  Json since = hold.since ? Json(hold.since->since_epoch_ms) : Json(nullptr);
  return {{"holder", hold.holder},
          {"slice", text_or_null(hold.slice)},
          {"since_ms", std::move(since)},
          {"shared_memory_bytes", or_null(hold.shared_memory_bytes)}};
}

Json accelerator_json(const Inventory& inventory, const Accelerator& device) {
  Json holds = Json::array();
  for (const DeviceHold& hold : inventory.holds) {
    if (hold.kind == device.kind && hold.index == device.index) holds.push_back(hold_json(hold));
  }
  Json partitions = Json::array();
  for (const Partition& slice : device.partitions) partitions.push_back(partition_json(slice));
  const std::optional<ComputeCapability>& capability = device.compute_capability;
  return {{"id", device.id},
          {"kind", name_of(device.kind)},
          {"vendor", device.vendor},
          {"name", text_or_null(device.name)},
          {"index", device.index},
          {"uuid", text_or_null(device.uuid)},
          {"memory_bytes", or_null(device.memory_bytes)},
          {"unified_memory", device.unified_memory},
          {"compute_capability", capability ? Json(to_string(*capability)) : Json(nullptr)},
          {"driver", text_or_null(device.driver)},
          {"pci", text_or_null(device.pci)},
          {"mig_mode", or_null(device.mig_mode)},
          {"partitions", std::move(partitions)},
          {"usable", device.usable},
          {"problems", device.problems},
          {"memory_used_bytes", or_null(device.memory_used_bytes)},
          {"holds", std::move(holds)}};
}

Json framework_json(const FrameworkBuild& build) {
  Json backends = Json::array();
  for (const AcceleratorKind kind : build.backends) backends.push_back(name_of(kind));
  return {{"version", build.version},
          {"dist", build.dist},
          {"dists", build.dists},
          {"editable", build.editable},
          {"backends", std::move(backends)},
          {"backend_version", text_or_null(build.backend_version)},
          {"warnings", build.warnings}};
}

Json check_json(const Inventory& inventory, const PythonEnvironment& environment,
                const host::FrameworkCheck& check) {
  Json devices = Json::array();
  for (const host::SeenDevice& device : check.answer.devices) {
    devices.push_back({{"kind", name_of(device.kind)},
                       {"name", text_or_null(device.name)},
                       {"memory_bytes", or_null(device.memory_bytes)}});
  }
  return {{"age_ms", (inventory.now - check.at).count_ms},
          {"version", text_or_null(check.answer.version)},
          {"devices", std::move(devices)},
          {"error", text_or_null(check.answer.error)},
          {"disagreements", disagreements(inventory, environment, check)}};
}

Json environment_json(const Inventory& inventory, const PythonEnvironment& environment) {
  Json frameworks = Json::object();
  for (const auto& [name, build] : environment.frameworks) {
    frameworks[name] = framework_json(build);
  }
  for (const host::FrameworkCheck& check : inventory.checks) {
    if (check.environment_root != environment.root) continue;
    frameworks[check.framework]["probe"] = check_json(inventory, environment, check);
  }
  for (const auto& [name, version] :
       pseudo_frameworks(environment, inventory.report.accelerators)) {
    frameworks[name] = {{"version", version}};
  }
  return {{"name", environment.name},
          {"root", environment.root},
          {"python", text_or_null(environment.python)},
          {"python_version", text_or_null(environment.python_version)},
          {"frameworks", std::move(frameworks)}};
}

}  // namespace

std::string devices_json(const Inventory& inventory) {
  Json accelerators = Json::array();
  for (const Accelerator& device : inventory.report.accelerators) {
    accelerators.push_back(accelerator_json(inventory, device));
  }
  Json pythons = Json::array();
  for (const PythonEnvironment& environment : inventory.environments) {
    pythons.push_back(environment_json(inventory, environment));
  }
  Json problems = Json::array();
  for (const ProbeProblem& problem : all_problems(inventory)) {
    problems.push_back({{"source", problem.source},
                        {"exit", or_null(problem.exit)},
                        {"message", problem.message}});
  }
  return to_text({{"schema", 1},
                  {"host", host_json(inventory.report.host)},
                  {"accelerators", std::move(accelerators)},
                  {"environments", std::move(pythons)},
                  {"problems", std::move(problems)}});
}

}  // namespace gpl::cmd
