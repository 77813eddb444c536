#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "mesh_state.h"

namespace gpl::peer {
namespace {

constexpr Duration save_after = seconds(5);
constexpr std::size_t most_twin_addresses = 8;

/// Over a connection's life, also what nobody has read yet: a large frame that is on its way is a
/// sign of life. 0 when the system does not say.
std::uint64_t bytes_received(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  const bool is_told = ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                       size >= offsetof(tcp_info, tcpi_bytes_received) + sizeof(std::uint64_t);
  return is_told ? info.tcpi_bytes_received : 0;
}

}  // namespace

/// From here on it is the link with that peer.
void Mesh::State::take(Link& link) {
  const PeerId peer = link.hello->peer;
  greet(link);
  link.stage = Link::Stage::up;
  link.deadline.cancel();
  link.silence = link.since_ping = Duration{};
  linked[peer] = link.number;
  link.connection->set_frame_limit(wire::frame_limit_bytes);
  link.connection->resume();
  book.remember(peer);
  if (link.dialled) {
    book.worked(peer, link.hello->name, link.address);
  } else if (link.address.port != 0) {
    book.seen(peer, link.hello->name, link.address);
  }
  save();  // this process may be killed at any moment, and the seeds be gone by then
  if (link.seed) seeds_[*link.seed].peer = peer;
  stop_dialling(peer);
  if (told.up) told.up(peer);
  if (closed) return;
  introduce(peer);
  std::vector<std::uint64_t> held;
  for (const auto& [number, other] : links) {
    if (other->stage == Link::Stage::held) held.push_back(number);
  }
  for (const std::uint64_t number : held) {
    if (Link* const other = find(number); other != nullptr && !closed) judge(*other);
  }
}

/// So that all find all: the newcomer hears of everyone, and everyone of the newcomer.
void Mesh::State::introduce(PeerId peer) {
  Link* const newcomer = find_up(peer);
  if (newcomer == nullptr) return;
  wire::KnownPeers all;
  for (const PeerId other : book.peers()) {
    if (other == peer || other == own.peer) continue;
    if (auto known = book.telling(other, newcomer->remote)) all.peers.push_back(*std::move(known));
  }
  if (!all.peers.empty()) send(*newcomer, all);
  for (const auto& [other, number] : linked) {
    Link* const link = find(number);
    if (other == peer || link == nullptr) continue;
    if (auto known = book.telling(peer, link->remote)) send(*link, wire::KnownPeers{{*known}});
  }
}

void Mesh::State::take_known(const Link& link, const wire::KnownPeers& known) {
  std::size_t taken = 0;
  for (const wire::KnownPeer& one : known.peers) {
    if (++taken > AddressBook::most_peers) return;
    if (one.peer == own.peer) {
      std::vector<net::PeerAddress> addresses;
      for (const std::string& text : one.addresses) {
        const auto address = net::parse_peer_address(text);
        if (!address.ok() || addresses.size() >= most_twin_addresses) break;
        const AddressReach reach = reach_of(address.value().host);
        if (reach == AddressReach::wide || (reach == AddressReach::loopback &&
                                            reach_of(link.remote.host) == AddressReach::loopback))
          addresses.push_back(address.value());
      }
      dial_twin(addresses);
    } else if (book.told(one, link.remote)) {
      // Both ends are told of each other: one of them begins.
      hint(one.peer, own.peer > one.peer);
    }
  }
}

std::set<PeerId> Mesh::State::far_peers() const {
  std::set<PeerId> far;
  for (const auto& [peer, number] : linked) {
    const auto found = links.find(number);
    if (found == links.end() || found->second->remote.host == found->second->local.host) continue;
    if (reach_of(found->second->remote.host) != AddressReach::loopback) far.insert(peer);
  }
  return far;
}

void Mesh::State::arm_tick() {
  if (tick_.pending()) return;
  last_tick_ = loop.now();
  tick_ = loop.after(Duration{options.pace.ping_after.count_ms / 3}, weakly(&State::tick));
}

void Mesh::State::tick() {
  const Moment now = loop.now();
  // A process that was stopped knows nothing of what others said meanwhile.
  const Duration at_most{options.pace.ping_after.count_ms / 2};
  const Duration passed = std::min(now - last_tick_, at_most);
  std::vector<std::uint64_t> numbers;
  for (const auto& [peer, number] : linked) numbers.push_back(number);
  for (const std::uint64_t number : numbers) {
    if (Link* const link = find(number)) keep_alive(*link, passed);
    if (closed) return;
  }
  if (now - last_save_ >= save_after) save();
  if (discovery) discovery->check(now, far_peers());
  if (!links.empty()) arm_tick();
}

void Mesh::State::save() {
  last_save_ = loop.now();
  if (const Status saved = book.save(); !saved.ok())
    note_once("the addresses of other peers are not kept: " + saved.error().message);
}

void Mesh::State::keep_alive(Link& link, Duration passed) {
  link.silence.count_ms += passed.count_ms;
  link.since_ping.count_ms += passed.count_ms;
  if (link.silence < options.pace.ping_after) return;
  const std::uint64_t bytes = bytes_received(link.connection->descriptor());
  if (std::exchange(link.bytes_received, bytes) != bytes) {
    link.silence = link.since_ping = Duration{};
    return;
  }
  if (link.silence >= options.pace.dead_after) return drop(link.number);
  if (link.since_ping < options.pace.ping_after) return;
  link.since_ping = Duration{};
  send(link, wire::Ping{});
}

}  // namespace gpl::peer
