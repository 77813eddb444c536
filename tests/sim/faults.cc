#include "sim/faults.h"

#include <algorithm>
#include <numeric>

namespace gpl::sim {

Faults::Faults(Cluster& cluster, Operator& looking_after)
    : cluster_(cluster),
      world_(cluster.world()),
      operator_(looking_after),
      dice_(world_.dice("faults")) {
  const auto& weights = cluster.setup().faults.weights;
  weight_ = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
}

Micros Faults::draw_time(Micros low, Micros high) {
  const auto drawn =
      dice_.between(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high));
  return cluster_.setup().scaled(static_cast<Micros>(drawn));
}

void Faults::start() {
  if (cluster_.setup().faults.fell_one_in > 0)
    cluster_.on_elected = [this](std::size_t number) { fell_leader(number); };
  if (weight_ > 0) next();
}

void Faults::next() {
  const auto& mix = cluster_.setup().faults;
  world_.after(draw_time(mix.pause_low, mix.pause_high), [this] {
    if (stopped_) return;
    inject(draw());
    next();
  });
}

Fault Faults::draw() {
  auto place = dice_.below(weight_);
  const auto& weights = cluster_.setup().faults.weights;
  std::size_t fault = 0;
  for (; place >= weights[fault]; ++fault) place -= weights[fault];
  return static_cast<Fault>(fault);
}

void Faults::inject(Fault fault) {
  switch (fault) {
    case Fault::split:
      return split();
    case Fault::one_way:
      return one_way();
    case Fault::isolate:
      return isolate();
    case Fault::slow_network:
      return slow_network();
    case Fault::kill:
    case Fault::power_loss:
    case Fault::power_loss_in_recovery:
      return crash(fault);
    case Fault::pause:
      return pause();
    case Fault::disk_full:
      return disk_full();
    case Fault::sync_failure:
      return sync_failure();
    case Fault::disk_stall:
      return disk_stall();
    case Fault::bit_flip:
      return bit_flip();
    case Fault::disk_loss:
      return disk_loss();
    case Fault::clock_jump:
      return clock_jump();
    case Fault::transfer:
      return transfer();
    case Fault::membership:
      return membership();
    case Fault::keeper_stop:
      return keeper_stop();
    case Fault::keeper_kill:
      return keeper_kill();
    case Fault::worker_reboot:
      return worker_reboot();
    case Fault::late_grant:
      return late_grant();
    case Fault::prune:
      return operator_.prune();
    case Fault::new_epoch:
      return operator_.begin_epoch();
    case Fault::count_of_faults:
      break;
  }
}

void Faults::stop() {
  stopped_ = true;
  cluster_.on_elected = nullptr;
  world_.tell("--", [] { return std::string("no more faults: all is mended"); });
  cluster_.network().heal();
  cluster_.network().reconnect_all();
  cluster_.network().set_quality(NetworkQuality{});
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    if (cluster_.machine(i).up()) cluster_.machine(i).replica().wake();
    cluster_.machine(i).disk().set_full(false);
    cluster_.machine(i).speed() = cluster_.setup().disk;
  }
  for (auto& worker : cluster_.workers()) worker->wake();
  operator_.drop_learners();
  operator_.wrap_up();
}

void Faults::fell_leader(std::size_t number) {
  const auto& mix = cluster_.setup().faults;
  if (!dice_.one_in(mix.fell_one_in)) return;
  // Before anything of it has arrived, or in the midst of its first entries.
  const Micros delay = dice_.one_in(2) ? 1 : 4 * cluster_.network().quality().delay_high;
  world_.after(static_cast<Micros>(dice_.below(static_cast<std::uint64_t>(delay))), [this, number] {
    if (stopped_ || !cluster_.machine(number).up()) return;
    const bool crashes = cluster_.setup().campaign != Campaign::partition;
    if (crashes && dice_.one_in(2)) return die(number, Fault::power_loss);
    world_.count(Figure::isolations);
    world_.tell(cluster_.machine(number).name(), [] { return std::string("is cut off"); });
    cluster_.network().cut_off(number);
    world_.after(draw_time(millis(500), secs(6)),
                 [this, number] { cluster_.network().reconnect(number); });
  });
}

// --- Networks.

void Faults::heal_later() {
  const auto& mix = cluster_.setup().faults;
  // Short ones are more often.
  const Micros high = dice_.one_in(2) ? mix.partition_high : mix.partition_high / 8;
  world_.after(draw_time(mix.partition_low, std::max(high, mix.partition_low)),
               [this, number = ++partition_] {
                 if (number != partition_) return;
                 world_.tell("--", [] { return std::string("partitions heal"); });
                 cluster_.network().heal();
               });
}

void Faults::split() {
  world_.count(Figure::partitions);
  auto& network = cluster_.network();
  std::vector<bool> side(network.size());
  for (Endpoint i = 0; i < side.size(); ++i) side[i] = dice_.one_in(2);
  world_.tell("--", [&] {
    std::string text = "split:";
    for (const bool one : {true, false}) {
      for (Endpoint i = 0; i < side.size(); ++i)
        if (side[i] == one) text += " " + network.name(i);
      if (one) text += " |";
    }
    return text;
  });
  for (Endpoint i = 0; i < side.size(); ++i)
    for (Endpoint j = 0; j < i; ++j)
      if (side[i] != side[j]) network.block_both(i, j);
  heal_later();
}

void Faults::one_way() {
  world_.count(Figure::one_way_partitions);
  auto& network = cluster_.network();
  // Members have the first numbers, plain peers the next.
  const Endpoint one = dice_.below(cluster_.size() + cluster_.workers().size());
  const bool hears = dice_.one_in(2);
  world_.tell("--", [&] {
    return network.name(one) + (hears ? " is not heard by some" : " does not hear some");
  });
  for (Endpoint other = 0; other < network.size(); ++other) {
    if (dice_.one_in(3)) continue;
    if (hears) network.block(one, other);
    if (!hears) network.block(other, one);
  }
  heal_later();
}

void Faults::isolate() {
  world_.count(Figure::isolations);
  auto* worker = dice_.one_in(3) ? some_worker() : nullptr;
  const auto leader = cluster_.leader();
  Endpoint one = dice_.below(cluster_.size());
  if (leader != cluster_.size() && dice_.one_in(2)) one = leader;
  if (worker != nullptr) one = worker->endpoint();
  world_.tell("--", [&] { return cluster_.network().name(one) + " is isolated"; });
  cluster_.network().isolate(one);
  heal_later();
}

void Faults::slow_network() {
  NetworkQuality bad;
  bad.delay_low = 100;
  bad.delay_high = draw_time(millis(1), cluster_.setup().faults.worst_delay);
  bad.drop_ppm = static_cast<std::uint32_t>(dice_.below(cluster_.setup().faults.worst_drop_ppm));
  bad.double_ppm = static_cast<std::uint32_t>(dice_.below(200'000));
  bad.late_ppm = static_cast<std::uint32_t>(dice_.below(80'000));
  world_.tell("--", [] { return std::string("the network is slow and loses messages"); });
  cluster_.network().set_quality(bad);
  world_.after(draw_time(millis(200), secs(6)), [this, number = ++slowness_] {
    if (number == slowness_ && !stopped_) cluster_.network().set_quality(cluster_.setup().network);
  });
}

}  // namespace gpl::sim
