#include "sim/setup.h"

#include <initializer_list>
#include <utility>

#include "sim/world.h"

namespace gpl::sim {

std::string_view name_of(Campaign campaign) {
  switch (campaign) {
    case Campaign::mixed:
      return "mixed";
    case Campaign::partition:
      return "partition";
    case Campaign::crash:
      return "crash";
    case Campaign::disk:
      return "disk";
    case Campaign::membership:
      return "membership";
    case Campaign::jobs:
      return "jobs";
  }
  return "";
}

std::optional<Campaign> campaign_named(std::string_view name) {
  for (const auto campaign : campaigns)
    if (name_of(campaign) == name) return campaign;
  return std::nullopt;
}

std::string_view name_of(PlantedBug bug) {
  switch (bug) {
    case PlantedBug::none:
      return "none";
    case PlantedBug::forgotten_vote:
      return "forgotten-vote";
    case PlantedBug::old_term:
      return "old-term";
    case PlantedBug::lease_answer:
      return "lease-answer";
  }
  return "";
}

std::optional<PlantedBug> planted_bug_named(std::string_view name) {
  for (const auto bug :
       {PlantedBug::forgotten_vote, PlantedBug::old_term, PlantedBug::lease_answer})
    if (name_of(bug) == name) return bug;
  return std::nullopt;
}

Campaign campaign_that_finds(PlantedBug bug) {
  switch (bug) {
    case PlantedBug::none:
      return Campaign::mixed;
    case PlantedBug::forgotten_vote:
      return Campaign::crash;
    case PlantedBug::old_term:
      return Campaign::partition;
    case PlantedBug::lease_answer:
      return Campaign::jobs;
  }
  return Campaign::mixed;
}

namespace {

using Weights = std::initializer_list<std::pair<Fault, std::uint32_t>>;

FaultMix mix_of(const Weights& weights) {
  FaultMix mix;
  for (const auto& [fault, weight] : weights) mix[fault] = weight;
  return mix;
}

FaultMix mix_of(Campaign campaign) {
  switch (campaign) {
    case Campaign::partition:
      return mix_of({{Fault::split, 4},
                     {Fault::one_way, 3},
                     {Fault::isolate, 4},
                     {Fault::slow_network, 3},
                     {Fault::transfer, 1}});
    case Campaign::crash:
      return mix_of({{Fault::pause, 2},
                     {Fault::kill, 5},
                     {Fault::power_loss, 5},
                     {Fault::power_loss_in_recovery, 2},
                     {Fault::slow_network, 1},
                     {Fault::transfer, 1}});
    case Campaign::disk:
      return mix_of({{Fault::disk_full, 3},
                     {Fault::sync_failure, 4},
                     {Fault::disk_stall, 3},
                     {Fault::bit_flip, 4},
                     {Fault::disk_loss, 1},
                     {Fault::power_loss, 3},
                     {Fault::power_loss_in_recovery, 2}});
    case Campaign::membership:
      return mix_of({{Fault::pause, 2},
                     {Fault::membership, 10},
                     {Fault::transfer, 3},
                     {Fault::kill, 2},
                     {Fault::power_loss, 2},
                     {Fault::isolate, 2},
                     {Fault::split, 1},
                     {Fault::slow_network, 1},
                     {Fault::disk_loss, 1}});
    case Campaign::jobs:
      return mix_of({{Fault::pause, 2},
                     {Fault::keeper_stop, 3},
                     {Fault::keeper_kill, 2},
                     {Fault::worker_reboot, 2},
                     {Fault::isolate, 4},
                     {Fault::split, 2},
                     {Fault::one_way, 1},
                     {Fault::slow_network, 2},
                     {Fault::kill, 1},
                     {Fault::power_loss, 1},
                     {Fault::clock_jump, 1},
                     {Fault::transfer, 1},
                     {Fault::late_grant, 4},
                     {Fault::prune, 1},
                     {Fault::new_epoch, 1}});
    case Campaign::mixed:
      return mix_of({{Fault::pause, 2},         {Fault::split, 2},
                     {Fault::one_way, 2},       {Fault::isolate, 2},
                     {Fault::slow_network, 2},  {Fault::kill, 2},
                     {Fault::power_loss, 2},    {Fault::power_loss_in_recovery, 1},
                     {Fault::disk_full, 1},     {Fault::sync_failure, 1},
                     {Fault::disk_stall, 1},    {Fault::bit_flip, 1},
                     {Fault::disk_loss, 1},     {Fault::clock_jump, 1},
                     {Fault::transfer, 1},      {Fault::membership, 1},
                     {Fault::keeper_stop, 1},   {Fault::keeper_kill, 1},
                     {Fault::worker_reboot, 1}, {Fault::late_grant, 2},
                     {Fault::prune, 1},         {Fault::new_epoch, 1}});
  }
  return {};
}

void draw_network(Setup& setup, Prng& dice) {
  if (setup.workers == 0) setup.network.late_high = setup.scaled(secs(4));
  if (dice.one_in(2)) return;
  setup.network.delay_high = setup.scaled(millis(static_cast<std::int64_t>(dice.between(1, 20))));
  setup.network.drop_ppm = static_cast<std::uint32_t>(dice.below(30'000));
  setup.network.double_ppm = static_cast<std::uint32_t>(dice.below(20'000));
  setup.network.late_ppm = static_cast<std::uint32_t>(dice.below(5'000));
}

void draw_disk(Setup& setup, Prng& dice) {
  if (dice.one_in(3)) {
    setup.disk.sync_low = millis(1);
    setup.disk.sync_high = millis(static_cast<std::int64_t>(dice.between(2, 12)));
  }
  setup.segment_bytes = dice.one_in(2) ? 64 * 1024 : 16 * 1024;
  setup.snapshot_after_entries = dice.between(10, 120);
  setup.kept_entries = dice.below(30);
  setup.long_kept_entries = dice.below(100);
  if (dice.one_in(3)) setup.apply_limit_bytes = dice.below(1000);
  setup.piece_bytes = dice.between(512, 8192);
  setup.append_limit_bytes = dice.between(2048, 32 * 1024);
}

/// Attempts and leases take seconds whatever the election timeout is: that is a second then.
void draw_workers(Setup& setup, Prng& dice) {
  setup.workers = dice.between(2, 4);
  setup.clients = dice.between(1, 2);
  setup.think_low = millis(500);
  setup.think_high = secs(8);
  setup.election_timeout = milliseconds(1000);
  setup.heartbeat = milliseconds(200);
  setup.clock_ppm = 4900;
  setup.longest_argument = 200;
  setup.faults.pause_low = millis(500);
  setup.faults.pause_high = secs(8);
  setup.faults.partition_high = secs(75);
  setup.network.late_high = secs(9);
  setup.faults_until = secs(static_cast<std::int64_t>(dice.between(50, 120)));
  setup.settle_limit = secs(3600);
  setup.still_limit = secs(200);
}

/// Leaders change before much is agreed, and what they sent arrives entry by entry.
void draw_restless(Setup& setup, Prng& dice) {
  setup.append_limit_bytes = 1;
  setup.think_low = millis(5);
  setup.think_high = millis(100);
  setup.faults.pause_low = millis(50);
  setup.faults.pause_high = millis(static_cast<std::int64_t>(dice.between(300, 1500)));
  setup.faults.partition_high = secs(4);
  setup.faults.fell_one_in = dice.between(1, 3);
  setup.network.drop_ppm = static_cast<std::uint32_t>(dice.below(250'000));
  setup.network.delay_high = setup.scaled(millis(static_cast<std::int64_t>(dice.between(1, 60))));
}

}  // namespace

Setup draw_setup(Campaign campaign, std::uint64_t seed, PlantedBug bug) {
  Prng dice = World(seed, Trace::Mode::off).dice("setup");
  Setup setup;
  setup.campaign = campaign;
  setup.planted_bug = bug;
  setup.voters = dice.one_in(2) ? 3 : 5;
  setup.spares = dice.between(1, 2);
  setup.clients = dice.between(1, 3);
  setup.through_codec = dice.one_in(4);
  setup.faults = mix_of(campaign);
  const std::int64_t timeouts_ms[] = {100, 200, 1000};
  setup.election_timeout = milliseconds(timeouts_ms[dice.below(3)]);
  setup.heartbeat = milliseconds(setup.election_timeout.count_ms / 5);
  setup.faults_until = setup.scaled(secs(static_cast<std::int64_t>(dice.between(20, 80))));
  setup.settle_limit = setup.still_limit = setup.scaled(secs(90)) + secs(5);
  if (campaign == Campaign::membership) setup.grows_from_one = dice.one_in(3);
  setup.hasty_operator = dice.one_in(3);
  if (campaign == Campaign::jobs || (campaign == Campaign::mixed && dice.one_in(4)))
    draw_workers(setup, dice);
  draw_network(setup, dice);
  draw_disk(setup, dice);
  // What was granted comes seconds later, and may be the last that a peer hears.
  if (setup.workers > 0 && dice.one_in(3))
    setup.network.late_ppm = static_cast<std::uint32_t>(dice.between(20'000, 200'000));
  if (setup.workers == 0 && dice.one_in(3)) draw_restless(setup, dice);
  return setup;
}

}  // namespace gpl::sim
