#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpl/auth/handshake.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/loop.h"
#include "gpl/net/secure_socket.h"
#include "gpl/peer/identity.h"
#include "gpl/wire/link_message.h"

namespace gpl::peer {

/// How patient a Mesh is.
struct MeshPace {
  Duration ping_after = seconds(3);  ///< of silence
  Duration dead_after = seconds(9);  ///< of silence while this loop was turning
  Duration hello_within = seconds(5);
  Duration pong_within = seconds(2);         ///< when somebody else says that it is this peer
  Duration least_pause = milliseconds(200);  ///< between tries to dial: doubled up to the longest
  Duration longest_pause = seconds(10);
  Duration called_back_within = seconds(5);  ///< for who is asked to connect
};

/// How this peer reaches others, and they it.
struct MeshOptions {
  Identity identity;
  auth::Key key;  ///< the cluster key
  auth::KeyPair own;
  std::string version;
  std::string state_folder;  ///< the addresses of others are kept in it
  std::optional<net::PeerAddress>
      listen;                           ///< nothing: every address, the default port or a free one
  std::vector<net::PeerAddress> seeds;  ///< as a person named them; names are looked up anew
  bool mdns = true;
  MeshPace pace = {};
};

/// The links of this peer with all others of its cluster, one with each: it listens, dials those
/// whose addresses it knows (seeds, mDNS, what others tell, its own file) until it has a link, and
/// keeps the links alive. Of two links with one peer the one that the peer of lower id dialled
/// stays. Addresses come from sockets: a peer is known at the address that its connection came
/// from, with the port that it says it listens on.
///
/// Callbacks come from the loop, or from within `forget`; any may call the Mesh, or drop it.
class Mesh {
 public:
  struct Told {
    std::function<void(PeerId)> up;    ///< both hellos are exchanged
    std::function<void(PeerId)> down;  ///< its link is gone
    std::function<void(PeerId from, wire::LinkMessage message)> message;
    /// On which somebody else asks: a client, or another peer on behalf of clients. Accepted; or
    /// dialled, for a linked peer that cannot dial this one and asked for it (Purpose::callback).
    std::function<void(net::SecureSocket)> client;
    /// This state folder is a copy of one that another process uses: this process must not go on.
    std::function<void(const Error&)> twin;
    std::function<void(const std::string& note)> note;
  };

  /// Listens, announces and begins to dial. Code::busy when the port that was asked for is taken.
  static Result<std::unique_ptr<Mesh>> open(net::Loop& loop, MeshOptions options, Told told);
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  bool is_up(PeerId peer) const;
  std::vector<PeerId> up() const;  ///< ascending
  /// Whether it was given to the link; dropped without one. Messages of a link come in order.
  bool send(PeerId peer, wire::LinkMessage message);
  /// Of a linked peer: what it said of itself, and where it is.
  const wire::LinkHello* hello_of(PeerId peer) const;
  std::optional<net::PeerAddress> address_of(PeerId peer) const;
  /// The linked peer with this static key.
  std::optional<PeerId> peer_of(const auth::KeyBytes& static_public) const;
  /// A connection of its own to a linked peer, on which this side asks: dialled for Purpose::relay,
  /// or, when that peer cannot be dialled (a firewall lets nobody in), made by that peer when asked
  /// to over the link: Purpose::callback. Code::not_found, Code::busy, errors of SecureDialer.
  using Dialled = std::function<void(Result<net::SecureSocket>)>;
  void dial(PeerId peer, Dialled done);

  std::uint16_t port() const;
  /// The address to tell a person, "10.0.0.7:7457": the one that it was told to listen at, else of
  /// the route to a linked peer, of the default route, of any interface that is up.
  std::string shown_address() const;
  /// A peer that has left or was forgotten: its addresses are not kept.
  void forget(PeerId peer);
  /// Whether multicast seems not to get through: peers are linked that mDNS should have shown.
  bool multicast_is_blocked() const;
  std::size_t seen_by_mdns() const;

 private:
  struct State;
  explicit Mesh(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;  // shared with its own callbacks while they run
};

}  // namespace gpl::peer
