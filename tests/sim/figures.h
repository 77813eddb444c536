#pragma once

// What is counted in a run and added up over all seeds of a campaign.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpl::sim {

enum class Figure : std::size_t {
  // The size of it.
  seeds,
  events,
  nodes,
  workers,
  virtual_ms,
  // The network.
  messages,
  messages_dropped,
  messages_doubled,
  messages_late,
  messages_blocked,
  // Faults.
  partitions,
  one_way_partitions,
  isolations,
  process_crashes,
  power_losses,
  torn_sectors,
  crashes_in_recovery,
  pauses,
  disk_full,
  sync_failures,
  disk_stalls,
  bit_flips,
  damage_refused,
  flips_in_last_batch,
  flips_in_nothing,
  disks_lost,
  clock_jumps,
  keeper_stops,
  keeper_kills,
  worker_reboots,
  late_grants,
  unkillable_processes,
  // What the cluster did.
  elections,
  transfers,
  membership_changes,
  commits,
  snapshots_taken,
  snapshots_installed,
  jobs_submitted,
  jobs_acknowledged,
  jobs_ended,
  attempts_run,
  leases_over,
  overlaps_reported,
  count_of_figures,
};
std::string_view name_of(Figure figure);

class Figures {
 public:
  void add(Figure figure, std::uint64_t by = 1) { values_[static_cast<std::size_t>(figure)] += by; }
  void add(const Figures& other);
  std::uint64_t of(Figure figure) const { return values_[static_cast<std::size_t>(figure)]; }
  /// A few lines for people.
  std::string table() const;

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(Figure::count_of_figures)> values_{};
};

}  // namespace gpl::sim
