#include "gpl/peer/joining.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "first_dialer.h"
#include "gpl/host/machine.h"
#include "gpl/net/connection.h"
#include "gpl/peer/address_book.h"
#include "gpl/peer/discovery.h"
#include "gpl/posix/clock.h"
#include "gpl/wire/codec.h"
#include "name_lookup.h"
#include "tame_text.h"

namespace gpl::peer {
namespace {

constexpr Duration hello_within = seconds(5);
constexpr Duration first_pause = milliseconds(500);
constexpr Duration longest_pause = seconds(5);
constexpr std::size_t most_addresses = 8;
constexpr std::ptrdiff_t most_dials = 32;  ///< at a time, of peers that were announced
constexpr std::size_t most_places = 1000;
constexpr std::size_t most_noted = 256;

}  // namespace

struct ClusterSearch::State : std::enable_shared_from_this<ClusterSearch::State> {
 public:
  State(net::Loop& on, Options given, Told teller)
      : loop(on), options(std::move(given)), told(std::move(teller)) {}

  void start() {
    for (const net::PeerAddress& seed : options.seeds) {
      const std::string key = net::to_text(seed);
      places[key].seed = seed;
      look(key);
    }
    if (options.mdns) discover();
  }

  bool ended = false;

 private:
  /// Where a peer may be: a seed, or what mDNS shows.
  struct Place {
    std::optional<net::PeerAddress> seed;
    std::vector<net::PeerAddress> addresses;
    net::PeerAddress reached;
    Duration pause = first_pause;
    std::unique_ptr<NameLookup> lookup;
    std::unique_ptr<FirstDialer> dialer;
    std::optional<net::Connection> connection;
    net::Timer timer;  ///< until the next try, or the end of this one
  };

  /// `then` while the search goes on, with the place, which is still there: none is ever removed.
  template <class F>
  auto on_place(const std::string& key, F then) {
    return [weak = weak_from_this(), key, then](auto&&... args) {
      const auto self = weak.lock();
      if (!self || self->ended) return;
      // A copy of the key: this function may go while `then` runs.
      then(*self, std::string(key), self->places[key], std::forward<decltype(args)>(args)...);
    };
  }

  void discover() {
    Discovery::Told to;
    to.hint = [weak = weak_from_this()](PeerId peer, const std::vector<net::PeerAddress>& where) {
      const auto self = weak.lock();
      if (self && !self->ended) self->seen(peer, where);
    };
    to.stranger = [weak = weak_from_this()](const net::MdnsFound& found) {
      const auto self = weak.lock();
      if (self && !self->ended) self->seen_stranger(found);
    };
    to.note = [weak = weak_from_this()](const std::string& text) {
      const auto self = weak.lock();
      if (self && !self->ended) self->note_once(text);
    };
    auto made = Discovery::open(loop, {options.key.fingerprint(), std::nullopt}, std::move(to));
    if (made.ok()) {
      discovery = std::move(made).value();
    } else {
      note_once("cannot look for peers by multicast DNS: " + made.error().message);
    }
  }

  void seen(PeerId peer, const std::vector<net::PeerAddress>& where) {
    const std::string key = "peer " + std::to_string(peer.value);
    if (!places.contains(key) && places.size() >= most_places) return;
    Place& place = places[key];
    place.addresses = where;
    if (place.addresses.size() > most_addresses) place.addresses.resize(most_addresses);
    place.pause = first_pause;
    look(key);
  }

  void seen_stranger(const net::MdnsFound& found) {
    const auto key = found.service.text.find("key");
    if (key == found.service.text.end() || found.addresses.empty()) return;
    const std::string where = net::to_text(found.addresses.front());
    // Once for a cluster, not for each of its peers.
    if (strangers.size() < most_noted && strangers.insert(key->second).second)
      note_once("at " + where +
                " is a peer of a cluster with another key: to join that one, bring "
                "its key here (`gpl key show` there, `gpl key set` here)");
  }

  void look(const std::string& key) {
    Place& place = places[key];
    if (place.lookup || place.dialer || place.connection) return;
    place.timer.cancel();
    // Anyone may announce any number of peers: those that a person has named come first.
    const auto dialling = std::count_if(places.begin(), places.end(), [](const auto& each) {
      return each.second.dialer != nullptr;
    });
    if (!place.seed && dialling >= most_dials) {
      place.timer = loop.after(first_pause, on_place(key, [](State& self, const std::string& same,
                                                             Place&) { self.look(same); }));
      return;
    }
    if (!place.seed) return dial(key, place.addresses);
    if (reach_of(place.seed->host) != AddressReach::nowhere) return dial(key, {*place.seed});
    place.lookup = std::make_unique<NameLookup>(
        loop, place.seed->host,
        on_place(key, [](State& self, const std::string& same, Place& asked,
                         Result<std::vector<std::string>> hosts) {
          asked.lookup.reset();
          if (!hosts.ok()) return self.fail(same, hosts.error().message);
          std::vector<net::PeerAddress> addresses;
          for (const std::string& host : hosts.value())
            if (addresses.size() < most_addresses) addresses.push_back({host, asked.seed->port});
          self.dial(same, std::move(addresses));
        }));
  }

  void dial(const std::string& key, std::vector<net::PeerAddress> addresses) {
    if (addresses.empty()) return fail(key, "there is no address to try");
    places[key].dialer = std::make_unique<FirstDialer>(
        loop,
        FirstDialer::Wanted{std::move(addresses),
                            {options.key, auth::Role::peer, options.own, auth::Purpose::link}},
        on_place(key, [](State& self, const std::string& same, Place& dialled,
                         Result<FirstDialer::Reached> result) {
          dialled.dialer.reset();
          if (!result.ok()) return self.fail(same, result.error().message);
          dialled.reached = result.value().address;
          self.greet(same, std::move(result).value().socket);
        }));
  }

  void greet(const std::string& key, net::SecureSocket socket) {
    Place& place = places[key];
    net::Connection::Told to;
    to.frame =
        on_place(key, [](State& self, const std::string& same, Place& answering,
                         std::string_view payload) { self.heard(same, answering, payload); });
    to.closed = on_place(
        key, [](State& self, const std::string& same, Place&, const net::Closing& closing) {
          self.fail(same, closing.message.empty() ? "it closed the connection" : closing.message);
        });
    auto made = net::Connection::adopt(loop, std::move(socket), {}, std::move(to));
    if (!made.ok()) return fail(key, made.error().message);
    place.connection.emplace(std::move(made).value());
    wire::LinkHello hello;
    hello.name = host::host_name();
    hello.version = options.version;
    hello.process_began = posix::wall_clock();
    place.connection->send(wire::encode(wire::LinkMessage(hello)));
    place.timer =
        loop.after(hello_within, on_place(key, [](State& self, const std::string& same, Place&) {
                     self.fail(same, "it does not say who it is");
                   }));
  }

  void heard(const std::string& key, const Place& place, std::string_view payload) {
    const auto message = wire::decode<wire::LinkMessage>(payload);
    if (!message.ok()) return fail(key, message.error().message);
    if (const auto* refused = std::get_if<wire::LinkRefused>(&message.value()))
      return fail(key, tame_text(refused->why, 2000));
    const auto* hello = std::get_if<wire::LinkHello>(&message.value());
    if (hello == nullptr || hello->cluster == 0) return fail(key, "it is of no cluster");
    FoundCluster found{hello->cluster, place.reached, tame_text(hello->name, 255)};
    ended = true;
    const auto tell = std::move(told.found);
    if (tell) tell(std::move(found));
  }

  void fail(const std::string& key, const std::string& why) {
    Place& place = places[key];
    place.connection.reset();
    const std::string where = net::to_text(place.seed                ? *place.seed
                                           : place.addresses.empty() ? net::PeerAddress{}
                                                                     : place.addresses.front());
    note_once("no cluster at " + where + " yet: " + why);
    if (ended) return;
    place.timer = loop.after(place.pause, on_place(key, [](State& self, const std::string& same,
                                                           Place&) { self.look(same); }));
    place.pause = std::min(longest_pause, Duration{place.pause.count_ms * 2});
  }

  void note_once(const std::string& text) {
    if (noted.size() >= most_noted) noted.clear();
    if (noted.insert(text).second && told.note && !ended) told.note(text);
  }

  net::Loop& loop;
  Options options;
  Told told;
  std::map<std::string, Place> places;
  std::unique_ptr<Discovery> discovery;
  std::set<std::string> noted;
  std::set<std::string> strangers;
};

ClusterSearch::ClusterSearch(net::Loop& loop, Options options, Told told)
    : state_(std::make_shared<State>(loop, std::move(options), std::move(told))) {
  state_->start();
}
ClusterSearch::~ClusterSearch() { state_->ended = true; }

}  // namespace gpl::peer
