#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/core/environment.h"
#include "gpl/core/requirement.h"
#include "gpl/core/time.h"

namespace gpl {

/// Something of a peer that a job has: a whole accelerator, a slice, a part of its memory.
struct DeviceHold {
  AcceleratorKind kind = AcceleratorKind::cuda;
  int index = 0;
  std::string slice;                                 ///< a partition's uuid; "": the card
  std::optional<std::uint64_t> shared_memory_bytes;  ///< nothing: all of it
  std::string holder;                                ///< "job 12", "job 3 of ana"
  std::optional<Instant> since;
  std::optional<Instant> ends_by;  ///< its time limit, if it has one
  friend bool operator==(const DeviceHold&, const DeviceHold&) = default;
};

/// Processors and memory of a peer that a job has, for one task or several that run one after the
/// other.
struct LoadHold {
  int cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::string holder;  ///< "job 12"
  std::optional<Instant> since;
  std::optional<Instant> ends_by;  ///< its time limit, if it has one
  friend bool operator==(const LoadHold&, const LoadHold&) = default;
};

/// A peer as the placing side knows it: its last report, and what jobs hold there.
struct PeerView {
  std::string name;
  std::string id;  ///< 16 hex digits; "" of the embedded peer
  HostFacts host;
  std::vector<Accelerator> accelerators;
  std::vector<PythonEnvironment> environments;
  std::vector<ProbeProblem> problems;
  std::vector<Label> labels;
  std::vector<DeviceHold> holds;
  int cpus_held = 0;
  std::uint64_t memory_held_bytes = 0;
  /// Who has them: the longest-running few. What these do not add up to, others have.
  std::vector<LoadHold> loads;
  std::string closed;                        ///< why it takes no new work; "": it does
  std::optional<Instant> reported_at;        ///< nothing: it has not reported yet
  std::optional<Instant> unreachable_since;  ///< nothing: it answers
};

/// Whether `--on` with this word means the peer: by its name, which several may have, or its id.
inline bool is_meant(const std::string& on, const PeerView& peer) {
  return on == peer.name || (!peer.id.empty() && on == peer.id);
}

}  // namespace gpl
