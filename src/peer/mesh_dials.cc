#include <algorithm>
#include <utility>

#include "mesh_state.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_dials = 64;  // at a time
constexpr std::size_t most_seed_addresses = 8;
constexpr std::size_t most_twin_addresses = 64;
constexpr Duration twin_again_after = seconds(30);
// What the other one needs to dial first, on a network that is not too slow.
constexpr Duration courtesy = milliseconds(250);

std::string lasting(const Error& error) {
  return error.code == Code::not_found ? "" : error.message;
}

}  // namespace

auth::Call Mesh::State::call(auth::Purpose purpose) const {
  return {options.key, auth::Role::peer, options.own, purpose};
}

/// Twice as long after each failure, and not at the same time as others that failed likewise.
Duration Mesh::State::pause_after(unsigned failures) {
  const std::int64_t least = options.pace.least_pause.count_ms;
  const std::int64_t longest = options.pace.longest_pause.count_ms;
  const std::int64_t whole = std::min(longest, least << std::min(failures, 16U));
  const std::int64_t half = whole / 2;
  return Duration{half + static_cast<std::int64_t>(
                             random_.below(static_cast<std::uint64_t>(whole - half) + 1))};
}

std::size_t Mesh::State::dialling() const {
  return static_cast<std::size_t>(
      std::count_if(targets_.begin(), targets_.end(),
                    [](const auto& one) { return one.second.dialer != nullptr; }));
}

void Mesh::State::redial(PeerId peer, Duration pause) {
  if (linked.contains(peer) || book.addresses(peer).empty()) {
    targets_.erase(peer);
    return;
  }
  targets_[peer].next = loop.after(pause, [weak = weak_from_this(), peer] {
    if (const auto self = weak.lock(); self && !self->closed) self->dial_target(peer);
  });
}

void Mesh::State::dial_target(PeerId peer) {
  std::vector<net::PeerAddress> addresses = book.addresses(peer);
  if (linked.contains(peer) || addresses.empty()) return stop_dialling(peer);
  MeshTarget& target = targets_[peer];
  const bool greets = std::any_of(links.begin(), links.end(),
                                  [&](const auto& one) { return one.second->wanted == peer; });
  if (target.dialer || greets) return;
  if (dialling() >= most_dials) return redial(peer, options.pace.least_pause);
  target.last = loop.now();
  auto done = [weak = weak_from_this(), peer](Result<FirstDialer::Reached> result) {
    const auto self = weak.lock();
    if (!self || self->closed) return;
    MeshTarget& dialled = self->targets_[peer];
    dialled.dialer.reset();
    if (result.ok()) {
      Link link;
      link.dialled = true;
      link.wanted = peer;
      link.address = result.value().address;
      if (self->add(std::move(result).value().socket, std::move(link)) != nullptr) return;
    } else if (const std::string why = lasting(result.error()); !why.empty()) {
      self->note_once(why);
    }
    self->redial(peer, self->pause_after(++dialled.failures));
  };
  target.dialer = std::make_unique<FirstDialer>(
      loop, FirstDialer::Wanted{std::move(addresses), call(auth::Purpose::link)}, std::move(done));
}

void Mesh::State::hint(PeerId peer, bool leave_the_first_try) {
  if (linked.contains(peer) || peer == own.peer) return;
  MeshTarget& target = targets_[peer];
  target.failures = 0;
  Duration pause = target.last + options.pace.least_pause - loop.now();
  if (pause < Duration{}) pause = Duration{};
  if (leave_the_first_try) pause.count_ms += courtesy.count_ms + pause_after(0).count_ms;
  redial(peer, pause);
}

/// What was dialled came to nothing.
void Mesh::State::retry(const Link& link) {
  if (!link.dialled) return;
  if (link.seed) retry_seed(*link.seed);
  if (link.wanted) redial(*link.wanted, pause_after(++targets_[*link.wanted].failures));
}

void Mesh::State::stop_dialling(PeerId peer) {
  targets_.erase(peer);
  std::vector<std::uint64_t> useless;
  for (const auto& [number, link] : links) {
    if (link->stage == Link::Stage::greeting && link->wanted == peer) useless.push_back(number);
  }
  for (const std::uint64_t number : useless) drop(number);
}

void Mesh::State::dial_seeds() {
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    if (linked.empty()) seeds_[i].peer.reset();
    dial_seed(i);
  }
}

void Mesh::State::dial_seed(std::size_t which) {
  MeshSeed& seed = seeds_[which];
  const bool greets = std::any_of(links.begin(), links.end(), [&](const auto& one) {
    return one.second->seed == which && one.second->stage != Link::Stage::up;
  });
  if (seed.peer || seed.lookup || seed.target.dialer || greets) return;
  if (reach_of(seed.said.host) != AddressReach::nowhere) return dial_seed_at(which, {seed.said});
  auto done = [weak = weak_from_this(), which](Result<std::vector<std::string>> hosts) {
    const auto self = weak.lock();
    if (!self || self->closed) return;
    self->seeds_[which].lookup.reset();
    if (!hosts.ok()) return self->seed_failed(which, hosts.error());
    std::vector<net::PeerAddress> addresses;
    for (const std::string& host : hosts.value()) {
      if (addresses.size() < most_seed_addresses)
        addresses.push_back({host, self->seeds_[which].said.port});
    }
    if (addresses.empty())
      return self->seed_failed(which, Error{Code::not_found, "the name has no addresses"});
    self->dial_seed_at(which, std::move(addresses));
  };
  seed.lookup = std::make_unique<NameLookup>(loop, seed.said.host, std::move(done));
}

void Mesh::State::dial_seed_at(std::size_t which, std::vector<net::PeerAddress> addresses) {
  auto done = [weak = weak_from_this(), which](Result<FirstDialer::Reached> result) {
    const auto self = weak.lock();
    if (!self || self->closed) return;
    self->seeds_[which].target.dialer.reset();
    if (!result.ok()) return self->seed_failed(which, result.error());
    Link link;
    link.dialled = true;
    link.seed = which;
    link.address = result.value().address;
    if (self->add(std::move(result).value().socket, std::move(link)) == nullptr)
      self->retry_seed(which);
  };
  seeds_[which].target.dialer = std::make_unique<FirstDialer>(
      loop, FirstDialer::Wanted{std::move(addresses), call(auth::Purpose::link)}, std::move(done));
}

void Mesh::State::seed_failed(std::size_t which, const Error& error) {
  note_once("no link with " + net::to_text(seeds_[which].said) + " yet (" + error.message +
            "): it is tried again and again");
  retry_seed(which);
}

void Mesh::State::retry_seed(std::size_t which) {
  MeshSeed& seed = seeds_[which];
  if (seed.peer) return;
  seed.target.next =
      loop.after(pause_after(++seed.target.failures), [weak = weak_from_this(), which] {
        if (const auto self = weak.lock(); self && !self->closed) self->dial_seed(which);
      });
}

/// Where somebody is said to be this peer: to find out who is to go.
void Mesh::State::dial_twin(const std::vector<net::PeerAddress>& addresses) {
  if (twin_tried_.size() >= most_twin_addresses) twin_tried_.clear();
  for (const net::PeerAddress& address : addresses) {
    const std::string key = net::to_text(address);
    const auto tried = twin_tried_.find(key);
    if (tried != twin_tried_.end() && loop.now() - tried->second < twin_again_after) continue;
    if (twin_dials_.size() >= most_twin_addresses) return;
    twin_tried_[key] = loop.now();
    auto done = [weak = weak_from_this(), key](Result<FirstDialer::Reached> result) {
      const auto self = weak.lock();
      if (!self || self->closed) return;
      self->twin_dials_.erase(key);
      if (!result.ok()) return;
      Link link;
      link.dialled = true;
      link.address = result.value().address;
      self->add(std::move(result).value().socket, std::move(link));
    };
    twin_dials_[key] = std::make_unique<FirstDialer>(
        loop, FirstDialer::Wanted{{address}, call(auth::Purpose::link)}, std::move(done));
  }
}

}  // namespace gpl::peer
