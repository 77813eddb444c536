#include "kind_fit.h"

#include <algorithm>

namespace gpl {

KindFit::KindFit(const Requirement& requirement, const PeerView& peer, AcceleratorKind of_kind)
    : kind(of_kind),
      asked(static_cast<std::size_t>(requirement.gpus)),
      all(device_candidates(requirement, peer, of_kind)) {
  for (const DeviceCandidate& candidate : all) {
    if (candidate.able()) able.push_back(&candidate);
    if (candidate.able() && candidate.free()) ready.push_back(&candidate);
  }
}

std::vector<AcceleratorKind> kinds_for(const Requirement& requirement) {
  if (requirement.kind) return {*requirement.kind};
  for (const FrameworkWish& wish : requirement.frameworks) {
    if (wish.backend) return {*wish.backend};
  }
  return {AcceleratorKind::cuda, AcceleratorKind::rocm, AcceleratorKind::mps, AcceleratorKind::xpu};
}

std::string probe_failure(const PeerView& peer, AcceleratorKind kind) {
  const auto found =
      std::find_if(peer.problems.begin(), peer.problems.end(), [&](const ProbeProblem& problem) {
        return kind == AcceleratorKind::cuda && problem.source == "nvidia-smi";
      });
  return found == peer.problems.end() ? "" : found->source + ": " + found->message;
}

std::string device_count(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " device" : " devices");
}

}  // namespace gpl
