#pragma once

// Carries messages between machines: late, doubled, out of order, or not at all.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpl/core/prng.h"
#include "sim/world.h"

namespace gpl::sim {

/// A machine, or a client that is none.
using Endpoint = std::size_t;

/// What a network does to messages; chances in millionths.
struct NetworkQuality {
  Micros delay_low = 50;
  Micros delay_high = 500;
  std::uint32_t drop_ppm = 0;
  std::uint32_t double_ppm = 0;
  std::uint32_t late_ppm = 0;  ///< so many come up to `late_high` after the others
  Micros late_high = secs(4);
};

class Network {
 public:
  Network(World& world, NetworkQuality quality);

  Endpoint add_endpoint(std::string name);
  const std::string& name(Endpoint endpoint) const { return names_[endpoint]; }
  std::size_t size() const { return names_.size(); }

  /// Calls `deliver` when the message arrives, so much later than it would: once, or not, or twice.
  void send(Endpoint from, Endpoint to, std::function<void()> deliver, Micros later = 0);

  void set_quality(NetworkQuality quality) { quality_ = quality; }
  const NetworkQuality& quality() const { return quality_; }

  // Partitions add up until they are healed.
  void block(Endpoint from, Endpoint to);
  void block_both(Endpoint one, Endpoint other);
  void isolate(Endpoint endpoint);
  void heal();
  // One endpoint alone, beside partitions.
  /// Neither heard nor hearing; what is on its way is lost too.
  void cut_off(Endpoint endpoint) { cut_off_[endpoint] = true; }
  /// Not heard.
  void mute(Endpoint endpoint) { muted_[endpoint] = true; }
  void reconnect(Endpoint endpoint) { cut_off_[endpoint] = muted_[endpoint] = false; }
  void reconnect_all();
  bool blocked(Endpoint from, Endpoint to) const;

 private:
  bool chance(std::uint32_t ppm) { return ppm > 0 && dice_.below(1'000'000) < ppm; }
  Micros delay();
  void carry(Endpoint from, Endpoint to, const std::function<void()>& deliver, Micros later);

  World& world_;
  Prng dice_;
  NetworkQuality quality_;
  std::vector<std::string> names_;
  std::vector<std::vector<bool>> blocked_;  ///< [from][to]
  std::vector<bool> cut_off_;
  std::vector<bool> muted_;
};

}  // namespace gpl::sim
