#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/peer_offer.h"
#include "gpl/core/result.h"
#include "gpl/core/worker_message.h"
#include "gpl/host/keeper.h"
#include "gpl/host/spawn.h"
#include "gpl/posix/fd.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::host {

/// The command of an attempt with its environment and folder. An error's words are for a person.
Result<Command> command_of(const to_worker::Start& order, const PeerOffer& offer,
                           const KeeperOptions& options, const std::vector<wire::Secret>& secrets,
                           const std::string& temp_folder, const std::string& work_folder);

/// Of a try to take an attempt's devices: their locks, or who is in the way.
struct DeviceTry {
  std::vector<posix::Fd> locks;
  std::string obstacle;  ///< "": they are taken
};
DeviceTry take_devices(const to_worker::Start& order, const PeerOffer& offer,
                       const std::vector<std::string>& lock_folders);

}  // namespace gpl::host
