#include "attempt_launch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gpl/host/device_ledger.h"
#include "gpl/host/job_environment.h"
#include "gpl/host/machine.h"
#include "gpl/host/python_choice.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

Result<PythonChoice> python_of(const Allocation& allocation, const PeerOffer& offer) {
  if (allocation.environment.empty()) return PythonChoice{};
  const auto found = std::find_if(
      offer.environments.begin(), offer.environments.end(),
      [&](const PythonEnvironment& each) { return each.root == allocation.environment; });
  if (found != offer.environments.end()) return python_choice(*found);
  return Error{Code::not_found, "the Python environment " + allocation.environment +
                                    " is no longer known on this machine"};
}

std::vector<DeviceChoice> choices_of(const Allocation& allocation) {
  std::vector<DeviceChoice> choices;
  for (const DeviceClaim& claim : allocation.devices) choices.push_back(claim.device);
  return choices;
}

Status check_folder(const std::string& folder) {
  struct stat status;
  if (::stat(folder.c_str(), &status) != 0) {
    return Error{Code::not_found, "the folder " + folder + " cannot be used on " + host_name() +
                                      ": " + posix::errno_text(errno) +
                                      " (without staging the job runs in the same path there)"};
  }
  if (S_ISDIR(status.st_mode)) return success();
  return Error{Code::invalid, folder + " is no folder on " + host_name()};
}

const Accelerator* device_of(const PeerOffer& offer, const DeviceChoice& choice) {
  const auto found = std::find_if(offer.accelerators.begin(), offer.accelerators.end(),
                                  [&](const Accelerator& each) {
                                    return each.kind == choice.kind && each.index == choice.index;
                                  });
  return found != offer.accelerators.end() ? &*found : nullptr;
}

/// Who has what `claim` needs; "": nobody.
std::string obstacle_of(const DeviceClaim& claim, const Accelerator& device,
                        const std::vector<DeviceHold>& holds) {
  std::uint64_t shared_bytes = claim.shared_memory_bytes.value_or(0);
  std::string sharer;
  for (const DeviceHold& hold : holds) {
    if (hold.kind != claim.device.kind || hold.index != claim.device.index) continue;
    const bool other_slice =
        !hold.slice.empty() && !claim.device.slice.empty() && hold.slice != claim.device.slice;
    if (other_slice) continue;
    if (!hold.shared_memory_bytes || !claim.shared_memory_bytes) return hold.holder;
    shared_bytes += *hold.shared_memory_bytes;
    sharer = hold.holder;
  }
  return device.memory_bytes && shared_bytes > *device.memory_bytes ? sharer : "";
}

DeviceHold hold_of(const to_worker::Start& order) {
  DeviceHold hold;
  hold.holder = "job " + std::to_string(order.job.value);
  hold.since = posix::wall_clock();
  const auto& limit = order.description.spec.time_limit;
  if (limit) hold.ends_by = *hold.since + *limit;
  return hold;
}

}  // namespace

Result<Command> command_of(const to_worker::Start& order, const PeerOffer& offer,
                           const KeeperOptions& options, const std::vector<wire::Secret>& secrets,
                           const std::string& temp_folder, const std::string& work_folder) {
  const JobSpec& spec = order.description.spec;
  if (spec.command.empty()) return Error{Code::invalid, "the job has no command"};
  const std::string& folder = spec.staging == StagingMode::none ? spec.folder : work_folder;
  if (Status usable = check_folder(folder); !usable.ok()) return usable.error();
  Result<DeviceEnvironment> devices =
      device_environment(choices_of(order.allocation), offer.accelerators);
  if (!devices.ok()) return std::move(devices).error();
  Result<PythonChoice> python = python_of(order.allocation, offer);
  if (!python.ok()) return std::move(python).error();
  EnvironmentSource source;
  source.inherited = own_environment();
  source.forward = options.forward_env;
  source.asked = spec.env;
  for (const wire::Secret& secret : secrets) source.asked.push_back({secret.name, secret.value});
  source.user = current_user();
  source.temp_folder = temp_folder;
  source.devices = std::move(devices).value();
  source.python = std::move(python).value();
  source.cpus = order.description.requirement.cpus;
  source.job = order.job;
  source.task = order.task;
  source.attempt = order.fence.attempt;
  source.peer = offer.name;
  return Command{spec.command, job_environment(source), folder};
}

DeviceTry take_devices(const to_worker::Start& order, const PeerOffer& offer,
                       const std::vector<std::string>& lock_folders) {
  DeviceTry tried;
  if (order.allocation.devices.empty()) return tried;
  const auto in_the_way = [](std::string what) { return DeviceTry{{}, std::move(what)}; };
  const Result<DeviceLedger> ledger = DeviceLedger::open(lock_folders);
  if (!ledger.ok()) return in_the_way(ledger.error().message);
  const Result<posix::Fd> turn = ledger.value().begin_placing();
  if (!turn.ok()) return in_the_way(turn.error().message);
  for (const DeviceClaim& claim : order.allocation.devices) {
    const Accelerator* device = device_of(offer, claim.device);
    if (device == nullptr) return in_the_way("a device that this machine has no longer");
    const std::string holder = obstacle_of(claim, *device, ledger.value().holds({*device}));
    if (!holder.empty()) return in_the_way(device->id + ", which " + holder + " has");
    Result<std::vector<posix::Fd>> locks = ledger.value().take(
        {{claim.device}, claim.shared_memory_bytes, std::nullopt}, {*device}, hold_of(order));
    if (!locks.ok()) return in_the_way(locks.error().message);
    for (posix::Fd& lock : locks.value()) tried.locks.push_back(std::move(lock));
  }
  return tried;
}

}  // namespace gpl::host
