#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/fit.h"

namespace gpl {

/// Something that could be given out: a card, or one slice of one. Points into the PeerView that it
/// was found in.
struct DeviceCandidate {
  const Accelerator* device = nullptr;
  const Partition* slice = nullptr;
  std::optional<std::uint64_t> memory_bytes = {};  ///< the host's, of a card that shares it
  std::vector<ReasonCode> lacks = {};              ///< what no wait mends
  std::vector<const DeviceHold*> holds = {};       ///< in the way: all of them have to end
  bool memory_is_used = false;                     ///< by sharers, or outside gpl
  std::vector<const DeviceHold*> sharers = {};     ///< jobs that have a part of it
  std::uint64_t outside_bytes = 0;                 ///< used by what is no job of gpl's

  bool able() const { return lacks.empty(); }
  bool free() const { return holds.empty() && !memory_is_used; }
  DeviceChoice choice() const;
  /// What is left beside the sharers and what is used outside. Requires known memory.
  std::uint64_t left_bytes() const;
  /// "cuda:1", "cuda:1 3g.40gb".
  std::string shown_name() const;
};

/// All of a kind that the peer has, the least capable first. A card cut into slices is given out by
/// the slice; where several devices are asked for it is one candidate that lacks gpu_sliced.
std::vector<DeviceCandidate> device_candidates(const Requirement& requirement, const PeerView& peer,
                                               AcceleratorKind kind);

/// Something that falls short, as "is unusable: GPU requires reset" behind its name.
std::string describe_lack(ReasonCode code, const Requirement& requirement,
                          const DeviceCandidate& candidate);

}  // namespace gpl
