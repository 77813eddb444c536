#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/device.h"

namespace gpl::host {

/// What a build says in its name about the devices that it was made for.
struct DeviceTag {
  std::optional<AcceleratorKind> kind;  ///< nothing: the CPU alone, said outright ("+cpu")
  std::string version;                  ///< of CUDA or ROCm; "" when not said
  friend bool operator==(const DeviceTag&, const DeviceTag&) = default;
};

/// Reads a local version (PEP 440): "cu121", "cuda12.cudnn89", "rocm6.0", "xpu", "cpu", and
/// "07cecf4168.nv24.05" of NVIDIA's containers. Nothing when no part of it speaks of devices.
std::optional<DeviceTag> device_tag_of_local_version(std::string_view local);

/// Reads a conda build string: "py3.11_cuda12.1_cudnn8.9.2_0", "cuda118py311h4e5cc3e_301",
/// "cpu_generic_py311h1234567_0". Nothing when it does not speak of devices.
std::optional<DeviceTag> device_tag_of_conda_build(std::string_view build);

}  // namespace gpl::host
