#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"

namespace gpl {

/// What drives an accelerator: the word after --gpu.
enum class AcceleratorKind { cuda, rocm, mps, xpu };

std::string_view name_of(AcceleratorKind kind);
/// Nothing for a word that is no kind.
std::optional<AcceleratorKind> accelerator_kind(std::string_view word);

/// NVIDIA's compute capability, `9.0`. Compared by number: 12.1 is above 9.0.
struct ComputeCapability {
  int major_number = 0;
  int minor_number = 0;
  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};
/// Code::invalid for what is not MAJOR.MINOR.
Result<ComputeCapability> parse_compute_capability(std::string_view text);
std::string to_string(ComputeCapability capability);

/// One MIG slice of a card.
struct Partition {
  std::string uuid;     ///< MIG-...
  std::string profile;  ///< 3g.40gb
  std::optional<std::uint64_t> memory_bytes;
  std::optional<int> gpu_instance;  ///< slices of one instance share its memory
  friend bool operator==(const Partition&, const Partition&) = default;
};

/// One accelerator as its driver reports it. Unknown is nothing, never 0.
struct Accelerator {
  std::string id;  ///< "cuda:0": kind and index
  AcceleratorKind kind = AcceleratorKind::cuda;
  std::string vendor;  ///< "nvidia", "amd", "apple", "intel"
  std::string name;
  int index = 0;     ///< by the driver's own count; of NVIDIA in PCI bus order
  std::string uuid;  ///< "" unknown
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> memory_used_bytes;  ///< by everyone, as the driver says
  bool unified_memory = false;                     ///< shares the host's
  std::optional<ComputeCapability> compute_capability;
  std::string driver;  ///< version; "" unknown
  std::string pci;     ///< 0000:01:00.0 in lower case; "" unknown
  std::optional<bool> mig_mode;
  std::vector<Partition> partitions;
  bool usable = false;
  std::vector<std::string> problems;  ///< for people
  friend bool operator==(const Accelerator&, const Accelerator&) = default;
};

/// The machine around them.
struct HostFacts {
  std::string name;
  std::string os;                  ///< "linux"
  std::string arch;                ///< "x86_64"
  std::string kernel;              ///< release
  int cpus = 0;                    ///< that this process may use
  std::uint64_t memory_bytes = 0;  ///< 0: unknown (no /proc)
  friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

/// A probe, or what it looked at, that failed.
struct ProbeProblem {
  std::string source;       ///< "nvidia-smi"
  std::optional<int> exit;  ///< its exit status; nothing when it was ended, or is no program
  std::string message;
  friend bool operator==(const ProbeProblem&, const ProbeProblem&) = default;
};

}  // namespace gpl
