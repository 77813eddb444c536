#pragma once

#include <functional>
#include <memory>

#include "gpl/auth/handshake.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/address.h"
#include "gpl/net/loop.h"
#include "gpl/posix/fd.h"

namespace gpl::net {

/// A connected socket whose two ends know each other: what follows on it is the channel's.
struct SecureSocket {
  posix::Fd socket;
  auth::Established session;
  PeerAddress remote;  ///< numeric, as the socket has it
  PeerAddress local;   ///< the own end: the address of the route to the other
};

/// Dials, then shakes hands as the initiator. `done` is called once, from the loop: errors of
/// Dialer and of auth::Handshake, Code::not_found when the other end closes or says nothing within
/// `at_most` (which is for all of it). Requires a numeric host. Dropping it gives up.
class SecureDialer {
 public:
  using Done = std::function<void(Result<SecureSocket>)>;
  SecureDialer(Loop& loop, const PeerAddress& address, auth::Call call, Duration at_most,
               Done done);
  SecureDialer(SecureDialer&&) noexcept;
  SecureDialer& operator=(SecureDialer&&) noexcept;
  ~SecureDialer();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct GateLimits {
  std::size_t handshakes = 256;        ///< at a time; beyond them the oldest goes
  std::size_t handshakes_a_host = 64;  ///< of these from one address
  Duration at_most = seconds(5);       ///< for a handshake
};

/// Shakes hands with who connects: a stranger costs a socket and under 1 KiB for a few seconds, and
/// is closed without a word but the hello. Failures are noted at most once a minute, with how many
/// there were and from where.
class Gate {
 public:
  struct Told {
    std::function<void(SecureSocket)> entered;
    std::function<void(const std::string& note)> note;  ///< may be empty
  };
  Gate(Loop& loop, auth::Answering answering, GateLimits limits, Told told);
  Gate(Gate&&) noexcept;
  Gate& operator=(Gate&&) noexcept;
  ~Gate();

  /// What a Listener has accepted.
  void take(posix::Fd socket, const PeerAddress& from);
  /// Under way now.
  std::size_t handshakes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gpl::net
