#include "gpl/raft/log.h"

#include <doctest/doctest.h>

namespace gpl::raft {
namespace {

Configuration one_voter(std::uint64_t id) { return {{NodeId{id}}, {}}; }

/// Entries 1, 2, ... of these terms, with their index as data.
Log log_of(const std::vector<Term>& terms) {
  Log log(SnapshotMark{0, 0, one_voter(1)}, {});
  for (const Term term : terms) {
    const Index index = log.last_index() + 1;
    log.append({index, term, EntryKind::command, std::to_string(index)});
  }
  return log;
}

void append_configuration(Log& log, Term term, const Configuration& configuration) {
  log.append({log.last_index() + 1, term, EntryKind::configuration, encode(configuration)});
}

}  // namespace

TEST_CASE("a log knows the terms of its entries and of its base, and no others") {
  const Log log(SnapshotMark{5, 2, {}}, {{6, 3, EntryKind::command, "a"}});
  CHECK(log.first_index() == 6);
  CHECK(log.last_index() == 6);
  CHECK(log.term_at(4) == std::nullopt);
  CHECK(log.term_at(5) == Term{2});
  CHECK(log.term_at(6) == Term{3});
  CHECK(log.term_at(7) == std::nullopt);
}

TEST_CASE("the last index of a term or below is found across term borders") {
  const Log log = log_of({1, 1, 3, 3, 6});
  CHECK(log.last_not_above(5, 6) == 5);
  CHECK(log.last_not_above(5, 5) == 4);
  CHECK(log.last_not_above(5, 2) == 2);
  CHECK(log.last_not_above(3, 4) == 3);
  CHECK(log.last_not_above(99, 9) == 5);
  CHECK(log.last_not_above(5, 0) == 0);
}

TEST_CASE("before the base nothing is known of terms, and the search says so") {
  const Log log(SnapshotMark{5, 4, {}}, {{6, 7, EntryKind::command, "a"}});
  CHECK(log.last_not_above(6, 5) == 5);
  CHECK(log.last_not_above(6, 3) == 4);
  CHECK(log.last_not_above(2, 9) == 2);
}

TEST_CASE("a copy has at least one entry, and others while they fit") {
  Log log(SnapshotMark{}, {});
  for (Index i = 1; i <= 5; ++i) log.append({i, 1, EntryKind::command, std::string(100, 'x')});
  CHECK(log.copy(2, 0).size() == 1);
  CHECK(log.copy(2, 400).size() == 2);
  CHECK(log.copy(2, 1'000'000).size() == 4);
  CHECK(log.copy(2, 1'000'000).front().index == 2);
  CHECK(log.copy(6, 1'000'000).empty());
}

TEST_CASE("a configuration is in force from its entry on, and not after its truncation") {
  Log log = log_of({1});
  append_configuration(log, 1, one_voter(2));
  log.append({3, 1, EntryKind::command, "a"});
  append_configuration(log, 1, one_voter(3));
  CHECK(log.configuration() == one_voter(3));
  CHECK(log.configuration_index() == 4);
  CHECK(log.configuration_at(1) == one_voter(1));
  CHECK(log.configuration_at(3) == one_voter(2));
  log.truncate(4);
  CHECK(log.configuration() == one_voter(2));
  log.truncate(2);
  CHECK(log.configuration() == one_voter(1));
  CHECK(log.configuration_index() == 0);
}

TEST_CASE("compaction keeps the tail asked for, and the configuration in force at the base") {
  Log log = log_of({1, 1, 2});
  append_configuration(log, 2, one_voter(2));
  for (Index i = 5; i <= 8; ++i) log.append({i, 3, EntryKind::command, "x"});
  log.compact(SnapshotMark{7, 3, one_voter(2)}, 6, 1'000'000);
  CHECK(log.first_index() == 6);
  CHECK(log.last_index() == 8);
  CHECK(log.mark().index == 7);
  CHECK(log.term_at(5) == Term{3});
  CHECK(log.configuration() == one_voter(2));
  CHECK(log.configuration_at(6) == one_voter(2));
}

TEST_CASE("what was cut off is out of sight at once, and appends after it find their place") {
  Log log(SnapshotMark{0, 0, one_voter(1)}, {});
  for (Index index = 1; index <= 100; ++index)
    log.append({index, index / 10, EntryKind::command, "x"});
  log.compact(SnapshotMark{90, 9, one_voter(1)}, 81, 1'000'000);
  for (Index index = 101; index <= 170; ++index) {
    log.append({index, index / 10, EntryKind::command, std::to_string(index)});
    CHECK(log.first_index() == 81);
    CHECK(log.last_index() == index);
    CHECK(log.last_term() == index / 10);
    CHECK(log.term_at(80) == 8);
    CHECK(log.term_at(79) == std::nullopt);
    CHECK(log.at(81).index == 81);
    CHECK(log.copy_range(81, 82).size() == 2);
    CHECK(log.last_not_above(index, 9) == 99);
  }
  log.truncate(81);
  CHECK(log.last_index() == 80);
  CHECK(log.last_term() == 8);
  log.append({81, 20, EntryKind::command, ""});
  CHECK(log.at(81).term == 20);
  log.compact(SnapshotMark{81, 20, one_voter(1)}, 82, 1'000'000);
  CHECK(log.last_index() == 81);
  CHECK(log.last_term() == 20);
  CHECK(log.last_not_above(81, 20) == 81);
}

TEST_CASE("compaction never goes beyond the mark, however much is to be dropped") {
  Log log = log_of({1, 1, 1, 1});
  log.compact(SnapshotMark{3, 1, one_voter(1)}, 99, 0);
  CHECK(log.first_index() == 4);
  CHECK(log.last_index() == 4);
}

TEST_CASE("a log with too many bytes gives its tail up") {
  Log log = log_of({1, 1, 1, 1});  // a byte an entry
  log.compact(SnapshotMark{3, 1, one_voter(1)}, 1, 2);
  CHECK(log.first_index() == 3);
}

TEST_CASE("a mark that is old, ahead of the log or of another term changes nothing") {
  Log log = log_of({1, 1, 2});
  log.compact(SnapshotMark{2, 1, one_voter(1)}, 3, 1'000'000);
  const SnapshotMark mark = log.mark();
  log.compact(SnapshotMark{1, 1, one_voter(9)}, 99, 0);
  log.compact(SnapshotMark{4, 2, one_voter(9)}, 99, 0);
  log.compact(SnapshotMark{3, 1, one_voter(9)}, 99, 0);
  CHECK(log.mark() == mark);
  CHECK(log.first_index() == 3);
}

TEST_CASE("a log that is reset begins after the mark, with the mark's configuration") {
  Log log = log_of({1, 1, 2});
  log.reset(SnapshotMark{9, 4, one_voter(7)});
  CHECK(log.first_index() == 10);
  CHECK(log.last_index() == 9);
  CHECK(log.last_term() == 4);
  CHECK(log.configuration() == one_voter(7));
}

TEST_CASE("a configuration entry that does not decode is not readable, other entries always are") {
  CHECK(!is_readable({1, 1, EntryKind::configuration, "?"}));
  CHECK(is_readable({1, 1, EntryKind::configuration, encode(one_voter(1))}));
  CHECK(is_readable({1, 1, EntryKind::command, "?"}));
}

}  // namespace gpl::raft
