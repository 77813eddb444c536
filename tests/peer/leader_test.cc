#include "gpl/peer/leader.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trio.h"

namespace gpl::peer::test {
namespace {

constexpr PeerId ana{1};
constexpr SessionId session{10};

/// Its root makes every command that names it large.
const std::string environment(30'000, 'e');

PeerOffer some_offer() {
  PeerOffer offer;
  offer.environments.push_back({"long", environment, "", "", {}, {}});
  offer.name = "ana";
  offer.host.name = "ana";
  offer.host.cpus = 8;
  return offer;
}

command::Place place(JobId job, std::string its_environment = "") {
  return {job, {{TaskId{0}, TaskId{0}}, ana, {1, 0, {}, std::move(its_environment)}}, Instant{1}};
}

/// What a member does while it leads, with a placement rule that says what it is told to, once.
struct Led {
  Member& member;
  HandClock& clock;
  std::vector<AddressedToWorker> sent;
  std::vector<command::Place> rule_says;
  Leader leader;

  Led(Member& led, HandClock& its_clock)
      : member(led),
        clock(its_clock),
        leader(
            *member.replica, clock,
            [this](const ClusterState&, Instant) {
              return Placements{std::exchange(rule_says, {})};
            },
            CoordinatorOptions{},
            [this](PeerId to, const LeaderToWorker& message) {
              sent.push_back({to, message});
            }) {
    member.on_applied = [this](const AppliedEntry& entry) { leader.applied(entry); };
    member.after_event = [this] { leader.after_event(); };
    leader.after_event();
  }
  ~Led() {
    member.on_applied = nullptr;
    member.after_event = nullptr;
  }
  Led(const Led&) = delete;
  Led& operator=(const Led&) = delete;

  Leadership leadership() const { return {0, member.node().term()}; }
  void hello() { leader.receive(ana, to_leader::Hello{session, "k1", some_offer(), {}, {}}); }
  void renew(const Leadership& with, std::uint64_t opening = 1) {
    leader.receive(ana, to_leader::Renew{session, with, opening, Moment{42}, 0});
  }
  /// A worker in an open session; what it says is proposed.
  void open_session() {
    hello();
    renew(leadership());
  }
  void tick() {
    REQUIRE(leader.wake_at());
    clock.advance_to(*leader.wake_at());
    leader.tick();
  }
  std::vector<JobId> started() const {
    std::vector<JobId> jobs;
    for (const auto& out : sent) {
      const auto* order = std::get_if<to_worker::Order>(&out.message);
      const auto* start = order == nullptr ? nullptr : std::get_if<to_worker::Start>(&order->what);
      if (start != nullptr) jobs.push_back(start->job);
    }
    return jobs;
  }
};

using Jobs = std::vector<JobId>;

/// A founder that leads, with a worker that is up.
struct Founder {
  LoneVoter voter;
  Led led{voter, voter};

  Founder() {
    led.open_session();
    voter.settle();
    REQUIRE(voter.state().find_peer(ana));
    led.sent.clear();
  }
  void submit_jobs(std::uint64_t count) {
    for (std::uint64_t number = 1; number <= count; ++number) voter.propose({submit(number)});
    voter.settle();
    voter.applied.clear();
  }
};

}  // namespace

TEST_CASE("a worker's hello is welcomed in the term in which the member leads") {
  LoneVoter voter;
  Led led(voter, voter);
  led.hello();
  CHECK(led.sent == std::vector<AddressedToWorker>{
                        {ana, to_worker::Welcome{session, Leadership{0, voter.node().term()}, 1}}});
  CHECK(voter.committer->waiting(log_lane) == 0);
}

TEST_CASE("a renewal is granted at once, and its worker is known once that is applied") {
  LoneVoter voter;
  Led led(voter, voter);
  led.hello();
  led.sent.clear();
  led.renew(led.leadership());
  CHECK(led.sent ==
        std::vector<AddressedToWorker>{
            {ana, to_worker::Granted{session, led.leadership(), Moment{42}, milliseconds(0), 0}}});
  CHECK_FALSE(voter.state().find_peer(ana));
  voter.settle();
  const PeerRecord* peer = voter.state().find_peer(ana);
  REQUIRE(peer != nullptr);
  CHECK(peer->offer == some_offer());
  CHECK(peer->up_at == voter.wall());
}

TEST_CASE("a job is placed by the rule, and started only after its place has been applied") {
  Founder founder;
  founder.submit_jobs(1);
  founder.led.rule_says = {place(JobId{1})};
  founder.led.tick();
  REQUIRE(founder.voter.committer->waiting(log_lane) == 1);
  CHECK(founder.led.sent.empty());
  const auto syncs = founder.voter.log_syncs();
  while (founder.voter.log_syncs() == syncs) {
    REQUIRE(founder.voter.committer->step(log_lane));
    founder.led.leader.after_event();
    CHECK(founder.led.sent.empty());
  }
  founder.voter.settle();
  CHECK(founder.led.sent.size() == 1);
  CHECK(founder.led.started() == Jobs{JobId{1}});
}

TEST_CASE("a job that is submitted with its place is started with one sync") {
  Founder founder;
  const auto batches = founder.voter.replica->batches();
  command::Submit submitted = submit(1);
  submitted.placings = {place(JobId{}).placing};
  founder.voter.propose({submitted});
  founder.led.leader.after_event();
  CHECK(founder.led.sent.empty());
  founder.voter.settle();
  CHECK(founder.led.started() == Jobs{JobId{1}});
  CHECK(founder.voter.replica->batches() == batches + 1);
}

TEST_CASE("what a worker tells of an attempt is in the state once that is applied") {
  Founder founder;
  founder.submit_jobs(1);
  founder.led.rule_says = {place(JobId{1})};
  founder.led.tick();
  founder.voter.settle();
  const auto attempts = founder.voter.state().attempts_on(ana);
  REQUIRE(attempts.size() == 1);
  const Fence fence = founder.voter.state().find_attempt(attempts[0])->fence;
  founder.led.sent.clear();
  founder.led.leader.receive(
      ana, to_leader::Told{session, 1,
                           EndedAttempt{fence, Instant{5}, Outcome{Exited{0}}, Instant{6}, false}});
  CHECK(founder.led.sent.empty());
  CHECK_FALSE(founder.voter.state().outcome_of(JobId{1}, TaskId{0}));
  founder.voter.settle();
  CHECK(founder.voter.state().outcome_of(JobId{1}, TaskId{0}) == Outcome{Exited{0}});
  REQUIRE(founder.led.sent.size() == 1);
  const auto* order = std::get_if<to_worker::Order>(&founder.led.sent[0].message);
  REQUIRE(order != nullptr);
  CHECK(std::get<to_worker::Acknowledge>(order->what).fence == fence);
}

TEST_CASE("commands that are wanted together go in one entry") {
  Founder founder;
  founder.submit_jobs(3);
  founder.led.rule_says = {place(JobId{1}), place(JobId{2}), place(JobId{3})};
  founder.led.tick();
  founder.voter.settle();
  REQUIRE(founder.voter.applied.size() == 1);
  CHECK(founder.voter.applied[0].commands.size() == 3);
  CHECK(founder.led.started() == Jobs{JobId{1}, JobId{2}, JobId{3}});
}

TEST_CASE("commands that are too large together go one by one, in their order") {
  Founder founder;
  founder.submit_jobs(3);
  founder.led.rule_says = {place(JobId{1}, environment), place(JobId{2}, environment),
                           place(JobId{3}, environment)};
  founder.led.tick();
  founder.voter.settle();
  REQUIRE(founder.voter.applied.size() == 3);
  for (const auto& entry : founder.voter.applied) CHECK(entry.commands.size() == 1);
  CHECK(founder.led.started() == Jobs{JobId{1}, JobId{2}, JobId{3}});
}

TEST_CASE("a command that is too large alone is left, and the others go on") {
  Founder founder;
  founder.submit_jobs(2);
  founder.led.rule_says = {place(JobId{1}, std::string(70'000, 'e')), place(JobId{2})};
  founder.led.tick();
  founder.voter.settle();
  CHECK(founder.led.started() == Jobs{JobId{2}});
  CHECK(founder.voter.stopped.empty());
}

TEST_CASE("a member that does not lead hears no worker, and has nothing to wake for") {
  Trio trio;
  trio.elect(trio.a);
  Led led(trio.b, trio.clock);
  led.hello();
  led.renew(Leadership{0, trio.b.node().term()});
  led.leader.tick();
  trio.settle();
  CHECK(led.sent.empty());
  CHECK_FALSE(led.leader.wake_at());
  CHECK_FALSE(led.leader.coordinator().leads());
  const auto status = led.leader.forget(ana);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == Code::busy);
}

TEST_CASE("a member begins to lead once its term's first entry is applied, not when elected") {
  Trio trio;
  Led led(trio.a, trio.clock);
  trio.clock.advance_to(trio.a.node().wake_at());
  trio.a.tick();
  while (trio.a.node().role() != raft::Role::leader) {
    for (Member* member : trio.members()) member->run(log_lane);
    REQUIRE(trio.deliver());
  }
  led.hello();
  CHECK(led.sent.empty());
  CHECK_FALSE(led.leader.wake_at());
  trio.settle();
  REQUIRE(trio.a.node().leads());
  CHECK(led.sent.size() == 1);  // what was said meanwhile is heard
  led.hello();
  CHECK(led.sent.size() == 2);
}

TEST_CASE("a peer that leaves is not heard any more, and not announced") {
  Trio trio;
  Led led(trio.a, trio.clock);
  trio.elect(trio.a);
  led.leader.leaves(ana);
  led.hello();
  CHECK(led.sent.empty());
  led.leader.may_return(ana);
  led.hello();
  CHECK(led.sent.size() == 1);
}

TEST_CASE("after another has been elected nothing is sent, not even for what is applied then") {
  Trio trio;
  trio.elect(trio.a);
  Led led(trio.a, trio.clock);
  led.open_session();
  trio.settle();
  const Leadership before = led.leadership();
  trio.a.propose({submit(1)});
  trio.settle();
  led.rule_says = {place(JobId{1})};
  led.tick();
  // The others have the place, and commit it without this one.
  REQUIRE(trio.deliver());
  trio.a.run(log_lane);
  trio.cut_off = {one};
  trio.settle();
  led.sent.clear();
  trio.elect(trio.b);
  REQUIRE(trio.b.state().attempts_on(ana).size() == 1);
  CHECK(led.leader.coordinator().leads());
  trio.cut_off = {};
  trio.beat(trio.b);
  REQUIRE(trio.a.state().attempts_on(ana).size() == 1);

  CHECK_FALSE(led.leader.coordinator().leads());
  led.hello();
  led.renew(before);
  led.leader.tick();
  CHECK(led.sent.empty());
  CHECK_FALSE(led.leader.wake_at());
}

TEST_CASE("a member that has stopped leads no more") {
  Founder founder;
  founder.submit_jobs(1);
  founder.led.rule_says = {place(JobId{1})};
  founder.led.tick();
  founder.voter.disk.before = [](const store::Operation&) -> Status {
    return Error{Code::io, "Input/output error"};
  };
  founder.voter.settle();
  REQUIRE(founder.voter.stopped.size() == 1);
  founder.led.renew(founder.led.leadership());
  CHECK(founder.led.sent.empty());
  CHECK_FALSE(founder.led.leader.wake_at());
}

TEST_CASE("a new term is another leadership: sessions of the one before are to be opened anew") {
  LoneVoter voter;
  std::optional<Led> led;
  led.emplace(voter, voter);
  led->open_session();
  voter.settle();
  const Leadership before = led->leadership();
  led.reset();
  voter.reopen();
  led.emplace(voter, voter);
  CHECK_FALSE(led->leader.wake_at());
  voter.settle();
  REQUIRE(led->leadership() > before);
  led->renew(before);
  CHECK(led->sent ==
        std::vector<AddressedToWorker>{{ana, to_worker::Reopen{session, led->leadership()}}});
}

TEST_CASE("what could not be proposed during a handover is proposed again afterwards") {
  Trio trio;
  trio.elect(trio.a);
  Led led(trio.a, trio.clock);
  trio.cut_off = {three};
  trio.a.propose({submit(1)});
  REQUIRE(trio.a.replica->transfer(three).ok());
  const auto last = trio.a.node().last_index();
  led.open_session();
  CHECK(trio.a.node().last_index() == last);
  for (int i = 0; i < 49; ++i) {
    trio.beat(trio.a);
    led.renew(led.leadership());
    led.leader.tick();
  }
  trio.settle();
  CHECK_FALSE(trio.a.state().find_peer(ana));
  for (int i = 0; i < 10; ++i) {
    trio.beat(trio.a);
    led.leader.tick();
  }
  trio.settle();
  CHECK(trio.a.state().find_peer(ana));
  CHECK(trio.a.stopped.empty());
}

}  // namespace gpl::peer::test
