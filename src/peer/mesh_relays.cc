#include <algorithm>
#include <utility>

#include "mesh_state.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_pending = 4;  // of one peer, on either side
// Who has not answered by then is asked to connect as well: a person waits.
constexpr Duration head_start = seconds(1);
constexpr Duration undialled_for = seconds(600);

std::set<std::string> texts_of(const std::vector<net::PeerAddress>& addresses) {
  std::set<std::string> texts;
  for (const net::PeerAddress& address : addresses) texts.insert(net::to_text(address));
  return texts;
}

}  // namespace

/// The best first: where the link is.
std::vector<net::PeerAddress> Mesh::State::addresses_of(const Link& link) const {
  std::vector<net::PeerAddress> addresses = book.addresses(link.hello->peer);
  if (link.address.port == 0) return addresses;
  const auto worse = std::find(addresses.begin(), addresses.end(), link.address);
  if (worse != addresses.end()) addresses.erase(worse);
  addresses.insert(addresses.begin(), link.address);
  return addresses;
}

void Mesh::State::forget_undialled(PeerId peer) { undialled_.erase(peer); }

/// Whether it was found out that dialling these is in vain.
bool Mesh::State::is_undialled(PeerId peer, const std::vector<net::PeerAddress>& addresses) {
  const auto known = undialled_.find(peer);
  if (known == undialled_.end()) return false;
  const bool holds = loop.now() - known->second.since < undialled_for &&
                     known->second.addresses == texts_of(addresses);
  if (!holds) undialled_.erase(known);
  return holds;
}

void Mesh::State::dial(PeerId peer, Dialled done) {
  Link* const link = find_up(peer);
  const auto waiting = std::count_if(relays_.begin(), relays_.end(), [&](const auto& entry) {
    return entry.second.peer == peer && entry.second.done != nullptr;
  });
  const bool are_many = static_cast<std::size_t>(waiting) >= most_pending;
  if (link == nullptr || are_many) {
    const Error error = are_many
                            ? Error{Code::busy, "many connections with that peer are being made"}
                            : Error{Code::not_found, "there is no link with that peer"};
    loop.at_end_of_turn([weak = weak_from_this(), error, done = std::move(done)] {
      if (const auto self = weak.lock(); self && !self->closed) done(error);
    });
    return;
  }
  const std::uint64_t number = ++last_number_;
  MeshRelay& relay = relays_[number];
  relay.peer = peer;
  relay.done = std::move(done);
  relay.addresses = addresses_of(*link);
  if (relay.addresses.empty() || is_undialled(peer, relay.addresses)) return ask_to_connect(number);
  relay.timer = loop.after(head_start, [weak = weak_from_this(), number] {
    if (const auto self = weak.lock(); self && !self->closed) self->ask_to_connect(number);
  });
  relay.dialer = std::make_unique<FirstDialer>(
      loop, FirstDialer::Wanted{relay.addresses, call(auth::Purpose::relay), link->static_key},
      [weak = weak_from_this(), number](Result<FirstDialer::Reached> result) {
        const auto self = weak.lock();
        if (self && !self->closed) self->relay_dialled(number, std::move(result));
      });
}

void Mesh::State::relay_dialled(std::uint64_t number, Result<FirstDialer::Reached> result) {
  MeshRelay& relay = relays_.at(number);
  relay.dialer.reset();
  if (result.ok()) return relay_ends(number, std::move(result).value().socket);
  undialled_[relay.peer] = {texts_of(relay.addresses), loop.now()};
  if (const Link* const link = find_up(relay.peer))
    note_once(link->hello->name + " cannot be reached at " + net::to_text(relay.addresses.front()) +
              " (does its firewall let it in?): it is asked to connect instead");
  if (closed) return;
  relay.failed = std::move(result).error();
  if (!relay.done) {
    relays_.erase(number);
  } else if (!relay.asked) {
    ask_to_connect(number);
  } else if (!relay.timer.pending()) {
    not_called_back(number);
  }
}

void Mesh::State::relay_ends(std::uint64_t number, Result<net::SecureSocket> result) {
  const auto node = relays_.extract(number);
  if (!node.empty() && node.mapped().done) node.mapped().done(std::move(result));
}

void Mesh::State::ask_to_connect(std::uint64_t number) {
  MeshRelay& relay = relays_.at(number);
  relay.asked = true;
  Link* const link = find_up(relay.peer);
  const bool is_sent = link != nullptr && send(*link, wire::CallBack{});
  relay.timer = loop.after(is_sent ? options.pace.called_back_within : Duration{},
                           [weak = weak_from_this(), number] {
                             if (const auto self = weak.lock(); self && !self->closed)
                               self->not_called_back(number);
                           });
}

/// What holds it up may be gone by the next time: it is dialled again then.
void Mesh::State::not_called_back(std::uint64_t number) {
  const MeshRelay& relay = relays_.at(number);
  if (relay.dialer) return;  // a slow one: that has its own limit
  undialled_.erase(relay.peer);
  relay_ends(number, Error{Code::not_found,
                           (relay.failed ? relay.failed->message : "it cannot be dialled") +
                               ", and it did not connect when asked to"});
}

/// Somebody was asked to connect, and has.
void Mesh::State::called_back(net::SecureSocket socket) {
  for (auto& [number, relay] : relays_) {
    const Link* const link = find_up(relay.peer);
    const bool is_it = relay.done && relay.asked && link != nullptr &&
                       link->static_key == socket.session.remote_static;
    if (!is_it) continue;
    const Dialled done = std::exchange(relay.done, nullptr);
    relay.timer.cancel();
    if (!relay.dialer) relays_.erase(number);
    return done(std::move(socket));
  }
}

/// The peer of this link asks for a connection on which it asks.
void Mesh::State::call_back(const Link& link) {
  const PeerId peer = link.hello->peer;
  std::vector<net::PeerAddress> addresses = addresses_of(link);
  const auto pending = std::count_if(call_backs_.begin(), call_backs_.end(),
                                     [&](const auto& entry) { return entry.second.peer == peer; });
  if (addresses.empty() || static_cast<std::size_t>(pending) >= most_pending) return;
  const std::uint64_t number = ++last_number_;
  MeshCallBack& made = call_backs_[number];
  made.peer = peer;
  made.dialer = std::make_unique<FirstDialer>(
      loop,
      FirstDialer::Wanted{std::move(addresses), call(auth::Purpose::callback), link.static_key},
      [weak = weak_from_this(), number,
       name = link.hello->name](Result<FirstDialer::Reached> result) {
        const auto self = weak.lock();
        if (!self || self->closed) return;
        self->call_backs_.erase(number);
        if (!result.ok())
          return self->note_once(
              name + " asks this peer to connect to it, which fails: " + result.error().message);
        if (self->told.client) self->told.client(std::move(result).value().socket);
      });
}

}  // namespace gpl::peer
