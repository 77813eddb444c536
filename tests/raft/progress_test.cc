#include "gpl/raft/progress.h"

#include <doctest/doctest.h>

namespace gpl::raft {
namespace {

constexpr Moment start{1000};
constexpr std::size_t limit = 3;

/// Of a follower that has entries up to 10, in State::replicate.
Progress replicating() {
  Progress progress(NodeId{2}, 10, start);
  progress.sent(10, false, 0);
  progress.accepted(10);
  return progress;
}

}  // namespace

TEST_CASE("a follower is probed with one message until it answers") {
  Progress progress(NodeId{2}, 10, start);
  CHECK(progress.state() == Progress::State::probe);
  CHECK(progress.may_send(limit));
  progress.sent(12, true, 0);
  CHECK(!progress.may_send(limit));
  CHECK(progress.next() == 11);
  progress.accepted(12);
  CHECK(progress.state() == Progress::State::replicate);
  CHECK(progress.next() == 13);
}

TEST_CASE("entries are sent without waiting, up to the limit of unanswered messages") {
  Progress progress = replicating();
  for (Index last = 11; last <= 13; ++last) {
    CHECK(progress.may_send(limit));
    progress.sent(last, true, 0);
  }
  CHECK(!progress.may_send(limit));
  CHECK(progress.next() == 14);
}

TEST_CASE("an acknowledgement makes room for all messages that it covers") {
  Progress progress = replicating();
  for (Index last = 11; last <= 13; ++last) progress.sent(last, true, 0);
  CHECK(progress.accepted(12));
  CHECK(progress.may_send(limit));
  CHECK(progress.has_inflight());
  CHECK(progress.accepted(13));
  CHECK(!progress.has_inflight());
  CHECK(!progress.accepted(12));
  CHECK(progress.match() == 13);
}

TEST_CASE("heartbeats are no messages in flight") {
  Progress progress = replicating();
  for (int i = 0; i < 9; ++i) progress.sent(10, false, 0);
  CHECK(progress.may_send(limit));
  CHECK(!progress.has_inflight());
}

TEST_CASE("a refusal goes back to where both may agree, and probes") {
  Progress progress(NodeId{2}, 10, start);
  progress.sent(12, true, 0);
  progress.refused(4);
  CHECK(progress.state() == Progress::State::probe);
  CHECK(progress.next() == 5);
  CHECK(progress.may_send(limit));
}

TEST_CASE("a refusal never goes back behind what is known to agree") {
  Progress progress = replicating();
  progress.sent(15, true, 0);
  progress.refused(4);
  CHECK(progress.next() == 11);
}

TEST_CASE("further refusals of what was sent before the step back are ignored") {
  Progress progress = replicating();
  for (Index last = 11; last <= 13; ++last) progress.sent(last, true, 0);
  progress.refused(10);
  CHECK(progress.may_send(limit));
  progress.sent(13, true, 0);
  progress.refused(10);
  progress.refused(12);
  CHECK(!progress.may_send(limit));
  CHECK(progress.next() == 11);
}

TEST_CASE("what was sent to one who is silent is taken for lost") {
  Progress progress = replicating();
  progress.sent(11, true, 0);
  progress.fall_back();
  CHECK(progress.state() == Progress::State::probe);
  CHECK(progress.next() == 11);
  CHECK(!progress.has_inflight());
}

TEST_CASE("a follower is told of a commit only as far as the message reached") {
  Progress progress = replicating();
  progress.sent(10, false, 15);
  CHECK(progress.told_commit() == 10);
  progress.sent(14, true, 15);
  CHECK(progress.told_commit() == 14);
}

TEST_CASE("while a snapshot is sent nothing else is, and refusals mean nothing") {
  Progress progress = replicating();
  progress.begin_snapshot(SnapshotMark{40, 3, {}}, start);
  CHECK(!progress.may_send(limit));
  progress.refused(2);
  CHECK(progress.state() == Progress::State::snapshot);
  CHECK(progress.sending().mark.index == 40);
  progress.accepted(40);
  progress.end_snapshot();
  CHECK(progress.state() == Progress::State::replicate);
  CHECK(progress.next() == 41);
}

TEST_CASE("a new follower is taken for live at first, later only when it answers") {
  Progress progress(NodeId{2}, 10, start);
  CHECK(progress.is_live(start + milliseconds(99), milliseconds(100)));
  CHECK(!progress.is_live(start + milliseconds(100), milliseconds(100)));
  CHECK(!progress.last_heard());
  progress.heard(start + milliseconds(100), 4);
  CHECK(progress.is_live(start + milliseconds(199), milliseconds(100)));
}

TEST_CASE("the newest round answered stays, whatever comes late") {
  Progress progress(NodeId{2}, 10, start);
  CHECK(progress.answered_round() == 0);
  progress.heard(start, 4);
  progress.heard(start, 3);
  CHECK(progress.answered_round() == 4);
}

}  // namespace gpl::raft
