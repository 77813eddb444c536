#include "gpl/raft/persist_queue.h"

#include <doctest/doctest.h>

namespace gpl::raft {
namespace {

constexpr Moment start{1000};

/// A log and its queue, as a node has them.
struct Desk {
  Log log{SnapshotMark{}, {}};
  PersistQueue queue{0};
  HardState hard;

  void append(Term term) {
    const Index index = log.last_index() + 1;
    log.append({index, term, EntryKind::command, ""});
    queue.entries_changed(index);
  }
  void replace(Index from, Term term) {
    log.truncate(from);
    append(term);
  }
  std::optional<Persist> take(Moment now = start) { return queue.take(log, hard, now); }
};

}  // namespace

TEST_CASE("without a change there is nothing to persist") {
  Desk desk;
  CHECK(!desk.take());
  CHECK(desk.queue.idle());
}

TEST_CASE("changes since the last persist go into the next, numbered from 1") {
  Desk desk;
  desk.append(1);
  desk.append(1);
  const std::optional<Persist> first = desk.take();
  REQUIRE(first);
  CHECK(first->sequence == 1);
  CHECK(first->entries.size() == 2);
  CHECK(!first->hard_state);
  desk.hard = HardState{2, NodeId{3}};
  desk.queue.hard_state_changed();
  const std::optional<Persist> second = desk.take();
  REQUIRE(second);
  CHECK(second->sequence == 2);
  CHECK(second->entries.empty());
  CHECK(second->hard_state == desk.hard);
  CHECK(!desk.take());
}

TEST_CASE("the synced index follows the syncs, though later entries are still under way") {
  Desk desk;
  desk.append(1);
  (void)desk.take();
  desk.append(1);
  (void)desk.take();
  CHECK(desk.queue.synced_index() == 0);
  desk.queue.synced(1);
  CHECK(desk.queue.synced_index() == 1);
  desk.queue.synced(2);
  CHECK(desk.queue.synced_index() == 2);
  CHECK(desk.queue.idle());
}

TEST_CASE("a sync told for several persists at once counts for all of them") {
  Desk desk;
  for (int i = 0; i < 3; ++i) {
    desk.append(1);
    (void)desk.take();
  }
  desk.queue.synced(3);
  CHECK(desk.queue.synced_index() == 3);
  CHECK(desk.queue.synced_sequence() == 3);
}

TEST_CASE("the sync of a suffix that was replaced meanwhile does not count for it") {
  Desk desk;
  for (int i = 0; i < 3; ++i) desk.append(1);
  (void)desk.take();
  desk.replace(2, 2);
  (void)desk.take();
  desk.queue.synced(1);
  CHECK(desk.queue.synced_index() == 1);
  desk.queue.synced(2);
  CHECK(desk.queue.synced_index() == 2);
}

TEST_CASE("replacing what is synced takes the synced index back at once") {
  Desk desk;
  for (int i = 0; i < 3; ++i) desk.append(1);
  (void)desk.take();
  desk.queue.synced(1);
  desk.replace(3, 2);
  CHECK(desk.queue.synced_index() == 2);
  const std::optional<Persist> persist = desk.take();
  REQUIRE(persist);
  CHECK(persist->entries.front().index == 3);
  CHECK(persist->entries.front().term == 2);
}

TEST_CASE("a suffix that is replaced before it was taken is persisted once, as it is now") {
  Desk desk;
  desk.append(1);
  desk.append(1);
  desk.replace(2, 2);
  desk.append(2);
  const std::optional<Persist> persist = desk.take();
  REQUIRE(persist);
  REQUIRE(persist->entries.size() == 3);
  CHECK(persist->entries[0].term == 1);
  CHECK(persist->entries[1].term == 2);
}

TEST_CASE("the hard state is synced when the persist with its last change is") {
  Desk desk;
  desk.queue.hard_state_changed();
  CHECK(!desk.queue.hard_state_synced());
  (void)desk.take();
  desk.append(1);
  (void)desk.take();
  CHECK(!desk.queue.hard_state_synced());
  desk.queue.synced(1);
  CHECK(desk.queue.hard_state_synced());
  CHECK(!desk.queue.idle());
}

TEST_CASE("after a snapshot, persists of the log before it no longer count") {
  Desk desk;
  for (int i = 0; i < 9; ++i) desk.append(1);
  (void)desk.take();
  desk.log.reset(SnapshotMark{5, 2, {}});
  desk.queue.reset(5);
  desk.queue.synced(1);
  CHECK(desk.queue.synced_index() == 5);
}

TEST_CASE("it tells since when the oldest persist has been under way") {
  Desk desk;
  CHECK(!desk.queue.waiting_since());
  desk.append(1);
  (void)desk.take(start);
  desk.append(1);
  (void)desk.take(start + seconds(1));
  CHECK(desk.queue.waiting_since() == start);
  desk.queue.synced(1);
  CHECK(desk.queue.waiting_since() == start + seconds(1));
}

TEST_CASE("a sync of what was never taken changes nothing") {
  Desk desk;
  desk.append(1);
  desk.queue.synced(7);
  CHECK(desk.queue.synced_index() == 0);
  CHECK(desk.queue.synced_sequence() == 0);
}

}  // namespace gpl::raft
