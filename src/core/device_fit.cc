#include "device_fit.h"

#include <algorithm>
#include <iterator>

#include "device_shortage.h"
#include "device_use.h"
#include "kind_fit.h"

namespace gpl {
namespace {

// Any of these kinds would serve: each says what it waits for, and the first to be free counts.
void explain_busy(const Requirement& requirement, const std::vector<KindFit>& busy, Instant now,
                  Fit& result) {
  for (const KindFit& fit : busy) {
    result.reasons.push_back(busy_reason(requirement, fit, now));
    const std::optional<Instant> by = free_by(requirement, fit);
    if (by && (!result.free_by || *by < *result.free_by)) result.free_by = by;
  }
}

}  // namespace

void choose_devices(const Requirement& requirement, const PeerView& peer, Instant now,
                    Placement& placement, Fit& fit) {
  if (requirement.gpus == 0) return;
  std::vector<KindFit> busy;
  std::vector<KindFit> unable;
  for (const AcceleratorKind kind : kinds_for(requirement)) {
    KindFit of_kind(requirement, peer, kind);
    if (of_kind.ready.size() >= of_kind.asked) {
      of_kind.ready.resize(of_kind.asked);
      for (const DeviceCandidate* each : of_kind.ready) placement.devices.push_back(each->choice());
      if (requirement.gpu_share) placement.shared_memory_bytes = requirement.gpu_memory_bytes;
      return;
    }
    if (of_kind.able.size() >= of_kind.asked) {
      busy.push_back(std::move(of_kind));
    } else if (!of_kind.all.empty()) {
      unable.push_back(std::move(of_kind));
    }
  }
  if (!busy.empty()) return explain_busy(requirement, busy, now, fit);
  if (unable.empty()) fit.reasons.push_back(no_device_reason(requirement, peer));
  for (const KindFit& of_kind : unable) {
    std::vector<Reason> reasons = shortage_reasons(requirement, of_kind, now);
    std::move(reasons.begin(), reasons.end(), std::back_inserter(fit.reasons));
  }
}

}  // namespace gpl
