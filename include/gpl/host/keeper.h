#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/core/worker.h"

namespace gpl::host {

struct KeeperOptions {
  std::string state_folder;              ///< made when missing
  std::string version;                   ///< of gpl, for people
  std::vector<std::string> forward_env;  ///< the configuration's, see EnvironmentSource::forward
  std::uint64_t output_cap_bytes = std::uint64_t{1} << 30;  ///< of an attempt on disk; >= 64 KiB
  std::vector<std::string> lock_folders = {"/run/lock", "/tmp"};  ///< see DeviceLedger::open
  WorkerOptions worker;
};

/// The keeper: the process that owns a peer's attempts, with their output and exits on disk
/// (attempt_folder.h), and that outlives the peer. One a state folder; it serves one peer at a time
/// over the socket socket_path(STATE, "keeper.sock") (wire/keeper_message.h). When it is killed,
/// the guards end its attempts, and the next keeper tells that they were lost.
///
/// Returns when a peer retires it and no attempt is live, or after SIGTERM, which ends all attempts
/// first; INT and HUP are ignored. Takes over the process: its signals, title and children. Must be
/// called in a single-threaded process. Code::busy when the folder has a keeper.
Status run_keeper(const KeeperOptions& options);

}  // namespace gpl::host
