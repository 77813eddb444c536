#include "gpl/core/requirement_text.h"

#include <charconv>

#include "gpl/core/size.h"

namespace gpl {
namespace {

Error refuse(const std::string& option, const std::string& value, const std::string& why) {
  return Error{Code::invalid, "--" + option + " '" + value + "': " + why};
}

Error under_option(const std::string& option, const std::string& value, const Error& error) {
  return Error{error.code, "--" + option + " '" + value + "': " + error.message};
}

Result<int> parse_count(const std::string& option, const std::string& value) {
  int count = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, count);
  if (error == std::errc() && stop == end && count >= 0) return count;
  return refuse(option, value, "write a whole number");
}

Status read_count(const std::string& option, const std::optional<std::string>& value,
                  std::optional<int>& into) {
  if (!value) return success();
  Result<int> count = parse_count(option, *value);
  if (!count.ok()) return std::move(count).error();
  into = count.value();
  return success();
}

Status read_size(const std::string& option, const std::optional<std::string>& value,
                 std::optional<std::uint64_t>& into) {
  if (!value) return success();
  Result<std::uint64_t> size = parse_size(*value);
  if (!size.ok()) return under_option(option, *value, size.error());
  into = size.value();
  return success();
}

Status read_kind(const RequirementText& text, Requirement& requirement) {
  if (!text.gpu || *text.gpu == "any") return success();
  requirement.kind = accelerator_kind(*text.gpu);
  if (requirement.kind) return success();
  return refuse("gpu", *text.gpu, "write cuda, rocm, mps, xpu or any");
}

Status read_capability(const RequirementText& text, Requirement& requirement) {
  if (!text.compute_capability) return success();
  Result<ComputeCapability> capability = parse_compute_capability(*text.compute_capability);
  if (!capability.ok()) {
    return under_option("compute-capability", *text.compute_capability, capability.error());
  }
  requirement.compute_capability = capability.value();
  return success();
}

Status read_frameworks(const RequirementText& text, Requirement& requirement) {
  for (const std::string& word : text.frameworks) {
    Result<FrameworkWish> wish = FrameworkWish::parse(word);
    if (!wish.ok()) return under_option("framework", word, wish.error());
    requirement.frameworks.push_back(std::move(wish).value());
  }
  return success();
}

Status read_labels(const RequirementText& text, Requirement& requirement) {
  for (const std::string& word : text.labels) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) return refuse("label", word, "write KEY=VALUE");
    requirement.labels.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return success();
}

bool asks_for_gpu(const RequirementText& text) {
  return text.gpu || text.gpu_memory || text.gpu_share || text.gpu_model || text.compute_capability;
}

void take(std::optional<std::string>& into, const std::optional<std::string>& from) {
  if (from) into = from;
}

}  // namespace

Result<Requirement> parse_requirement(const RequirementText& text) {
  Requirement requirement;
  std::optional<int> gpus;
  requirement.gpu_share = text.gpu_share;
  requirement.gpu_model = text.gpu_model.value_or("");
  requirement.environment = text.environment.value_or("");
  requirement.on = text.on.value_or("");
  for (Status read :
       {read_count("gpus", text.gpus, gpus), read_kind(text, requirement),
        read_size("gpu-memory", text.gpu_memory, requirement.gpu_memory_bytes),
        read_capability(text, requirement), read_count("cpus", text.cpus, requirement.cpus),
        read_size("memory", text.memory, requirement.memory_bytes),
        read_frameworks(text, requirement), read_labels(text, requirement)}) {
    if (!read.ok()) return std::move(read).error();
  }
  requirement.gpus = gpus.value_or(asks_for_gpu(text) ? 1 : 0);
  if (Status valid = validate(requirement); !valid.ok()) return std::move(valid).error();
  return requirement;
}

RequirementText merge(RequirementText under, const RequirementText& over) {
  take(under.gpus, over.gpus);
  take(under.gpu, over.gpu);
  take(under.gpu_memory, over.gpu_memory);
  under.gpu_share = under.gpu_share || over.gpu_share;
  take(under.gpu_model, over.gpu_model);
  take(under.compute_capability, over.compute_capability);
  take(under.cpus, over.cpus);
  take(under.memory, over.memory);
  take(under.environment, over.environment);
  take(under.on, over.on);
  under.frameworks.insert(under.frameworks.end(), over.frameworks.begin(), over.frameworks.end());
  under.labels.insert(under.labels.end(), over.labels.begin(), over.labels.end());
  return under;
}

}  // namespace gpl
