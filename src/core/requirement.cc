#include "gpl/core/requirement.h"

namespace gpl {

std::string FrameworkWish::shown_name() const {
  return backend ? name + "." + std::string(name_of(*backend)) : name;
}

Result<FrameworkWish> FrameworkWish::parse(std::string_view text) {
  Result<PackageRequirement> package = PackageRequirement::parse(text);
  if (!package.ok()) return std::move(package).error();
  FrameworkWish wish{package.value().name, std::nullopt, package.value().specifiers};
  const std::string& written = package.value().written_name;
  const std::size_t dot = written.rfind('.');
  if (dot == std::string::npos) return wish;
  wish.backend = accelerator_kind(normalised_package_name(written.substr(dot + 1)));
  if (wish.backend) wish.name = normalised_package_name(written.substr(0, dot));
  return wish;
}

namespace {

Error refuse(std::string message) { return Error{Code::invalid, std::move(message)}; }

// The job would see no device of the kind that the framework's build drives.
Status check_kinds(const Requirement& requirement) {
  if (requirement.gpus == 0) return success();
  std::optional<AcceleratorKind> kind = requirement.kind;
  std::string asked = kind ? "--gpu " + std::string(name_of(*kind)) : "";
  for (const FrameworkWish& wish : requirement.frameworks) {
    if (!wish.backend) continue;
    if (kind && *kind != *wish.backend) {
      return refuse("--framework " + wish.shown_name() + " drives " +
                    std::string(name_of(*wish.backend)) + " devices, and " + asked +
                    " asks for others: a job's devices are all of one kind");
    }
    kind = wish.backend;
    if (asked.empty()) asked = "--framework " + wish.shown_name();
  }
  return success();
}

}  // namespace

Status validate(const Requirement& requirement) {
  if (requirement.gpus < 0) return refuse("--gpus: cannot be negative");
  if (requirement.gpus == 0 &&
      (requirement.kind || requirement.gpu_memory_bytes || !requirement.gpu_model.empty() ||
       requirement.compute_capability || requirement.gpu_share)) {
    return refuse("--gpus 0 asks for no GPU, and another option for one");
  }
  if (requirement.gpu_share && !requirement.gpu_memory_bytes) {
    return refuse("--gpu-share needs --gpu-memory: how much of the card the job takes");
  }
  if (requirement.gpu_memory_bytes == std::uint64_t{0}) return refuse("--gpu-memory: cannot be 0");
  if (requirement.cpus && *requirement.cpus < 1) return refuse("--cpus: at least 1");
  if (requirement.memory_bytes == std::uint64_t{0}) return refuse("--memory: cannot be 0");
  for (const Label& label : requirement.labels) {
    if (label.key.empty()) return refuse("--label: write KEY=VALUE");
  }
  return check_kinds(requirement);
}

}  // namespace gpl
