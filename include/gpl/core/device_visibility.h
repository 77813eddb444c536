#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/core/job.h"
#include "gpl/core/result.h"

namespace gpl {

/// One device as a job gets it: a whole accelerator, or one MIG slice of a card.
struct DeviceChoice {
  AcceleratorKind kind = AcceleratorKind::cuda;
  int index = 0;      ///< Accelerator::index
  std::string slice;  ///< Partition::uuid; "" the whole device
  friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

/// What CUDA sees, in its order, of these devices when CUDA_VISIBLE_DEVICES is `value` (nothing:
/// unset) and CUDA_DEVICE_ORDER is PCI_BUS_ID. By the CUDA C++ Programming Guide and the MIG User
/// Guide: ordinals, or UUIDs by unique prefix, up to the first word that names nothing; a device
/// named twice empties the list; of MIG slices only the first is seen, and none beside cards.
/// Ordinals count the cards that work and are not cut into slices.
std::vector<DeviceChoice> visible_to_cuda(std::optional<std::string_view> value,
                                          const std::vector<Accelerator>& devices);

/// The inverse: the CUDA_VISIBLE_DEVICES that shows a job `chosen`, in that order, and no other
/// device. Ordinals when every card works and none is in MIG mode, else UUIDs; "" for none.
/// Code::invalid for what CUDA cannot show: two slices, a slice beside a card, a card cut into
/// slices, one that is not usable or has no UUID where one is needed.
Result<std::string> cuda_visible_devices(const std::vector<DeviceChoice>& chosen,
                                         const std::vector<Accelerator>& devices);

/// Changes to a job's environment, in names each once.
struct DeviceEnvironment {
  std::vector<EnvironmentVariable> set;
  std::vector<std::string> unset;  ///< would change the meaning of what is set
  friend bool operator==(const DeviceEnvironment&, const DeviceEnvironment&) = default;
};

/// The variables by which a job sees `chosen` and no other of `devices`: CUDA_VISIBLE_DEVICES for
/// NVIDIA; for AMD ROCR_VISIBLE_DEVICES alone, since HIP also reads the CUDA and HIP ones and
/// counts from what ROCr left; ZE_AFFINITY_MASK for Intel. None chosen: the job sees none.
/// Code::invalid for devices of several kinds, and as `cuda_visible_devices`.
Result<DeviceEnvironment> device_environment(const std::vector<DeviceChoice>& chosen,
                                             const std::vector<Accelerator>& devices);

}  // namespace gpl
