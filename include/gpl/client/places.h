#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "gpl/client/client_key.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/address.h"

namespace gpl::client {

/// Where a cluster's peers listen, and how long they are worth waiting for.
struct PeerPlace {
  std::vector<std::string> sockets;  ///< Unix sockets, tried in this order
  /// Tried next, in this order: names or numeric addresses, of peers of one cluster.
  std::vector<net::PeerAddress> addresses;
  std::optional<Proof> proof;  ///< needed for addresses
  /// For the first connection; 0: every place is tried once.
  Duration patience = seconds(10);
  /// For a peer that was there and has gone: an upgrade, a crash.
  Duration patience_again = seconds(300);
  /// A session over TCP that lasts longer asks its peer where else it could go on.
  Duration before_learning = seconds(2);
  std::string version;  ///< of this gpl, for people
};

/// The places of a PeerPlace in rounds, each tried once a round, and what came of each. Names are
/// resolved anew in every round, to all of their addresses.
class Places {
 public:
  using Place = std::variant<std::string, net::PeerAddress>;  ///< a socket, a numeric address

  Places(std::vector<std::string> sockets, std::vector<net::PeerAddress> addresses);

  /// The round's next one; nothing: it is over, and the next call begins another. Blocks for as
  /// long as the name servers take.
  std::optional<Place> next();
  /// The one that `next` gave last did not do.
  void failed(Error why);
  /// It did. A socket is from now on the only place: another one has other jobs. An address is the
  /// first from now on.
  void settled();
  /// More peers of the same cluster. Without effect once a socket has done.
  void learn(const std::vector<net::PeerAddress>& addresses);

  /// The one that `next` gave last.
  bool at_socket() const {
    const auto* socket = std::get_if<std::string>(&current_);
    return socket != nullptr && !socket->empty();
  }
  std::string name() const;
  /// Of this round, or else the last: somebody answered at an address and refused; nobody did not.
  bool refused() const { return refusals_ > 0; }
  bool all_refused() const { return refusals_ > 0 && refusals_ == failures_; }
  /// Why the round failed, every place with its own reason.
  Error why() const;

 private:
  void note(Error why);
  void resolve(const net::PeerAddress& address);

  std::vector<std::string> sockets_;
  std::vector<net::PeerAddress> addresses_;
  bool only_socket_ = false;
  Place current_;
  bool over_ = true;
  std::size_t next_socket_ = 0;
  std::size_t next_address_ = 0;
  std::deque<net::PeerAddress> numeric_;  ///< of the name that was resolved last
  std::set<std::string> tried_;
  std::vector<Error> reasons_;  ///< not all of many
  std::size_t failures_ = 0;
  std::size_t refusals_ = 0;
};

}  // namespace gpl::client
