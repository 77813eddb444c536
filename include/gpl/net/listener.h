#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "gpl/core/result.h"
#include "gpl/net/address.h"
#include "gpl/net/loop.h"
#include "gpl/posix/fd.h"

namespace gpl::net {

/// A socket that others connect to. It goes on when descriptors run out: it waits until there are
/// some again. Dropping it ends it, and removes a Unix socket's file; who was accepted stays.
class Listener {
 public:
  struct Told {
    /// A connected socket and, of TCP, the numeric address it came from.
    std::function<void(posix::Fd socket, const PeerAddress& from)> accepted;
    /// May be empty. For the log, once per episode: "no descriptors left ...".
    std::function<void(const std::string& note)> note;
  };

  /// Makes the socket file `path` with `mode` (0600, 0660). A file that a dead process left is
  /// replaced; the file `path`.lock, which stays, keeps two that start together apart. Errors:
  /// Code::busy when someone serves it, with the process; Code::too_large for a path that is longer
  /// than a socket's can be (`longest_unix_path`); Code::invalid when something else is at `path`.
  static Result<Listener> listen_unix(Loop& loop, const std::string& path, mode_t mode, Told told);

  /// Requires a numeric host; "::" takes IPv4 too; port 0 takes a free one. Code::busy when the
  /// port is taken, Code::denied, Code::not_found when the address is not this machine's.
  static Result<Listener> listen_tcp(Loop& loop, const PeerAddress& address, Told told);

  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) noexcept;
  ~Listener();

  /// Of TCP: where it listens.
  const PeerAddress& address() const;

 private:
  struct State;
  explicit Listener(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

/// Bytes of a Unix socket's path: sun_path without its end.
inline constexpr std::size_t longest_unix_path = 107;

}  // namespace gpl::net
