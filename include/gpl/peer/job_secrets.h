#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gpl/auth/key_pair.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::peer {

/// Of one job, names included.
inline constexpr std::size_t most_secret_bytes = std::size_t{64} * 1024;

/// The values of jobs' secrets, outside of the log, from a job's submit to its end, on the peer
/// that took the submit and on a second holder: STATE/secrets/REQUEST, mode 0600, by the request
/// that the job was submitted with. A line that says which format this is, then the names and
/// values, sealed for this peer alone.
class JobSecrets {
 public:
  /// `own`: this peer's static pair.
  JobSecrets(std::string state_folder, auth::KeyPair own)
      : folder_(std::move(state_folder) + "/secrets"), own_(own) {}

  /// On disk, synced, before it returns; nothing is kept when there are none. Code::io.
  Status keep(const RequestId& request, const std::vector<wire::Secret>& secrets) const;
  /// Code::not_found when they are gone, or Code::invalid when the file is damaged, or was sealed
  /// for another peer.
  Result<std::vector<wire::Secret>> find(const RequestId& request) const;
  bool has(const RequestId& request) const;
  void remove(const RequestId& request) const;
  /// Of those that there are.
  std::vector<RequestId> list(Duration age = {}) const;

 private:
  std::string folder_;
  auth::KeyPair own_;
};

}  // namespace gpl::peer
