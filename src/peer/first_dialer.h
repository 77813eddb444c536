#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "gpl/auth/handshake.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/address.h"
#include "gpl/net/loop.h"
#include "gpl/net/secure_socket.h"

namespace gpl::peer {

/// Dials the addresses that one machine may have, a next one as soon as one fails and whenever a
/// while has passed, until one of them has shaken hands; the others are dropped then. `done` is
/// called once, from the loop, and may drop it. Of several errors the one that says most is told.
class FirstDialer {
 public:
  struct Reached {
    net::SecureSocket socket;
    net::PeerAddress address;  ///< as dialled
  };
  using Done = std::function<void(Result<Reached>)>;
  struct Wanted {
    std::vector<net::PeerAddress> addresses;  ///< numeric, the best first; at least one
    auth::Call call;
    std::optional<auth::KeyBytes> static_key = std::nullopt;  ///< nobody else will do
  };

  FirstDialer(net::Loop& loop, Wanted wanted, Done done);
  FirstDialer(const FirstDialer&) = delete;
  FirstDialer& operator=(const FirstDialer&) = delete;

 private:
  void dial_next();
  void ended(std::size_t which, Result<net::SecureSocket> result);

  net::Loop& loop_;
  Wanted wanted_;
  Done done_;
  std::vector<net::SecureDialer> dialers_;
  std::size_t failures_ = 0;
  std::optional<Error> error_;
  net::Timer next_;
};

}  // namespace gpl::peer
