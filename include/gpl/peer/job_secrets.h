#pragma once

#include <string>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::peer {

/// The values of jobs' secrets, outside of the log: STATE/secrets/REQUEST, mode 0600, by the
/// request that a job was submitted with, from its submit to its end.
class JobSecrets {
 public:
  explicit JobSecrets(std::string state_folder) : folder_(std::move(state_folder) + "/secrets") {}

  /// On disk, synced, before it returns; nothing is kept when there are none. Code::io.
  Status keep(const RequestId& request, const std::vector<wire::Secret>& secrets) const;
  /// Code::not_found when they are gone, or Code::invalid when the file is damaged.
  Result<std::vector<wire::Secret>> find(const RequestId& request) const;
  void remove(const RequestId& request) const;
  /// Of those that there are.
  std::vector<RequestId> list() const;

 private:
  std::string folder_;
};

}  // namespace gpl::peer
