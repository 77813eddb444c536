#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/core/package_requirement.h"
#include "gpl/core/result.h"

namespace gpl {

/// One --framework: a package, or a build of one that can drive a kind of device ("torch.cuda").
struct FrameworkWish {
  std::string name;                        ///< of the framework, without the kind
  std::optional<AcceleratorKind> backend;  ///< of "torch.cuda": cuda
  SpecifierSet specifiers;

  /// "torch.cuda", "jax": as it is named to people.
  std::string shown_name() const;
  /// Reads what follows --framework. Code::invalid or Code::unsupported with the column.
  /// Extras ("jax[cuda12]") are passed over: an installed package does not say which it came with.
  static Result<FrameworkWish> parse(std::string_view text);
  friend bool operator==(const FrameworkWish&, const FrameworkWish&) = default;
};

struct Label {
  std::string key;
  std::string value;
  friend bool operator==(const Label&, const Label&) = default;
};

/// What a job asks of the peer that runs it.
struct Requirement {
  int gpus = 0;                                   ///< all of one kind
  std::optional<AcceleratorKind> kind;            ///< nothing: any kind
  std::optional<std::uint64_t> gpu_memory_bytes;  ///< of each
  bool gpu_share = false;                         ///< only that memory of a card, not all of it
  std::string gpu_model;                          ///< a glob of its name, without case; "": any
  std::optional<ComputeCapability> compute_capability;  ///< at least
  std::optional<int> cpus;
  std::optional<std::uint64_t> memory_bytes;
  std::vector<FrameworkWish> frameworks;  ///< all in one environment
  std::string environment;                ///< by name or root; "": any
  std::string on;                         ///< the peer's name; "": any
  std::vector<Label> labels;

  bool wants_environment() const { return !frameworks.empty() || !environment.empty(); }
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// Whether the requirement makes sense by itself: Code::invalid names the option and the value. A
/// job's devices are all of one kind, so a framework that drives another kind is refused.
Status validate(const Requirement& requirement);

}  // namespace gpl
