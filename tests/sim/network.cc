#include "sim/network.h"

#include <utility>

namespace gpl::sim {

namespace {

/// From a machine to itself: a local socket.
constexpr Micros loopback = 10;

}  // namespace

Network::Network(World& world, NetworkQuality quality)
    : world_(world), dice_(world.dice("network")), quality_(quality) {}

Endpoint Network::add_endpoint(std::string name) {
  names_.push_back(std::move(name));
  for (auto& row : blocked_) row.push_back(false);
  blocked_.emplace_back(names_.size(), false);
  cut_off_.push_back(false);
  muted_.push_back(false);
  return names_.size() - 1;
}

Micros Network::delay() {
  const auto spread = static_cast<std::uint64_t>(quality_.delay_high - quality_.delay_low + 1);
  Micros time = quality_.delay_low + static_cast<Micros>(dice_.below(spread));
  if (chance(quality_.late_ppm)) {
    world_.count(Figure::messages_late);
    time += static_cast<Micros>(dice_.below(static_cast<std::uint64_t>(quality_.late_high)));
  }
  return time;
}

void Network::send(Endpoint from, Endpoint to, std::function<void()> deliver, Micros later) {
  world_.count(Figure::messages);
  if (from == to) {
    world_.after(loopback, std::move(deliver));
    return;
  }
  if (blocked(from, to)) {
    world_.count(Figure::messages_blocked);
    return;
  }
  if (chance(quality_.drop_ppm)) {
    world_.count(Figure::messages_dropped);
    return;
  }
  if (chance(quality_.double_ppm)) {
    world_.count(Figure::messages_doubled);
    carry(from, to, deliver, later);
  }
  carry(from, to, deliver, later);
}

void Network::carry(Endpoint from, Endpoint to, const std::function<void()>& deliver,
                    Micros later) {
  // Of what was on its way when a partition began, some still comes through.
  const bool stubborn = dice_.one_in(2);
  world_.after(delay() + later, [this, from, to, deliver, stubborn] {
    const bool lost = blocked_[from][to] ? !stubborn : cut_off_[from] || cut_off_[to];
    if (lost) {
      world_.count(Figure::messages_blocked);
      return;
    }
    deliver();
  });
}

void Network::block(Endpoint from, Endpoint to) {
  if (from != to) blocked_[from][to] = true;
}

void Network::block_both(Endpoint one, Endpoint other) {
  block(one, other);
  block(other, one);
}

void Network::isolate(Endpoint endpoint) {
  for (Endpoint other = 0; other < size(); ++other) block_both(endpoint, other);
}

void Network::heal() {
  for (auto& row : blocked_) row.assign(row.size(), false);
}

void Network::reconnect_all() {
  cut_off_.assign(size(), false);
  muted_.assign(size(), false);
}

bool Network::blocked(Endpoint from, Endpoint to) const {
  return blocked_[from][to] || cut_off_[from] || cut_off_[to] || muted_[from];
}

}  // namespace gpl::sim
