#include "gpl/store/wal_recovery.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <variant>

#include "gpl/store/damage.h"
#include "gpl/store/snapshot_file.h"
#include "log_state.h"

namespace gpl::store {
namespace {

/// The newest snapshot that is whole, and what is wrong with those that are newer.
struct SnapshotChoice {
  std::optional<raft::SnapshotMark> mark;
  std::vector<Error> damaged;
};

Result<raft::SnapshotMark> check_snapshot(Disk& disk, const std::string& name,
                                          const raft::SnapshotMark& named) {
  Result<raft::SnapshotMark> mark =
      read_snapshot(disk, name, [](std::string_view) { return success(); });
  if (mark && (mark.value().index != named.index || mark.value().term != named.term)) {
    return damage(name, 16, "this is " + snapshot_name(mark.value()) + " under another name");
  }
  if (mark && std::max(named.index, named.term) > highest_number) {
    return damage(name, 16, "no index and no term gets so far");
  }
  return mark;
}

Result<SnapshotChoice> choose_snapshot(Disk& disk, const std::vector<std::string>& snapshots) {
  SnapshotChoice choice;
  // Names sort as index and term do.
  for (auto name = snapshots.rbegin(); name != snapshots.rend() && !choice.mark; ++name) {
    Result<raft::SnapshotMark> mark = check_snapshot(disk, *name, *parse_snapshot_name(*name));
    if (mark) {
      choice.mark = std::move(mark).value();
    } else if (mark.error().code == Code::invalid) {
      choice.damaged.push_back(std::move(mark).error());
    } else {
      return std::move(mark).error();
    }
  }
  return choice;
}

Error no_join(std::string what, const SnapshotChoice& choice) {
  for (const Error& damaged : choice.damaged) what += "; " + without_way_out(damaged);
  return damage(what);
}

std::string range(raft::Index first, raft::Index last) {
  return first == last
             ? "entry " + std::to_string(first) + " is"
             : "entries " + std::to_string(first) + " to " + std::to_string(last) + " are";
}

/// Terms never descend from the mark over the entries to the node's own.
Status check_terms(LogState& log, const raft::SnapshotMark& mark,
                   const raft::HardState& hard_state) {
  const std::string of_mark = ", and the state of entry " + std::to_string(mark.index) +
                              " of term " + std::to_string(mark.term);
  if (!log.entries().empty() && log.entries().front().term < mark.term) {
    const raft::Entry& entry = log.entries().front();
    return damage(log.first_entry_place().file, log.first_entry_place().offset,
                  "entry " + std::to_string(entry.index) + " is of term " +
                      std::to_string(entry.term) + of_mark);
  }
  if (hard_state.term < mark.term) {
    return damage(log.hard_state_place().file, log.hard_state_place().offset,
                  "the node had got to term " + std::to_string(hard_state.term) + of_mark);
  }
  return success();
}

/// What a segment begins with: term and vote, so that no vote is forgotten when the segments before
/// it are removed; and from where it counts must fit what was before.
Status check_opening(const Batch& opening, const SegmentHeader& header, raft::Index next_index) {
  const std::string name = segment_name(header.number);
  if (!std::holds_alternative<raft::HardState>(opening.records.front().body)) {
    return damage(name, opening.offset, "its opening batch does not begin with term and vote");
  }
  if (header.next_index == next_index) return success();
  return damage(name, 48,
                "it says that the next entry is " + std::to_string(header.next_index) +
                    ", and by what is before it, it is " + std::to_string(next_index));
}

/// Fits the log to the chosen snapshot, which stands for all up to its index.
Status join(LogState& log, const SnapshotChoice& choice, Recovered& out) {
  const std::optional<raft::SnapshotMark>& log_mark = log.mark();
  if (!choice.mark && !(log_mark && log_mark->index == 0)) {
    return no_join("the log begins with entry " + std::to_string(log.first_index()) +
                       ", and no whole snapshot holds what was before",
                   choice);
  }
  const raft::SnapshotMark mark = choice.mark ? *choice.mark : *log_mark;
  if (log.first_index() > mark.index + 1) {
    return no_join(range(mark.index + 1, log.first_index() - 1) + " neither in the log nor in " +
                       (choice.mark ? "a snapshot: the newest whole one is " + snapshot_name(mark)
                                    : std::string("a whole snapshot")),
                   choice);
  }
  if (log_mark && log_mark->index == mark.index && log_mark->term != mark.term) {
    return no_join("the log begins after entry " + std::to_string(mark.index) + " of term " +
                       std::to_string(log_mark->term) + ", and the newest whole snapshot is " +
                       snapshot_name(mark),
                   choice);
  }
  out.restored.hard_state = log.hard_state();
  std::vector<raft::Entry>& entries = log.entries();
  const bool holds_mark = !entries.empty() && entries.front().index == mark.index;
  out.begin_anew =
      log.next_index() <= mark.index || (holds_mark && entries.front().term != mark.term);
  if (out.begin_anew) {
    entries.clear();
    out.notes.push_back("the log does not reach " + snapshot_name(mark) +
                        " (it was received or saved just before a crash): begun anew after it");
    // The vote of a later term would have been synced before anybody was told of it.
    if (out.restored.hard_state.term < mark.term) out.restored.hard_state = {mark.term, {}};
  } else if (holds_mark) {
    entries.erase(entries.begin());
  }
  if (Status fits = check_terms(log, mark, out.restored.hard_state); !fits) return fits;
  out.restored.snapshot = mark;
  out.snapshot_name = choice.mark ? snapshot_name(mark) : "";
  return success();
}

void note_tear(const LogShape& shape, std::vector<std::string>& notes) {
  if (!shape.torn) return;
  const SegmentShape& last = shape.segments.back();
  notes.push_back(segment_name(last.header.number) + ": a torn tail, cut at offset " +
                  std::to_string(last.end) + ": batch " + std::to_string(shape.next_batch) +
                  " was being written when the peer or its machine stopped");
}

}  // namespace

bool has_segments(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return parse_segment_name(name).has_value(); });
}

bool has_snapshots(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return parse_snapshot_name(name).has_value(); });
}

Result<Recovered> recover(Disk& disk, const std::vector<std::string>& names,
                          const BatchSink& sink) {
  Recovered out;
  for (const std::string& name : names) {
    if (parse_snapshot_name(name)) out.snapshots.push_back(name);
  }
  std::sort(out.snapshots.begin(), out.snapshots.end());
  Result<SnapshotChoice> choice = choose_snapshot(disk, out.snapshots);
  const SegmentHeaders headers = read_segment_headers(disk, names);
  assert(!headers.usable.empty() || headers.error);
  if (headers.usable.empty()) return *headers.error;

  // Where the snapshots cannot be judged the log is read for the sink alone.
  const raft::Index keep_from = !choice               ? highest_number
                                : choice.value().mark ? choice.value().mark->index
                                                      : 0;
  LogState log(headers.usable.front().next_index, keep_from);
  Result<LogShape> shape = read_log(disk, headers, [&](Batch batch) {
    Status fine = sink ? sink(batch) : success();
    if (!fine) return fine;
    std::optional<Batch> opening;
    if (batch.offset == segment_header_bytes) opening = batch;
    fine = log.apply(std::move(batch));
    if (!fine || !opening) return fine;
    return check_opening(*opening, headers.usable[opening->segment - headers.usable.front().number],
                         log.next_index());
  });
  if (!shape) return std::move(shape).error();
  if (!choice) return std::move(choice).error();
  out.shape = std::move(shape).value();
  if (Status joined = join(log, choice.value(), out); !joined) return std::move(joined).error();

  for (const Error& damaged : choice.value().damaged) {
    out.notes.push_back(without_way_out(damaged) +
                        "; nothing is lost and nothing is to be done: the log holds all after an "
                        "older state, and the next snapshot takes its place");
  }
  out.damaged_snapshots = std::move(choice.value().damaged);
  note_tear(out.shape, out.notes);
  out.first_index = out.begin_anew ? out.restored.snapshot.index + 1 : log.first_index();
  out.next_index = out.begin_anew ? out.restored.snapshot.index + 1 : log.next_index();
  out.begin_index = log.mark() ? log.mark()->index : 0;
  out.restored.entries = std::move(log.entries());
  out.highest = log.highest();
  return out;
}

}  // namespace gpl::store
