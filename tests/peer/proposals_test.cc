#include "gpl/peer/proposals.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gpl;
using namespace gpl::peer;

namespace {

constexpr PeerId self{1};
constexpr PeerId other{2};
constexpr PeerId third{3};

/// What is asked of leaders and of the own log, answered by hand.
struct Desk {
  Moment now{1000};
  Result<Replica::Proposed> appended = Error{Code::busy, "does not lead"};
  std::vector<Instant> in_log;
  std::vector<std::pair<PeerId, wire::Propose>> asked;
  std::vector<std::string> told;
  Proposals proposals{
      self,
      {[this](const Command& command) {
         if (appended.ok()) in_log.push_back(std::get<command::Hold>(command).at);
         return appended;
       },
       [this](PeerId to, wire::Propose ask) { asked.emplace_back(to, std::move(ask)); }}};

  void propose(std::int64_t which) {
    proposals.add(now, command::Hold{JobId{1}, Instant{which}},
                  [this, which](const Result<Applied>& result) {
                    const std::string name = std::to_string(which);
                    if (!result.ok())
                      told.push_back(name + " failed");
                    else
                      told.push_back(name + " made " + std::to_string(result.value().job->value));
                  });
  }
  void lead_by(PeerId leader) {
    proposals.leader_is(now, leader);
    tick();
  }
  void tick() {
    proposals.tick(now);
    tell();
  }
  void pass(Duration duration) {
    now = now + duration;
    tick();
  }
  void tell() {
    for (auto& [done, result] : proposals.take_finished()) done(std::move(result));
  }
  /// The last question is answered.
  void answer(raft::Index index, raft::Term term) {
    const auto& [from, ask] = asked.back();
    proposals.take(now, from, wire::Proposed{ask.number, index, term});
    tick();
  }
  void refuse(bool again) {
    const auto& [from, ask] = asked.back();
    proposals.take(now, from, wire::NotProposed{ask.number, again, "why"});
    tick();
  }
  void apply(raft::Index index, raft::Term term) {
    Applied applied;
    applied.job = JobId{index};
    proposals.applied(now, {index, term, {command::Hold{}}, {applied}});
    tick();
  }
  void apply_noop(raft::Index index, raft::Term term) {
    proposals.applied(now, {index, term, {}, {}});
    tick();
  }
  std::vector<std::int64_t> questions() const {
    std::vector<std::int64_t> which;
    for (const auto& [to, ask] : asked)
      which.push_back(std::get<command::Hold>(ask.command).at.since_epoch_ms);
    return which;
  }
};

using Told = std::vector<std::string>;
using Questions = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a leader is asked, and who proposed is told when it is applied here") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  REQUIRE(desk.questions() == Questions{7});
  CHECK(desk.asked[0].first == other);
  desk.answer(5, 3);
  desk.apply(4, 3);
  CHECK(desk.told.empty());
  desk.apply(5, 3);
  CHECK(desk.told == Told{"7 made 5"});
  CHECK(desk.proposals.pending() == 0);
}

TEST_CASE("a leader appends to its own log") {
  Desk desk;
  desk.lead_by(self);
  desk.appended = Replica::Proposed{9, 2};
  desk.propose(7);
  CHECK(desk.in_log == std::vector<Instant>{{7}});
  desk.apply(9, 2);
  CHECK(desk.told == Told{"7 made 9"});
}

TEST_CASE("what comes while nobody leads waits, and goes out in order") {
  Desk desk;
  for (std::int64_t which = 1; which <= 3; ++which) desk.propose(which);
  desk.pass(seconds(5));
  CHECK(desk.asked.empty());
  desk.lead_by(other);
  CHECK(desk.questions() == Questions{1, 2, 3});
}

TEST_CASE("another entry in its place: it was lost, and is proposed anew") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  desk.answer(5, 3);
  desk.lead_by(third);
  desk.apply(5, 4);
  CHECK(desk.told.empty());
  CHECK(desk.questions() == Questions{7, 7});
  CHECK(desk.asked[1].first == third);
  desk.answer(6, 4);
  desk.apply(6, 4);
  CHECK(desk.told == Told{"7 made 6"});
}

TEST_CASE("a later term before its place: nothing of an older one comes after that") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  desk.answer(9, 3);
  desk.lead_by(third);
  desk.apply_noop(5, 4);
  CHECK(desk.questions() == Questions{7, 7});
}

TEST_CASE("a new leader that has it leaves it where it is") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  desk.answer(5, 3);
  desk.lead_by(PeerId{});
  desk.lead_by(third);
  CHECK(desk.questions() == Questions{7});
  desk.apply(5, 3);
  desk.apply_noop(6, 4);
  CHECK(desk.told == Told{"7 made 5"});
}

TEST_CASE("an answer that comes after its place was applied tells nothing") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  desk.apply(5, 3);
  desk.answer(5, 3);
  CHECK(desk.told.empty());
  CHECK(desk.questions() == Questions{7, 7});
}

TEST_CASE("an answer of a leader that others have followed tells nothing") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  desk.apply_noop(5, 4);
  desk.answer(9, 3);
  CHECK(desk.questions() == Questions{7, 7});
}

TEST_CASE("no answer: asked again after a while; a late answer to the first is not taken") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  desk.pass(milliseconds(1999));
  CHECK(desk.asked.size() == 1);
  desk.pass(milliseconds(1));
  CHECK(desk.asked.size() == 1);  // not at once
  REQUIRE(desk.proposals.wake_at().has_value());
  CHECK(*desk.proposals.wake_at() == desk.now + milliseconds(50));
  desk.answer(5, 3);
  desk.apply(5, 3);
  CHECK(desk.told.empty());
  desk.pass(milliseconds(50));
  CHECK(desk.asked.size() == 2);
  desk.answer(6, 3);
  desk.apply(6, 3);
  CHECK(desk.told == Told{"7 made 6"});
}

TEST_CASE("refused for now: asked again ever less often, down to once a second") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 7; ++i) {
    desk.refuse(true);
    const Moment wake = desk.proposals.wake_at().value();
    waits.push_back((wake - desk.now).count_ms);
    desk.pass(wake - desk.now);
  }
  CHECK(waits == std::vector<std::int64_t>{50, 100, 200, 400, 800, 1000, 1000});
  CHECK(desk.told.empty());
}

TEST_CASE("refused for good: it failed") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  desk.refuse(false);
  CHECK(desk.told == Told{"7 failed"});
  CHECK(desk.questions() == Questions{7});
}

TEST_CASE("the link to the leader is lost: what was asked there is asked again") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  desk.proposals.unlinked(desk.now, third);
  desk.pass(milliseconds(100));
  CHECK(desk.questions() == Questions{7});
  desk.proposals.unlinked(desk.now, other);
  desk.pass(milliseconds(100));
  CHECK(desk.questions() == Questions{7, 7});
}

TEST_CASE("the state was replaced past its place: what it did is not known, so it is asked anew") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(7);
  desk.answer(5, 3);
  desk.propose(8);
  desk.answer(50, 3);
  desk.proposals.restored(desk.now, 40, 3);
  desk.tick();
  CHECK(desk.told.empty());
  CHECK(desk.questions() == Questions{7, 8, 7});
  desk.apply(50, 3);
  CHECK(desk.told == Told{"8 made 50"});
}

TEST_CASE("none overtakes one that waits") {
  Desk desk;
  desk.lead_by(self);
  desk.propose(1);  // the log takes nothing just now
  desk.appended = Replica::Proposed{5, 1};
  desk.propose(2);
  CHECK(desk.in_log.empty());
  desk.pass(milliseconds(50));
  CHECK(desk.in_log == std::vector<Instant>{{1}, {2}});
}

TEST_CASE("after a minute it has failed, wherever it is") {
  Desk desk;
  desk.propose(1);
  desk.pass(seconds(1));
  desk.lead_by(other);
  desk.answer(5, 3);
  desk.propose(2);
  desk.lead_by(PeerId{});
  desk.pass(milliseconds(58'999));
  CHECK(desk.told.empty());
  CHECK(*desk.proposals.wake_at() == desk.now + milliseconds(1));
  desk.pass(milliseconds(1));
  CHECK(desk.told == Told{"1 failed"});
  desk.pass(seconds(1));
  CHECK(desk.told == Told{"1 failed", "2 failed"});
  CHECK_FALSE(desk.proposals.wake_at().has_value());
  desk.apply(5, 3);  // nobody waits for it any more
  CHECK(desk.told.size() == 2);
}

TEST_CASE("who is told while another is appended may propose") {
  Desk desk;
  desk.lead_by(self);
  desk.appended = Replica::Proposed{5, 1};
  bool nested = false;
  Proposals* proposals = nullptr;
  raft::Index last = 4;
  Proposals real{self,
                 {[&](const Command&) -> Result<Replica::Proposed> {
                    if (!std::exchange(nested, true)) {
                      proposals->add(desk.now, command::Hold{}, [](const Result<Applied>&) {});
                      proposals->tick(desk.now);
                    }
                    return Replica::Proposed{++last, 1};
                  },
                  [](PeerId, wire::Propose) {}}};
  proposals = &real;
  real.leader_is(desk.now, self);
  int told = 0;
  real.add(desk.now, command::Hold{}, [&](const Result<Applied>&) { ++told; });
  real.tick(desk.now);
  CHECK(last == 6);  // each once
  Applied applied;
  real.applied(desk.now, {5, 1, {command::Hold{}}, {applied}});
  for (auto& [done, result] : real.take_finished()) done(std::move(result));
  CHECK(told == 1);
  CHECK(real.pending() == 1);
}

TEST_CASE("all fail together") {
  Desk desk;
  desk.lead_by(other);
  desk.propose(1);
  desk.answer(5, 3);
  desk.propose(2);
  desk.proposals.fail({Code::io, "the disk"});
  desk.tell();
  CHECK(desk.told == Told{"1 failed", "2 failed"});
  desk.apply(5, 3);
  CHECK(desk.told.size() == 2);
}
