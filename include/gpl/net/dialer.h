#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/address.h"
#include "gpl/net/loop.h"
#include "gpl/posix/fd.h"

namespace gpl::net {

/// One try to connect. `done` is called once, from the loop, never from within the call that makes
/// it, with a connected socket or an error: Code::not_found when nobody is there (no file, refused,
/// no route, no answer from TCP within `at_most`), Code::denied when it is not allowed,
/// Code::too_large for a path that is longer than a socket's, Code::busy when a Unix socket's owner
/// has not taken it within `at_most`. Dropping it gives up, and then nothing is called.
class Dialer {
 public:
  using Done = std::function<void(Result<posix::Fd>)>;

  static Dialer unix_socket(Loop& loop, const std::string& path, Duration at_most, Done done);
  /// Requires a numeric host (see `resolve`); a link-local one needs its scope: "fe80::1%eth0".
  static Dialer tcp(Loop& loop, const PeerAddress& address, Duration at_most, Done done);

  Dialer(Dialer&&) noexcept;
  Dialer& operator=(Dialer&&) noexcept;
  ~Dialer();

 private:
  struct State;
  explicit Dialer(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace gpl::net
