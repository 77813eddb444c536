#include "gpl/peer/replica.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/wire/codec.h"
#include "trio.h"

namespace gpl::peer::test {
namespace {

using Indices = std::vector<raft::Index>;

raft::Entry noop(raft::Index index, raft::Term term = 1) {
  return {index, term, raft::EntryKind::noop, {}};
}
raft::Entry entry(raft::Index index, std::string data, raft::Term term = 1) {
  return {index, term, raft::EntryKind::command, std::move(data)};
}
raft::Entry entry(raft::Index index, const Command& command) {
  return entry(index, wire::encode(std::vector<Command>{command}));
}
/// As the first of a leader: its log from the beginning.
raft::Append append(raft::Index commit, std::vector<raft::Entry> entries) {
  return {0, 0, commit, 1, std::move(entries)};
}

/// One of three voters, which only hears the others.
struct Follower : HandClock, Member {
  Follower() : Member(two, *this) { open(three_voters); }
};

Status io_error(const store::Operation&) { return Error{Code::io, "Input/output error"}; }

ReplicaOptions unapplied_limit(std::uint64_t bytes) {
  ReplicaOptions options;
  options.unapplied_limit_bytes = bytes;
  return options;
}

}  // namespace

TEST_CASE("a lone voter applies what it proposed after its sync, not before") {
  LoneVoter voter;
  const auto proposed = voter.propose({submit(1), submit(2)});
  CHECK(proposed.index == voter.node().last_index());
  CHECK(proposed.term == voter.node().term());
  const auto syncs = voter.log_syncs();
  REQUIRE(voter.committer->step(log_lane));
  REQUIRE(voter.log_syncs() == syncs);
  CHECK(voter.applied.empty());
  CHECK_FALSE(voter.has_job(1));

  voter.committer->run_one(log_lane);
  CHECK(voter.log_syncs() == syncs + 1);
  REQUIRE(voter.applied.size() == 1);
  const AppliedEntry& applied = voter.applied[0];
  CHECK(applied.index == proposed.index);
  CHECK(applied.term == proposed.term);
  CHECK(applied.commands == std::vector<Command>{submit(1), submit(2)});
  REQUIRE(applied.results.size() == 2);
  CHECK(applied.results[0].job == JobId{1});
  CHECK(applied.results[1].job == JobId{2});
  CHECK(voter.replica->applied_index() == proposed.index);
  CHECK(voter.has_job(2));
  CHECK(voter.transport.sent.empty());
}

TEST_CASE("proposals that come while one is written are written together") {
  LoneVoter voter;
  const auto syncs = voter.log_syncs();
  const auto batches = voter.replica->batches();
  for (std::uint64_t number = 1; number <= 10; ++number) voter.propose({submit(number)});
  voter.settle();
  CHECK(voter.applied.size() == 10);
  CHECK(voter.log_syncs() == syncs + 2);
  CHECK(voter.replica->batches() == batches + 2);
}

TEST_CASE("a leader's entries leave before they are synced, and count there only afterwards") {
  Trio trio;
  trio.elect(trio.a);
  const auto performed = trio.a.committer->performed().size();
  const auto proposed = trio.a.propose({submit(1)});
  const auto appends = trio.a.transport.bodies<raft::Append>();
  REQUIRE(appends.size() == 2);
  for (const auto& sent : appends) {
    REQUIRE(sent.entries.size() == 1);
    CHECK(sent.entries[0].index == proposed.index);
  }
  CHECK(trio.a.committer->performed().size() == performed);
  CHECK(trio.a.node().synced_index() < proposed.index);
  trio.a.committer->run(log_lane);
  CHECK(trio.a.node().synced_index() == proposed.index);
  CHECK_FALSE(trio.a.has_job(1));
}

TEST_CASE("a vote leaves only after it has been synced") {
  Follower follower;
  follower.receive(one, 1, raft::VoteRequest{});
  CHECK(follower.transport.sent.empty());
  REQUIRE(follower.committer->step(log_lane));
  CHECK(follower.transport.sent.empty());
  follower.committer->run(log_lane);
  const auto votes = follower.transport.bodies<raft::VoteReply>();
  REQUIRE(votes.size() == 1);
  CHECK(votes[0].granted);
  CHECK(follower.transport.sent.size() == 1);
}

TEST_CASE("a vote that was told is still known after a power loss") {
  Follower follower;
  follower.receive(one, 1, raft::VoteRequest{});
  follower.settle();
  follower.reopen();
  CHECK(follower.node().term() == 1);
  follower.receive(three, 1, raft::VoteRequest{});
  follower.settle();
  const auto votes = follower.transport.bodies<raft::VoteReply>();
  REQUIRE(votes.size() == 1);
  CHECK_FALSE(votes[0].granted);
}

TEST_CASE("entries are acknowledged only after they have been synced") {
  Follower follower;
  follower.receive(one, 1, append(0, {noop(1), entry(2, submit(1))}));
  CHECK(follower.transport.sent.empty());
  follower.committer->run(log_lane);
  const auto replies = follower.transport.bodies<raft::AppendReply>();
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].accepted);
  CHECK(replies[0].match == 2);
}

TEST_CASE("pre-votes are asked for at once, votes only once the own one is synced") {
  Follower follower;
  follower.advance_to(follower.node().wake_at());
  follower.replica->tick();
  CHECK(follower.transport.bodies<raft::PreVoteRequest>().size() == 2);
  CHECK(follower.committer->idle());

  follower.transport.sent.clear();
  follower.receive(one, 1, raft::PreVoteReply{true});
  REQUIRE(follower.node().role() == raft::Role::candidate);
  CHECK(follower.transport.sent.empty());
  follower.committer->run(log_lane);
  CHECK(follower.transport.bodies<raft::VoteRequest>().size() == 2);
}

TEST_CASE("committed entries are applied in order, and not before they are on this disk") {
  Follower follower;
  follower.receive(one, 1, append(3, {noop(1), entry(2, submit(1)), entry(3, submit(2))}));
  CHECK(follower.node().commit_index() == 3);
  CHECK(follower.applied.empty());
  follower.committer->run(log_lane);
  CHECK(follower.applied_indices() == Indices{1, 2, 3});
  CHECK(follower.has_job(2));
}

TEST_CASE("a committed entry that cannot be read stops the replica, and the log stays") {
  Follower follower;
  follower.receive(one, 1, append(0, {noop(1), entry(2, "\xc1"), entry(3, submit(1))}));
  follower.settle();
  CHECK_FALSE(follower.replica->failure());
  follower.transport.sent.clear();
  follower.receive(one, 1, raft::Append{3, 1, 0, 2, {entry(4, submit(2))}});
  follower.receive(one, 1, raft::Append{4, 1, 3, 3, {}});
  REQUIRE(follower.stopped.size() == 1);
  follower.transport.sent.clear();
  CHECK(follower.replica->failure() == follower.stopped[0]);
  const std::string message = follower.stopped[0].message;
  CAPTURE(message);
  CHECK(message.starts_with("log entry 2 cannot be read: "));
  CHECK(message.find("start that version") != std::string::npos);
  CHECK(follower.applied_indices() == Indices{1});
  CHECK_FALSE(follower.has_job(1));

  // It says and hears nothing any more: nor what waited for the disk by then.
  follower.settle();
  CHECK(follower.transport.sent.empty());
  follower.transport.sent.clear();
  follower.receive(one, 2, append(3, {}));
  follower.settle();
  CHECK(follower.transport.sent.empty());
  CHECK(follower.stopped.size() == 1);

  follower.reopen();
  CHECK(follower.node().last_index() == 4);
  follower.receive(one, 1, raft::Append{4, 1, 3, 2, {}});
  REQUIRE(follower.stopped.size() == 1);
  CHECK(follower.stopped[0].message == message);
}

TEST_CASE("a feature level that is newer than this version stops the replica") {
  LoneVoter voter;
  const auto proposed =
      voter.propose({command::SetFeatureLevel{newest_feature_level + 1, Instant{1}}});
  voter.propose({submit(1)});
  voter.settle();
  REQUIRE(voter.stopped.size() == 1);
  CHECK(voter.stopped[0].code == Code::unsupported);
  CAPTURE(voter.stopped[0].message);
  CHECK(voter.stopped[0].message.starts_with("log entry " + std::to_string(proposed.index) + ": "));
  CHECK(voter.stopped[0].message.find("start a newer version") != std::string::npos);
  CHECK(voter.applied.empty());
  CHECK(voter.state().feature_level() == newest_feature_level);
  CHECK_FALSE(voter.has_job(1));
}

TEST_CASE("commands that are refused for other reasons do not stop the replica") {
  LoneVoter voter;
  voter.propose({command::Hold{JobId{99}, Instant{1}},
                 command::SetFeatureLevel{newest_feature_level, Instant{1}}, submit(1)});
  voter.settle();
  REQUIRE(voter.applied.size() == 1);
  CHECK(voter.applied[0].results[0].refused);
  CHECK_FALSE(voter.applied[0].results[1].refused);
  CHECK(voter.has_job(1));
  CHECK(voter.stopped.empty());
}

TEST_CASE("a log that cannot be written stops the replica, and it says nothing more") {
  Follower follower;
  follower.receive(one, 1, append(0, {noop(1)}));
  follower.settle();
  follower.transport.sent.clear();
  follower.disk.before = io_error;
  follower.receive(one, 1, raft::Append{1, 1, 2, 2, {entry(2, submit(1))}});
  follower.receive(three, 2, raft::VoteRequest{2, 1, true});
  follower.settle();
  REQUIRE(follower.stopped.size() == 1);
  CHECK(follower.stopped[0] == Error{Code::io, "Input/output error"});
  CHECK(follower.replica->failure() == follower.stopped[0]);
  CHECK(follower.transport.sent.empty());
  CHECK(follower.applied_indices() == Indices{1});

  follower.disk.before = nullptr;
  follower.receive(three, 3, raft::VoteRequest{2, 1, true});
  follower.advance_to(follower.node().wake_at());
  follower.replica->tick();
  CHECK(follower.committer->waiting(log_lane) == 0);
  follower.settle();
  CHECK(follower.transport.sent.empty());
  CHECK(follower.stopped.size() == 1);
}

TEST_CASE("a replica that has stopped answers every request with the reason") {
  LoneVoter voter;
  voter.propose({submit(1)});
  voter.disk.before = io_error;
  voter.settle();
  REQUIRE(voter.stopped.size() == 1);
  CHECK_FALSE(voter.has_job(1));
  CHECK(voter.applied.empty());
  const Error why = voter.stopped[0];
  CHECK(voter.replica->propose({submit(2)}).error() == why);
  CHECK(voter.replica->add_learner(two).error() == why);
  CHECK(voter.replica->promote(two).error() == why);
  CHECK(voter.replica->remove(one).error() == why);
  CHECK(voter.replica->transfer(two).error() == why);
}

TEST_CASE("proposals beyond what may wait to be applied are refused until it has been") {
  LoneVoter voter(unapplied_limit(1000));
  voter.propose({submit(1, 600)});
  voter.propose({submit(2, 600)});
  const auto last = voter.node().last_index();
  const auto refused = voter.replica->propose({submit(3)});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::busy);
  CHECK(refused.error().message.find("2 changes wait") != std::string::npos);
  CHECK(voter.node().last_index() == last);

  voter.committer->run_one(log_lane);
  REQUIRE(voter.applied.size() == 1);
  voter.propose({submit(3)});
  voter.settle();
  CHECK(voter.has_job(3));
}

TEST_CASE("what was proposed and lost to another term does not count as unapplied") {
  Trio trio(unapplied_limit(3000));
  trio.elect(trio.a);
  trio.cut_off = {one};
  int lost = 0;
  while (trio.a.replica->propose({submit(1, 600)}).ok()) ++lost;
  REQUIRE(lost > 3);
  trio.settle();
  trio.elect(trio.b);
  trio.cut_off = {};
  trio.beat(trio.b);
  trio.beat(trio.b);
  REQUIRE(trio.b.replica->transfer(one).ok());
  trio.settle();
  REQUIRE(trio.a.node().leads());
  int accepted = 0;
  while (trio.a.replica->propose({submit(2, 600)}).ok()) ++accepted;
  CHECK(accepted == lost);
  trio.settle();
  CHECK(trio.a.has_job(2));
  CHECK_FALSE(trio.a.has_job(1));
}

TEST_CASE("an entry that is too large is refused, and counts for nothing") {
  LoneVoter voter(unapplied_limit(1000));
  const auto last = voter.node().last_index();
  const auto refused = voter.replica->propose({submit(1, 70'000)});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::too_large);
  CHECK(voter.node().last_index() == last);
  CHECK(voter.committer->waiting(log_lane) == 0);
  voter.propose({submit(2)});
  voter.settle();
  CHECK(voter.has_job(2));
}

TEST_CASE("a member that does not lead takes no proposal") {
  Follower follower;
  const auto refused = follower.replica->propose({submit(1)});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::busy);
  CHECK(follower.node().last_index() == 0);
}

TEST_CASE("three replicas elect one, and what it proposes is the state of all") {
  Trio trio;
  trio.elect(trio.b);
  for (std::uint64_t number = 1; number <= 5; ++number) trio.b.propose({submit(number)});
  trio.settle();
  trio.beat(trio.b);
  for (Member* member : trio.members()) {
    CAPTURE(member->id.value);
    CHECK(member->node().leader() == two);
    CHECK(member->applied_indices() == Indices{1, 2, 3, 4, 5, 6});
    CHECK(member->state().digest() == trio.b.state().digest());
    CHECK(member->has_job(5));
    CHECK(member->stopped.empty());
  }
}

TEST_CASE("a leader without a majority applies nothing") {
  Trio trio;
  trio.elect(trio.a);
  trio.cut_off = {one};
  trio.a.propose({submit(1)});
  trio.settle();
  CHECK_FALSE(trio.a.has_job(1));
  trio.elect(trio.b);
  trio.cut_off = {};
  trio.beat(trio.b);
  trio.beat(trio.b);
  CHECK(trio.a.node().leader() == two);
  CHECK_FALSE(trio.a.has_job(1));
  CHECK(trio.a.state().digest() == trio.b.state().digest());
}

TEST_CASE("a learner that was added and promoted has the state of the founder") {
  HandClock clock;
  Member founder(one, clock);
  founder.open(lone_voter);
  founder.settle();
  founder.propose({submit(1)});
  founder.settle();
  Member learner(two, clock);
  learner.open({});
  const auto exchange = [&] {
    for (bool more = true; more;) {
      founder.settle();
      learner.settle();
      auto there = std::exchange(founder.transport.sent, {});
      auto back = std::exchange(learner.transport.sent, {});
      more = !there.empty() || !back.empty();
      for (auto& message : there) learner.replica->receive(std::move(message));
      for (auto& message : back) founder.replica->receive(std::move(message));
    }
  };
  REQUIRE(founder.replica->add_learner(two).ok());
  for (int i = 0; i < 3; ++i) {
    exchange();
    clock.advance(founder.options.raft.heartbeat);
    founder.replica->tick();
  }
  exchange();
  REQUIRE(founder.replica->promote(two).ok());
  exchange();
  CHECK(learner.node().configuration() == raft::Configuration{{one, two}, {}});
  CHECK(learner.has_job(1));
  CHECK(learner.state().digest() == founder.state().digest());
}

}  // namespace gpl::peer::test
