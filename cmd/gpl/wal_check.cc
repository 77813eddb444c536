#include "wal_check.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "gpl/core/cluster_state.h"
#include "gpl/store/damage.h"
#include "gpl/store/snapshot_file.h"
#include "gpl/store/wal_recovery.h"
#include "gpl/wire/codec.h"
#include "output.h"
#include "wal_dump.h"
#include "wal_folder.h"

namespace gpl::cmd {
namespace {

using Lines = std::vector<std::vector<std::string>>;

std::string range(const std::string& first, const std::string& last) {
  return first == last ? first : first + " to " + last;
}

/// What was read, up to the end or to the damage.
struct Tally {
  std::uint64_t records = 0;
  std::uint64_t first_batch = 0;
  std::uint64_t last_batch = 0;
  std::set<std::uint64_t> segments;
  std::map<raft::Index, Error> stops;  ///< entries at which a peer would stop

  Status add(const store::Batch& batch) {
    if (first_batch == 0) first_batch = batch.number;
    last_batch = batch.number;
    records += batch.records.size();
    segments.insert(batch.segment);
    for (const store::LocatedRecord& record : batch.records) {
      if (std::holds_alternative<raft::SnapshotMark>(record.body)) stops.clear();
      const auto* entry = std::get_if<raft::Entry>(&record.body);
      if (entry != nullptr) add(batch, record.offset, *entry);
    }
    return success();
  }

  void add(const store::Batch& batch, std::uint64_t offset, const raft::Entry& entry) {
    stops.erase(stops.lower_bound(entry.index), stops.end());
    if (entry.kind != raft::EntryKind::command) return;
    const auto commands = wire::decode<std::vector<Command>>(entry.data);
    if (commands) return;
    const std::string name = store::segment_name(batch.segment);
    const std::string words = "commands that cannot be read (" + commands.error().message + ")";
    stops.insert(
        {entry.index, commands.error().code == Code::unsupported
                          ? store::too_new(name, offset, words)
                          : store::damage(name, offset,
                                          "entry " + std::to_string(entry.index) + " holds " +
                                              words + ", and a peer would stop at it")});
  }
};

/// What a start reads besides the log: the state in the snapshot.
Status check_state(store::Disk& disk, const std::string& name) {
  std::vector<StatePart> parts;
  const auto failure = [&](const Error& error) {
    if (error.code == Code::unsupported) {
      return store::too_new(name, 0, "a state that cannot be read (" + error.message + ")");
    }
    return store::damage(name, 0, "its checksums match, but it holds no state: " + error.message);
  };
  const auto mark = store::read_snapshot(disk, name, [&](std::string_view bytes) -> Status {
    auto part = wire::decode<StatePart>(bytes);
    if (!part) return failure(part.error());
    parts.push_back(std::move(part).value());
    return success();
  });
  if (!mark) return mark.error();
  const auto state = ClusterState::restore(std::move(parts));
  return state ? success() : failure(state.error());
}

/// The first thing that a peer would not get past.
Status check_content(store::Disk& disk, const store::Recovered& log, const Tally& tally) {
  if (!log.snapshot_name.empty()) {
    if (Status state = check_state(disk, log.snapshot_name); !state) return state;
  }
  const auto stop = tally.stops.upper_bound(log.restored.snapshot.index);
  if (log.begin_anew || stop == tally.stops.end()) return success();
  return stop->second;
}

void add_tally(const Tally& tally, Lines& lines) {
  if (tally.segments.empty()) return;
  lines.push_back({"segments", std::to_string(tally.segments.size()) + ": " +
                                   range(store::segment_name(*tally.segments.begin()),
                                         store::segment_name(*tally.segments.rbegin()))});
  lines.push_back(
      {"batches", range(std::to_string(tally.first_batch), std::to_string(tally.last_batch))});
  lines.push_back({"records", std::to_string(tally.records)});
}

/// The newest in the log, which is in force.
raft::Configuration configuration_of(const raft::Restored& restored) {
  for (auto entry = restored.entries.rbegin(); entry != restored.entries.rend(); ++entry) {
    if (entry->kind != raft::EntryKind::configuration) continue;
    if (auto decoded = raft::decode_configuration(entry->data)) return std::move(decoded).value();
  }
  return restored.snapshot.configuration;
}

void add_state(const store::Recovered& log, Lines& lines) {
  const raft::Restored& restored = log.restored;
  const std::size_t after = restored.entries.size();
  lines.push_back({"generation", std::to_string(log.shape.segments.back().header.generation)});
  lines.push_back({"entries", log.first_index == log.next_index
                                  ? "none after " + std::to_string(log.next_index - 1)
                                  : range(std::to_string(log.first_index),
                                          std::to_string(log.next_index - 1))});
  const raft::HardState& state = restored.hard_state;
  lines.push_back({"term", std::to_string(state.term)});
  lines.push_back(
      {"vote", state.vote.value == 0 ? "none" : "for " + std::to_string(state.vote.value)});
  lines.push_back({"snapshot", log.snapshot_name.empty()
                                   ? "none"
                                   : log.snapshot_name + ", and " +
                                         (after == 0 ? "no entry"
                                                     : std::to_string(after) +
                                                           (after == 1 ? " entry" : " entries")) +
                                         " after it"});
  const raft::Configuration configuration = configuration_of(restored);
  lines.push_back({"voters", node_list(configuration.voters)});
  lines.push_back({"learners", node_list(configuration.learners)});
  for (const std::string& note : log.notes) lines.push_back({"note", printable(note)});
}

/// `before`: in front of what goes to standard error.
int check(const std::string& path, const std::string& before) {
  Result<LogFolder> folder = open_log(path);
  if (!folder) return fail_wal(folder.error().message);
  Tally tally;
  store::Disk& disk = *folder.value().disk;
  const Result<store::Recovered> log = store::recover(
      disk, folder.value().names, [&](const store::Batch& batch) { return tally.add(batch); });
  const Status fine = log ? check_content(disk, log.value(), tally)
                          : Status(Error{log.error().code, advised(log.error(), folder.value())});
  const bool passed_over = log && !log.value().damaged_snapshots.empty();
  Lines lines;
  add_tally(tally, lines);
  if (log) add_state(log.value(), lines);
  lines.push_back({"verdict", !fine         ? outcome_of(fine.error())
                              : passed_over ? "a snapshot is damaged; a peer would start all "
                                              "the same, and there is nothing to do"
                                            : "whole"});
  if (const int failed = print(format_table(lines)); failed != 0) return failed;
  if (!fine) return fail_wal(before + fine.error().message);
  if (!passed_over) return 0;
  for (const Error& damaged : log.value().damaged_snapshots) {
    fail_wal(before + store::without_way_out(damaged) +
             "; a peer would start all the same, from an older state and all after it, and the "
             "next snapshot takes its place: there is nothing to do");
  }
  return 1;
}

}  // namespace

int check_logs(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return check(paths.front(), "");
  int code = 0;
  for (const std::string& path : paths) {
    const std::string blank = &path == &paths.front() ? "" : "\n";
    if (const int failed = print(blank + printable(escaped(path)) + ":\n"); failed != 0) {
      return failed;
    }
    code = std::max(code, check(path, path + ": "));
    if (code > 1) break;  // nobody reads it
  }
  return code;
}

}  // namespace gpl::cmd
