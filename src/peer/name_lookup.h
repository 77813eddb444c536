#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/net/loop.h"
#include "gpl/net/watch.h"
#include "gpl/posix/fd.h"

namespace gpl::peer {

/// Asks for the addresses of a host's name on a thread of its own, since name servers take what
/// time they like. `done` is called once, from the loop; dropping it gives up, and the thread then
/// ends by itself, whenever it has its answer.
class NameLookup {
 public:
  using Done = std::function<void(Result<std::vector<std::string>>)>;
  NameLookup(net::Loop& loop, std::string host, Done done);
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

 private:
  struct Answer;  // lives on with the thread
  Status begin(net::Loop& loop, std::string host);
  void take();

  std::shared_ptr<Answer> answer_;
  posix::Fd ended_;  // the thread closes the other end
  net::Watch watch_;
  net::Timer failed_;
  Done done_;
};

}  // namespace gpl::peer
