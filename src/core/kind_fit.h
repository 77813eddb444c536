#pragma once

#include <string>
#include <vector>

#include "device_candidate.h"

namespace gpl {

using Candidates = std::vector<const DeviceCandidate*>;

/// What a peer has of one kind for a job. Moved, never copied: `able` and `ready` point into `all`.
struct KindFit {
  KindFit(const Requirement& requirement, const PeerView& peer, AcceleratorKind kind);
  KindFit(KindFit&&) = default;
  KindFit& operator=(KindFit&&) = default;

  AcceleratorKind kind;
  std::size_t asked;
  std::vector<DeviceCandidate> all;  ///< the least capable first, as the others
  Candidates able;                   ///< serve once they are free
  Candidates ready;                  ///< serve now
};

/// The kinds that will do, in the order of preference.
std::vector<AcceleratorKind> kinds_for(const Requirement& requirement);

/// "nvidia-smi: Driver/library version mismatch": what the peer's probe of that kind of device
/// failed of, so that how many there are is unknown. "" when it did not.
std::string probe_failure(const PeerView& peer, AcceleratorKind kind);

/// "1 device", "2 devices".
std::string device_count(std::size_t count);

}  // namespace gpl
