// Scenarios of leaders that come and go: the Raft paper's figure 8, a partitioned leader, a
// transfer, and how long a change takes.

#include <algorithm>
#include <vector>

#include "sim/scenarios.h"
#include "sim/stage.h"

namespace gpl::sim {

namespace {

/// Whether a message carries an entry of this term or a later one.
bool carries_term(const raft::Message& message, raft::Term term) {
  const auto* append = std::get_if<raft::Append>(&message.body);
  return append != nullptr && !append->entries.empty() && append->entries.back().term >= term;
}

/// Figure 8 to the point (c): machine 1 leads again, and its old entry is on a majority, no entry
/// of its new term is. Returns the old entry.
std::optional<peer::Replica::Proposed> play_to_c(Stage& stage) {
  stage.elect(1);
  stage.agree();
  // (a) It writes an entry that reaches machine 2 alone.
  stage.loses = [&](const raft::Message& m) {
    return stage.number_of(m.from) == 1 && stage.number_of(m.to) > 2;
  };
  const auto old = stage.propose(1);
  if (!stage.expect(old.has_value(), "m1 takes a proposal")) return std::nullopt;
  stage.wait("m1 and m2 have the old entry", secs(1), [&] {
    return stage.node(1).synced_index() >= old->index && stage.node(2).synced_index() >= old->index;
  });
  stage.machine(1).die(Death::power_lost);
  // (b) Machine 5 is elected by 3 and 4, and writes its no-op in the same place, alone.
  stage.loses = [&](const raft::Message& m) {
    return stage.number_of(m.to) == 2 || carries_term(m, 1);
  };
  stage.candidates({5});
  stage.wait("m5 leads its own term", secs(20), [&] {
    return stage.node(5).role() == raft::Role::leader && stage.node(5).synced_index() >= old->index;
  });
  stage.machine(5).die(Death::power_lost);
  // (c) Machine 1 is elected again, by 2 and 3; its old entry reaches 3, that of its new term
  // nobody.
  stage.machine(1).start();
  const auto old_term = old->term;
  stage.loses = [&stage, old_term](const raft::Message& m) {
    return stage.number_of(m.to) == 4 || carries_term(m, old_term + 1);
  };
  stage.candidates({1});
  stage.wait("m3 has the old entry", secs(20), [&] {
    return stage.node(1).role() == raft::Role::leader && stage.node(3).synced_index() >= old->index;
  });
  stage.run(millis(50));
  return old;
}

/// (d) Machine 1 crashes, and 5 overwrites the entry on all others: it must not have been
/// committed.
void play_d(Stage& stage, const peer::Replica::Proposed& old) {
  stage.machine(1).die(Death::power_lost);
  stage.machine(5).start();
  stage.loses = nullptr;
  stage.elect(5);
  stage.expect(stage.node(5).term_at(old.index) != old.term, "m5 has its own entry in that place");
  stage.machine(1).start();
  stage.agree();
}

/// (e) Machine 1 gets its new entry to a majority before it crashes: 5 cannot be elected.
void play_e(Stage& stage, const peer::Replica::Proposed& old) {
  stage.loses = [&](const raft::Message& m) { return stage.number_of(m.to) == 4; };
  stage.wait("m1 commits the old entry with its new one", secs(5),
             [&] { return stage.node(1).commit_index() > old.index; });
  stage.machine(1).die(Death::power_lost);
  stage.machine(5).start();
  stage.loses = nullptr;
  stage.candidates({5});
  stage.run(20 * millis(stage.election_timeout().count_ms));
  stage.expect(stage.node(5).role() != raft::Role::leader, "m5 is not elected");
  stage.candidates({});
  stage.machine(1).start();
  stage.agree();
  stage.expect(stage.node(2).term_at(old.index) == old.term, "the old entry is there for good");
}

void entry_by_entry(Setup& setup) { setup.append_limit_bytes = 1; }
void count_replicas(Setup& setup) {
  setup.append_limit_bytes = 1;
  setup.planted_bug = PlantedBug::old_term;
}

Played figure_8(Trace::Mode trace) {
  Stage lost(5, 1, trace, 0, entry_by_entry);
  if (const auto old = play_to_c(lost); old && !lost.failure()) {
    lost.expect(lost.node(1).commit_index() < old->index, "m1 does not commit it by counting");
    play_d(lost, *old);
  }
  Stage kept(5, 1, trace, 0, entry_by_entry);
  if (const auto old = play_to_c(kept); old && !kept.failure()) play_e(kept, *old);
  // With the mistake that the figure warns of the same story must end in a violation.
  Stage wrong(5, 1, trace, 0, count_replicas);
  if (const auto old = play_to_c(wrong); old && !wrong.failure()) play_d(wrong, *old);
  const bool found = wrong.world().violation().has_value();
  auto failure = lost.failure() ? lost.failure() : kept.failure();
  if (!failure && !found) failure = "a commit by counting replicas was not found out";
  return {failure,
          "an old entry on 3 of 5 is not committed and is overwritten; with an entry of the "
          "leader's term it is, and stays; committing it by counting is found out: " +
              wrong.world().violation().value_or("")};
}

Played partitioned_leader(Trace::Mode trace) {
  Stage stage(3, 1, trace);
  stage.elect(1);
  stage.agree();
  stage.network().isolate(0);
  std::optional<bool> fates[10];
  for (auto& fate : fates) stage.propose(1, &fate);
  const auto first = stage.node(1).last_index() - 9;
  const Micros cut = stage.now();
  stage.wait("m1 has stepped down", secs(20),
             [&] { return stage.node(1).role() != raft::Role::leader; });
  const Micros stepped_down = stage.now() - cut;
  stage.wait("another leads", secs(20),
             [&] { return stage.machine(2).leads() || stage.machine(3).leads(); });
  const Micros taken_over = stage.now() - cut;
  const std::size_t leader = stage.machine(2).leads() ? 2 : 3;
  std::optional<bool> later;
  for (int i = 0; i < 10; ++i) stage.propose(leader, &later);
  stage.wait("the new leader commits", secs(5), [&] { return later.has_value(); });
  stage.expect(stage.node(1).last_index() == first + 9, "m1 still has its 10 entries");
  const auto term = stage.node(leader).term();
  stage.network().heal();
  stage.agree();
  stage.expect(stage.node(leader).term() == term, "the return disturbs nobody");
  const auto lost = std::count(std::begin(fates), std::end(fates), std::optional(false));
  stage.expect(lost == 10 && later == true, "its 10 proposals are told as lost");
  return {stage.failure(), "10 uncommitted entries gave way; another led after " +
                               in_ms(taken_over) + ", it stepped down after " +
                               in_ms(stepped_down)};
}

Played transferee(Trace::Mode trace) {
  Stage stage(3, 1, trace);
  stage.elect(1);
  stage.agree();
  // Machine 2 lags by 50 entries when it is asked to take over.
  stage.loses = [&](const raft::Message& m) {
    const auto* append = std::get_if<raft::Append>(&m.body);
    return stage.number_of(m.to) == 2 && append != nullptr && !append->entries.empty();
  };
  std::optional<bool> fates[50];
  for (auto& fate : fates) stage.propose(1, &fate);
  stage.run(millis(20));
  const Micros asked = stage.now();
  const auto handover = stage.machine(1).replica().event(
      [](peer::Replica& r) { return r.transfer(raft::NodeId{2}); });
  stage.expect(handover.ok(), "m1 hands over");
  stage.expect(!stage.propose(1).has_value(), "no proposals are taken meanwhile");
  stage.loses = nullptr;
  stage.wait("m2 leads", secs(5), [&] { return stage.machine(2).leads(); });
  const Micros took = stage.now() - asked;
  stage.agree();
  stage.expect(std::count(std::begin(fates), std::end(fates), std::optional(true)) == 50,
               "all 50 proposals are committed");
  // One that is dead does not take over, and its leader goes on.
  stage.machine(3).die(Death::killed);
  const Micros again = stage.now();
  const auto status = stage.machine(2).replica().event(
      [&](peer::Replica& r) { return r.transfer(raft::NodeId{3}); });
  stage.expect(status.ok(), "the leader tries to hand over to m3");
  stage.wait("proposals are taken again", secs(5), [&] { return stage.propose(2).has_value(); });
  const Micros given_up = stage.now() - again;
  stage.machine(3).start();
  stage.agree();
  return {stage.failure(), "one that lagged by 50 entries led after " + in_ms(took) +
                               "; one that was dead was given up after " + in_ms(given_up)};
}

/// From a leader's crash until another leads, with the product's timeouts.
Played leader_change(Trace::Mode trace) {
  std::vector<Micros> times;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Stage stage(seed % 2 == 0 ? 3 : 5, seed, trace);
    stage.wait("somebody leads", secs(20),
               [&] { return stage.cluster().leader() != stage.size(); });
    stage.run(static_cast<Micros>(stage.world().dice("pause").below(2'000'000)));
    const auto leader = stage.cluster().leader() + 1;
    if (leader > stage.size()) return {"nobody leads", ""};
    const Micros crash = stage.now();
    stage.machine(leader).die(Death::killed);
    stage.wait("another leads", secs(20), [&] { return stage.cluster().leader() != stage.size(); });
    if (stage.failure()) return {stage.failure(), ""};
    times.push_back(stage.now() - crash);
  }
  std::sort(times.begin(), times.end());
  return {std::nullopt, "of 300 crashes of a leader, median " + in_ms(times[times.size() / 2]) +
                            ", 99 of 100 " + in_ms(times[times.size() * 99 / 100]) + ", longest " +
                            in_ms(times.back()) + " until another leads"};
}

}  // namespace

std::vector<Scenario> election_scenarios() {
  return {{"figure-8", figure_8},
          {"partitioned-leader", partitioned_leader},
          {"transferee", transferee},
          {"leader-change", leader_change}};
}

}  // namespace gpl::sim
