#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/peer_view.h"

/// Machines that need not exist, for tests of what is said about them.
namespace simulated {

using gpl::Accelerator;
using gpl::AcceleratorKind;
using gpl::ComputeCapability;
using gpl::DeviceHold;
using gpl::Duration;
using gpl::FrameworkBuild;
using gpl::Instant;
using gpl::Partition;
using gpl::PeerView;
using gpl::PythonEnvironment;
using gpl::seconds;

constexpr Instant now{1'750'000'000'000};
constexpr Instant ago(Duration age) { return Instant{now.since_epoch_ms - age.count_ms}; }
constexpr Duration minutes(std::int64_t count) { return seconds(count * 60); }
constexpr Duration hours(std::int64_t count) { return minutes(count * 60); }
constexpr std::uint64_t gib(std::uint64_t count) { return count << 30U; }

inline Accelerator device(AcceleratorKind kind, int index, std::string vendor, std::string name) {
  Accelerator device;
  device.kind = kind;
  device.index = index;
  device.id = std::string(gpl::name_of(kind)) + ":" + std::to_string(index);
  device.vendor = std::move(vendor);
  device.name = std::move(name);
  device.uuid = "GPU-" + std::to_string(index) + "-of-" + device.vendor;
  device.usable = true;
  return device;
}

inline Accelerator nvidia(int index, std::string name, std::uint64_t memory_gib,
                          ComputeCapability capability) {
  Accelerator card = device(AcceleratorKind::cuda, index, "nvidia", std::move(name));
  card.memory_bytes = gib(memory_gib);
  card.compute_capability = capability;
  card.driver = "550.54.14";
  return card;
}
inline Accelerator rtx4090(int index) {
  return nvidia(index, "NVIDIA GeForce RTX 4090", 24, {8, 9});
}
inline Accelerator h100(int index) { return nvidia(index, "NVIDIA H100 80GB HBM3", 80, {9, 0}); }
inline Accelerator t4(int index) { return nvidia(index, "Tesla T4", 16, {7, 5}); }

/// An A100 in MIG mode, cut into 3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb.
inline Accelerator cut_a100(int index) {
  Accelerator card = nvidia(index, "NVIDIA A100-SXM4-40GB", 40, {8, 0});
  card.mig_mode = true;
  const std::string start = "MIG-" + std::to_string(index);
  card.partitions = {{start + "a", "3g.20gb", gib(20), 1},
                     {start + "b", "2g.10gb", gib(10), 3},
                     {start + "c", "1g.5gb", gib(5), 7},
                     {start + "d", "1g.5gb", gib(5), 8}};
  return card;
}
/// Takes the host's memory, and its driver tells none of its own.
inline Accelerator gb10(int index) {
  Accelerator card = nvidia(index, "NVIDIA GB10", 0, {12, 1});
  card.memory_bytes.reset();
  card.unified_memory = true;
  return card;
}
inline Accelerator mi300(int index) {
  Accelerator card = device(AcceleratorKind::rocm, index, "amd", "AMD Instinct MI300X");
  card.memory_bytes = gib(192);
  return card;
}
inline Accelerator arc(int index) {
  return device(AcceleratorKind::xpu, index, "intel", "Intel Arc A770");
}
inline Accelerator m3() {
  Accelerator card = device(AcceleratorKind::mps, 0, "apple", "Apple M3 Max");
  card.memory_bytes = gib(36);
  card.unified_memory = true;
  return card;
}
inline Accelerator broken(Accelerator card, std::string problem) {
  card.usable = false;
  card.problems = {std::move(problem)};
  return card;
}

inline FrameworkBuild build(std::string dist, std::string version,
                            std::vector<AcceleratorKind> backends = {}) {
  FrameworkBuild made;
  made.dists = {dist};
  made.dist = std::move(dist);
  made.version = std::move(version);
  made.backends = std::move(backends);
  return made;
}

inline PythonEnvironment environment(std::string name,
                                     std::map<std::string, FrameworkBuild> frameworks) {
  PythonEnvironment made;
  made.root = name == "system" ? "/usr" : "/home/ana" + name.substr(1);
  made.name = std::move(name);
  made.python = made.root + "/bin/python3";
  made.python_version = "3.11.2";
  made.frameworks = std::move(frameworks);
  return made;
}

/// 32 cpus, 128 GiB, reported 5 s ago.
inline PeerView peer(std::string name, std::vector<Accelerator> accelerators = {},
                     std::vector<PythonEnvironment> environments = {}) {
  PeerView view;
  view.host = {name, "linux", "x86_64", "6.8.0", 32, gib(128)};
  view.name = std::move(name);
  view.accelerators = std::move(accelerators);
  view.environments = std::move(environments);
  view.reported_at = ago(seconds(5));
  return view;
}

inline DeviceHold hold(const Accelerator& device, std::string holder,
                       std::optional<Duration> running = std::nullopt,
                       std::optional<Duration> left = std::nullopt) {
  DeviceHold made;
  made.kind = device.kind;
  made.index = device.index;
  made.holder = std::move(holder);
  if (running) made.since = ago(*running);
  if (left) made.ends_by = now + *left;
  return made;
}
inline DeviceHold share(const Accelerator& device, std::uint64_t memory_gib, std::string holder,
                        std::optional<Duration> left = std::nullopt) {
  DeviceHold made = hold(device, std::move(holder), minutes(3), left);
  made.shared_memory_bytes = gib(memory_gib);
  return made;
}

}  // namespace simulated
