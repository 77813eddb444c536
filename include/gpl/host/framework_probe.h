#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/core/environment.h"
#include "gpl/core/result.h"

namespace gpl::host {

/// A way to ask a framework itself what it sees (gpl devices --probe NAME). Adding one is a row.
struct FrameworkProbe {
  std::string_view name;  ///< of the framework, as in the table of frameworks
  /// Python's body of `def look()`, lines indented by four: imports the framework and returns its
  /// version and a list of (kind, device name, memory in bytes or None).
  std::string_view look;
};

std::span<const FrameworkProbe> framework_probes();
/// nullptr for a framework that no probe asks.
const FrameworkProbe* framework_probe(std::string_view name);

/// The whole program: prints one line, whatever the framework prints besides, and exits 0 also when
/// the framework cannot be imported.
std::string framework_probe_program(const FrameworkProbe& probe);

/// The command. Not Python's isolated mode (-I), which would leave the user's packages out though a
/// job sees them; -E as no job inherits PYTHON* variables, -B to write nothing.
///
/// Run it in an empty folder with a deadline. Bound its memory by what is resident (a cgroup, or by
/// watching it), never by RLIMIT_AS: CUDA reserves more address space than the machine has memory.
std::vector<std::string> framework_probe_command(const std::string& python,
                                                 const FrameworkProbe& probe);

/// Importing torch from a cold disk takes most of a minute.
inline constexpr std::int64_t framework_probe_deadline_ms = 120'000;
inline constexpr std::uint64_t framework_probe_memory_bytes = std::uint64_t{8} << 30;
/// More output than this is no answer.
inline constexpr std::size_t max_framework_probe_output_bytes = std::size_t{1} << 20;

/// A device as the framework sees it.
struct SeenDevice {
  AcceleratorKind kind = AcceleratorKind::cuda;
  std::string name;
  std::optional<std::uint64_t> memory_bytes;
  friend bool operator==(const SeenDevice&, const SeenDevice&) = default;
};

/// What a framework said of itself.
struct FrameworkProbeAnswer {
  std::string version;
  std::vector<SeenDevice> devices;
  std::string error;  ///< why it could not be asked: "ImportError: libcudart.so.12: ..."; else ""
  friend bool operator==(const FrameworkProbeAnswer&, const FrameworkProbeAnswer&) = default;
};

/// Finds the answer in what the program printed on stdout. Code::invalid when there is none.
Result<FrameworkProbeAnswer> parse_framework_probe(std::string_view output);

/// Where the framework's own answer differs from what its files and the drivers say, a sentence
/// each. `devices` are the machine's.
std::vector<std::string> probe_disagreements(std::string_view framework,
                                             const FrameworkBuild& build,
                                             const std::vector<Accelerator>& devices,
                                             const FrameworkProbeAnswer& answer);

}  // namespace gpl::host
