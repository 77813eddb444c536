#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/device_visibility.h"
#include "gpl/core/peer_view.h"
#include "gpl/core/requirement.h"

namespace gpl {

/// Why a peer does not do for a job: stable names for programs.
enum class ReasonCode {
  other_peer,  ///< --on names another
  label,       ///< --label
  unreachable,
  closed,        ///< it takes nothing new
  not_reported,  ///< nothing is known of it yet
  cpus,
  cpus_held,
  memory,
  memory_held,
  gpu_none,      ///< no device of the kind
  gpu_count,     ///< fewer devices do than are asked for
  gpu_unusable,  ///< or a job cannot be made to see it alone
  gpu_sliced,    ///< several are asked for, and of slices CUDA shows a job one
  gpu_model,
  gpu_memory,
  gpu_memory_unknown,
  gpu_compute_capability,
  gpu_compute_capability_unknown,
  gpu_held,             ///< enough do, but jobs have them
  gpu_memory_used,      ///< enough do, but their memory is used outside gpl or by sharers
  environment_missing,  ///< --environment names none here
  environment_without_python,
  framework_missing,
  framework_version,
  framework_backend,  ///< the build cannot drive that kind of device
  framework_device,   ///< no device of that kind is usable
};
std::string_view name_of(ReasonCode code);

/// What would have to be otherwise, to be read after "fits if": "jax >=0.4.30".
struct Remedy {
  std::string change;
  std::string now = {};  ///< how it is: "it has 0.4.26"; "" goes without saying
  /// To compare by: 10 is another word or version, 20 an install, 30 to 40 less to ask for, by how
  /// much; from `out_of_reach` on nobody is helped by being told.
  int effort = 10;
  static constexpr int out_of_reach = 90;
  /// That of being content with `has` where more was asked for: 30 to 40. Requires `asked` > 0.
  static int effort_of_less(std::uint64_t has, std::uint64_t asked) {
    return 40 - static_cast<int>(10.0 * static_cast<double>(has) / static_cast<double>(asked));
  }
  friend bool operator==(const Remedy&, const Remedy&) = default;
};

/// One check that failed: what was asked, what is there, and who has what is not free.
struct Reason {
  ReasonCode code = ReasonCode::other_peer;
  std::string text = {};              ///< for people: "jax 0.4.26 does not satisfy >=0.4.30"
  std::string subject = {};           ///< "cuda", "cuda:1", "jax", "cpus"
  std::string asked = {};             ///< a number of bytes, devices, cpus; a version, a name
  std::string has = {};               ///< "" nothing; "unknown" is told apart from "0"
  std::string free = {};              ///< of what can be held
  std::string holder = {};            ///< of several: "job 12, job 13"
  bool passes = false;                ///< it will be over by itself, or by a job's end
  std::vector<Remedy> remedies = {};  ///< none: another reason's cover it
  friend bool operator==(const Reason&, const Reason&) = default;
};

/// What the job gets on the peer.
struct Placement {
  std::vector<DeviceChoice> devices;
  std::optional<std::uint64_t> shared_memory_bytes;  ///< of each device, with --gpu-share
  std::optional<std::size_t> environment;            ///< in PeerView::environments
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Whether a job can run on a peer. It is the placing itself: with `placement` it does, now; else
/// `reasons` has every check that failed, and when all of them pass by themselves it will.
struct Fit {
  std::optional<Placement> placement;
  std::vector<Reason> reasons;  ///< none with a placement
  /// When jobs' time limits will have made it fit, if that is all it waits for and all have one.
  std::optional<Instant> free_by;

  bool fits() const { return placement.has_value(); }
  /// Could, if nothing were held there, it answered and took new work.
  bool will_fit() const;
};

/// Judges one peer; requires a valid requirement. `now` is for ages in the texts. Picks the least
/// capable devices that serve: the smallest memory, then the lowest capability, then the lowest
/// index. What is not known counts as least, since it serves the fewest jobs. Without a kind asked
/// for: the one that a framework must drive, else the first of cuda, rocm, mps, xpu that does.
Fit judge(const Requirement& requirement, const PeerView& peer, Instant now);

/// Glob without case over a device's name: `*` and `?`.
bool matches_model(std::string_view glob, std::string_view name);

}  // namespace gpl
