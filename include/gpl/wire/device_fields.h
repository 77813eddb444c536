#pragma once

#include "gpl/core/device.h"
#include "gpl/core/device_visibility.h"
#include "gpl/wire/fields.h"

namespace gpl::wire {

template <>
inline constexpr auto last_enumerator<AcceleratorKind> = last_is<AcceleratorKind::xpu>();

template <>
inline constexpr auto fields<ComputeCapability> = list_of<ComputeCapability>(
    "compute capability", &ComputeCapability::major_number, &ComputeCapability::minor_number);

template <>
inline constexpr auto fields<Partition> = list_of<Partition>("partition", &Partition::uuid,
                                                             &Partition::profile,
                                                             &Partition::memory_bytes,
                                                             &Partition::gpu_instance);

template <>
inline constexpr auto fields<Accelerator> = list_of<Accelerator>(
    "accelerator", &Accelerator::id, &Accelerator::kind, &Accelerator::vendor, &Accelerator::name,
    &Accelerator::index, &Accelerator::uuid, &Accelerator::memory_bytes,
    &Accelerator::memory_used_bytes, &Accelerator::unified_memory, &Accelerator::compute_capability,
    &Accelerator::driver, &Accelerator::pci, &Accelerator::mig_mode, &Accelerator::partitions,
    &Accelerator::usable, &Accelerator::problems);

template <>
inline constexpr auto fields<DeviceChoice> = list_of<DeviceChoice>("device choice",
                                                                   &DeviceChoice::kind,
                                                                   &DeviceChoice::index,
                                                                   &DeviceChoice::slice);

template <>
inline constexpr auto fields<HostFacts> = list_of<HostFacts>("host facts", &HostFacts::name,
                                                             &HostFacts::os, &HostFacts::arch,
                                                             &HostFacts::kernel, &HostFacts::cpus,
                                                             &HostFacts::memory_bytes);

template <>
inline constexpr auto fields<ProbeProblem> = list_of<ProbeProblem>("probe problem",
                                                                   &ProbeProblem::source,
                                                                   &ProbeProblem::exit,
                                                                   &ProbeProblem::message);

}  // namespace gpl::wire
