#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gpl/auth/handshake.h"
#include "gpl/core/result.h"
#include "gpl/net/loop.h"
#include "gpl/net/secure_socket.h"
#include "gpl/posix/fd.h"

namespace gpl::net {

/// One side of a handshake over a connected socket. It reads what the handshake wants and never a
/// byte more: that is the channel's. `done` is called once, from the loop, with errors of
/// auth::Handshake, Code::not_found when the other end closes, Code::io. It has no deadline of its
/// own. Dropping it closes the socket.
class Greeting {
 public:
  using Done = std::function<void(Result<SecureSocket>)>;
  Greeting(Loop& loop, posix::Fd socket, auth::Handshake handshake, Done done);
  Greeting(Greeting&&) noexcept = default;
  Greeting& operator=(Greeting&&) noexcept = default;
  ~Greeting() = default;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gpl::net
