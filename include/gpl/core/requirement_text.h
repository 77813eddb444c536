#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/requirement.h"
#include "gpl/core/result.h"

namespace gpl {

/// A requirement as a person writes it: the values of the options of `gpl run`, or of the keys of a
/// job file.
struct RequirementText {
  std::optional<std::string> gpus;
  std::optional<std::string> gpu;  ///< a kind, or "any"
  std::optional<std::string> gpu_memory;
  bool gpu_share = false;
  std::optional<std::string> gpu_model;
  std::optional<std::string> compute_capability;
  std::optional<std::string> cpus;
  std::optional<std::string> memory;
  std::vector<std::string> frameworks;
  std::optional<std::string> environment;
  std::optional<std::string> on;
  std::vector<std::string> labels;  ///< "KEY=VALUE"
  friend bool operator==(const RequirementText&, const RequirementText&) = default;
};

/// Reads and validates it. Any option about GPUs asks for one, unless --gpus says how many. Errors
/// name the option and the value: Code::invalid, and Code::unsupported for a marker or URL after
/// --framework.
Result<Requirement> parse_requirement(const RequirementText& text);

/// `over` where it says something, `under` elsewhere; frameworks and labels of both.
RequirementText merge(RequirementText under, const RequirementText& over);

}  // namespace gpl
