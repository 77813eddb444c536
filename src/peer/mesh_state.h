#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "first_dialer.h"
#include "gpl/core/prng.h"
#include "gpl/net/connection.h"
#include "gpl/net/listener.h"
#include "gpl/net/timer.h"
#include "gpl/peer/address_book.h"
#include "gpl/peer/discovery.h"
#include "gpl/peer/mesh.h"
#include "name_lookup.h"

namespace gpl::peer {

/// One connection of the link protocol.
struct MeshLink {
  enum class Stage {
    greeting,  ///< the other's hello is to come
    held,      ///< may be one of two at a time, of which the other is to stay
    asking,    ///< there is a link with that peer, which is being asked whether it lives
    up,
    leaving,  ///< it ends once the other has been told all
  };
  std::uint64_t number = 0;
  bool dialled = false;
  std::optional<PeerId> wanted;     ///< dialled: whom
  std::optional<std::size_t> seed;  ///< dialled: which seed's
  net::PeerAddress address;         ///< of the peer's listener; port 0: it has none
  net::PeerAddress remote;
  net::PeerAddress local;
  auth::KeyBytes static_key{};
  std::optional<net::Connection> connection;
  std::optional<wire::LinkHello> hello;
  Stage stage = Stage::greeting;
  bool greeted = false;  ///< the own hello is sent
  net::Timer deadline;
  std::uint64_t asked = 0;  ///< asking: the number of the link
  std::uint64_t ping = 0;   ///< and of the question
  // up:
  Duration silence;
  Duration since_ping;
  std::uint64_t bytes_received = 0;
};

/// Somebody to dial until there is a link.
struct MeshTarget {
  unsigned failures = 0;
  Moment last;  ///< try
  net::Timer next;
  std::unique_ptr<FirstDialer> dialer;
};
struct MeshSeed {
  net::PeerAddress said;
  std::optional<PeerId> peer;  ///< who was found there; this one: it need not be dialled
  MeshTarget target;
  std::unique_ptr<NameLookup> lookup;
};

/// A connection of its own to a linked peer, on which this side asks.
struct MeshRelay {
  PeerId peer;
  Mesh::Dialled done;  ///< none: it has one, and is dialled on to learn whether that works
  std::vector<net::PeerAddress> addresses;
  std::unique_ptr<FirstDialer> dialer;
  std::optional<Error> failed;  ///< why it could not be dialled
  bool asked = false;           ///< to connect
  net::Timer timer;             ///< until it is asked, then for its connection
};
/// A peer that does not answer where it is said to be.
struct Undialled {
  std::set<std::string> addresses;
  Moment since;
};
/// A connection that another asks for, and asks on.
struct MeshCallBack {
  PeerId peer;
  std::unique_ptr<FirstDialer> dialer;
};

struct Mesh::State : std::enable_shared_from_this<Mesh::State> {
 public:
  State(net::Loop& loop, MeshOptions options, Told told);

  // mesh_open.cc
  Status start(std::uint64_t process);
  void close();

  // mesh_links.cc: from a connection to a link
  using Link = MeshLink;
  void entered(net::SecureSocket socket);
  Link* add(net::SecureSocket socket, Link link);
  void received(std::uint64_t number, std::string_view payload);
  void drop(std::uint64_t number);
  bool send(Link& link, const wire::LinkMessage& message);
  Link* find(std::uint64_t number);
  Link* find_up(PeerId peer);

  // mesh_live.cc: links that are up
  void take(Link& link);
  void tick();
  void save();
  void introduce(PeerId peer);
  void take_known(const Link& link, const wire::KnownPeers& known);
  std::set<PeerId> far_peers() const;

  // mesh_relays.cc
  void dial(PeerId peer, Dialled done);
  void called_back(net::SecureSocket socket);
  void call_back(const Link& link);
  void forget_undialled(PeerId peer);

  // mesh_dials.cc
  void redial(PeerId peer, Duration pause);
  void hint(PeerId peer, bool leave_the_first_try);
  void retry(const Link& link);
  void stop_dialling(PeerId peer);
  void dial_seeds();
  void dial_twin(const std::vector<net::PeerAddress>& addresses);
  Duration pause_after(unsigned failures);

  void note(const std::string& text) const;
  void note_once(const std::string& text);
  std::string where(const net::PeerAddress& address) const;

  net::Loop& loop;
  MeshOptions options;
  Told told;
  wire::LinkHello own;
  AddressBook book;
  std::optional<net::Listener> listener;
  std::optional<net::Gate> gate;
  std::unique_ptr<Discovery> discovery;
  std::map<std::uint64_t, std::unique_ptr<Link>> links;
  std::map<PeerId, std::uint64_t> linked;  ///< those that are up
  bool closed = false;

 private:
  Status listen();
  Result<net::Listener> listen_at(const net::PeerAddress& address);
  Result<net::Listener> listen_at_any_port(const std::string& host);
  Result<net::Listener> listen_anywhere();
  void discover();

  void greet(Link& link);
  void heard_first(Link& link, wire::LinkMessage message);
  void heard(Link& link, wire::LinkMessage message);
  void judge(Link& link);
  void judge_rival(Link& link, Link& old);
  bool may_be_dialling(const Link& link) const;
  void hold(Link& link);
  void ask(Link& old, Link& newcomer);
  void give_way(std::uint64_t newcomer, Moment due);
  void answered(Link& old, std::uint64_t ping);
  void refuse(Link& link, const std::string& why);
  void refuse_foreign(Link& link);
  void refuse_copy(Link& link, Link& old);
  void leave(Link& link);
  void met_itself(Link& link);
  void met_twin(Link& link);
  void after_end(const Link& link, Link::Stage was);

  void keep_alive(Link& link, Duration passed);
  void arm_tick();

  void dial_target(PeerId peer);
  void dial_seed(std::size_t which);
  void dial_seed_at(std::size_t which, std::vector<net::PeerAddress> addresses);
  void seed_failed(std::size_t which, const Error& error);
  void retry_seed(std::size_t which);
  auth::Call call(auth::Purpose purpose) const;
  std::size_t dialling() const;

  std::vector<net::PeerAddress> addresses_of(const Link& link) const;
  bool is_undialled(PeerId peer, const std::vector<net::PeerAddress>& addresses);
  void ask_to_connect(std::uint64_t relay);
  void relay_dialled(std::uint64_t number, Result<FirstDialer::Reached> result);
  void relay_ends(std::uint64_t number, Result<net::SecureSocket> result);
  void not_called_back(std::uint64_t number);

  template <class... Args>
  auto weakly(void (State::*method)(Args...)) {
    return [weak = weak_from_this(), method](Args... args) {
      const auto self = weak.lock();
      if (self && !self->closed) ((*self).*method)(std::forward<Args>(args)...);
    };
  }

  Prng random_{0};
  std::vector<std::unique_ptr<Link>> ended_;  ///< until the end of the turn: they may be in use
  std::uint64_t last_number_ = 0;
  std::uint64_t last_ping_ = 0;
  net::Timer tick_;
  Moment last_tick_;
  Moment last_save_;
  std::set<std::string> noted_;
  bool twin_told_ = false;
  std::uint64_t noted_twin_ = 0;  ///< its process
  std::map<PeerId, MeshTarget> targets_;
  std::vector<MeshSeed> seeds_;
  std::map<std::string, std::unique_ptr<FirstDialer>> twin_dials_;
  std::map<std::string, Moment> twin_tried_;
  std::map<std::uint64_t, MeshRelay> relays_;
  std::map<std::uint64_t, MeshCallBack> call_backs_;
  std::map<PeerId, Undialled> undialled_;
};

}  // namespace gpl::peer
