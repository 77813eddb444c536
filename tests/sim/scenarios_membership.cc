// Scenarios of changing members: a leader that removes itself, a learner that never catches up.

#include <algorithm>
#include <vector>

#include "sim/scenarios.h"
#include "sim/stage.h"

namespace gpl::sim {

namespace {

Played leader_removal(Trace::Mode trace) {
  Stage stage(3, 1, trace);
  stage.elect(1);
  stage.agree();
  std::optional<bool> fate;
  const Micros asked = stage.now();
  const auto removed =
      stage.machine(1).replica().event([](peer::Replica& r) { return r.remove(raft::NodeId{1}); });
  stage.expect(removed.ok(), "m1 takes its own removal");
  stage.wait("another leads", secs(20),
             [&] { return stage.machine(2).leads() || stage.machine(3).leads(); });
  const Micros took = stage.now() - asked;
  const std::size_t leader = stage.machine(2).leads() ? 2 : 3;
  stage.expect(!stage.node(leader).configuration().contains(raft::NodeId{1}),
               "m1 is no member any more");
  // The removed one may not know, and campaigns: it disturbs nobody.
  const auto term = stage.node(leader).term();
  stage.run(30 * millis(stage.election_timeout().count_ms));
  stage.expect(stage.node(leader).role() == raft::Role::leader && stage.node(leader).term() == term,
               "the leader leads on");
  stage.propose(leader, &fate);
  stage.wait("two commit", secs(5), [&] { return fate == true; });
  return {stage.failure(),
          "another led " + in_ms(took) +
              " after the leader took its own removal; in 30 election timeouts the "
              "removed one ended no term"};
}

Played slow_learner(Trace::Mode trace) {
  Stage stage(3, 1, trace, 1);
  stage.elect(1);
  stage.agree();
  const auto learner = stage.cluster().join(3, {});
  // Whatever is sent to it that is not a heartbeat gets lost.
  stage.loses = [&](const raft::Message& m) {
    const auto* append = std::get_if<raft::Append>(&m.body);
    return m.to == learner && ((append != nullptr && !append->entries.empty()) ||
                               std::holds_alternative<raft::InstallSnapshot>(m.body));
  };
  const auto on_leader = [&](auto&& what) { return stage.machine(1).replica().event(what); };
  stage.expect(on_leader([&](peer::Replica& r) { return r.add_learner(learner); }).ok(),
               "a learner is added");
  int refusals = 0;
  Micros longest = 0;
  for (int i = 0; i < 200; ++i) {
    std::optional<bool> fate;
    const Micros start = stage.now();
    stage.propose(1, &fate);
    stage.wait("it is committed", secs(1), [&] { return fate == true; });
    longest = std::max(longest, stage.now() - start);
    const auto promoted = on_leader([&](peer::Replica& r) { return r.promote(learner); });
    if (!promoted.ok() && promoted.error().code == Code::busy) ++refusals;
    stage.run(millis(50));
  }
  stage.expect(refusals == 200, "it is promoted at no time");
  stage.expect(on_leader([&](peer::Replica& r) { return r.remove(learner); }).ok(),
               "it can be removed");
  stage.wait("the voters are three and nobody listens", secs(5), [&] {
    return stage.node(2).configuration().learners.empty() &&
           stage.node(2).commit_index() == stage.node(1).last_index();
  });
  return {stage.failure(), "200 entries commit beside it, each within " + in_ms(longest) +
                               "; its promotion is refused 200 times; it is removed"};
}

}  // namespace

std::vector<Scenario> membership_scenarios() {
  return {{"leader-removal", leader_removal}, {"slow-learner", slow_learner}};
}

}  // namespace gpl::sim
