#include "sim/figures.h"

#include <cstdio>
#include <vector>

namespace gpl::sim {

std::string_view name_of(Figure figure) {
  switch (figure) {
    case Figure::seeds:
      return "seeds";
    case Figure::events:
      return "events";
    case Figure::nodes:
      return "nodes";
    case Figure::workers:
      return "workers";
    case Figure::virtual_ms:
      return "virtual ms";
    case Figure::messages:
      return "messages";
    case Figure::messages_dropped:
      return "dropped";
    case Figure::messages_doubled:
      return "doubled";
    case Figure::messages_late:
      return "late";
    case Figure::messages_blocked:
      return "blocked";
    case Figure::partitions:
      return "partitions";
    case Figure::one_way_partitions:
      return "one-way partitions";
    case Figure::isolations:
      return "isolations";
    case Figure::process_crashes:
      return "process crashes";
    case Figure::power_losses:
      return "power losses";
    case Figure::torn_sectors:
      return "sectors torn";
    case Figure::crashes_in_recovery:
      return "power lost in recovery";
    case Figure::pauses:
      return "pauses";
    case Figure::disk_full:
      return "disk full";
    case Figure::sync_failures:
      return "failed syncs";
    case Figure::disk_stalls:
      return "disk stalls";
    case Figure::bit_flips:
      return "bit flips";
    case Figure::damage_refused:
      return "of them refused";
    case Figure::flips_in_last_batch:
      return "cut as torn";
    case Figure::flips_in_nothing:
      return "without effect";
    case Figure::disks_lost:
      return "disks lost";
    case Figure::clock_jumps:
      return "clock jumps";
    case Figure::keeper_stops:
      return "keepers stopped";
    case Figure::keeper_kills:
      return "keepers killed";
    case Figure::worker_reboots:
      return "workers rebooted";
    case Figure::late_grants:
      return "late leases";
    case Figure::unkillable_processes:
      return "processes that stay";
    case Figure::elections:
      return "terms with a leader";
    case Figure::transfers:
      return "transfers";
    case Figure::membership_changes:
      return "membership changes";
    case Figure::commits:
      return "entries committed";
    case Figure::snapshots_taken:
      return "snapshots taken";
    case Figure::snapshots_installed:
      return "installed";
    case Figure::jobs_submitted:
      return "jobs submitted";
    case Figure::jobs_acknowledged:
      return "acknowledged";
    case Figure::jobs_ended:
      return "ended";
    case Figure::attempts_run:
      return "attempts run";
    case Figure::leases_over:
      return "leases over";
    case Figure::overlaps_reported:
      return "overlaps reported";
    case Figure::count_of_figures:
      break;
  }
  return "";
}

void Figures::add(const Figures& other) {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
}

std::string Figures::table() const {
  struct Row {
    const char* title;
    Figure first, last;
  };
  const std::vector<Row> rows{
      {"run", Figure::seeds, Figure::virtual_ms},
      {"network", Figure::messages, Figure::messages_blocked},
      {"partitions", Figure::partitions, Figure::isolations},
      {"crashes", Figure::process_crashes, Figure::pauses},
      {"disks", Figure::disk_full, Figure::disks_lost},
      {"others", Figure::clock_jumps, Figure::unkillable_processes},
      {"cluster", Figure::elections, Figure::snapshots_installed},
      {"jobs", Figure::jobs_submitted, Figure::overlaps_reported},
  };
  std::string text;
  for (const auto& row : rows) {
    char title[32];
    std::snprintf(title, sizeof title, "%-11s", row.title);
    text += title;
    for (auto i = static_cast<std::size_t>(row.first); i <= static_cast<std::size_t>(row.last);
         ++i) {
      if (i != static_cast<std::size_t>(row.first)) text += ", ";
      text += std::to_string(values_[i]) + " " + std::string(name_of(static_cast<Figure>(i)));
    }
    text += "\n";
  }
  return text;
}

}  // namespace gpl::sim
