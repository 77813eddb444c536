// Scenarios of disks: a lone voter that crashes, a vote that a torn write forgets, a snapshot that
// arrives while entries do, a disk that stops syncing.

#include <algorithm>
#include <vector>

#include "sim/scenarios.h"
#include "sim/stage.h"

namespace gpl::sim {

namespace {

/// It decides on an entry, and loses power after so many operations on its disk. True: it came to
/// it.
struct LoneCrash {
  bool kept = false;       ///< the entry was on disk after all
  Micros until_leads = 0;  ///< from its start on
};

LoneCrash crash_lone_voter(Stage& stage, std::uint64_t operations) {
  stage.elect(1);
  std::optional<bool> first, second, third;
  stage.propose(1, &first);
  stage.wait("the first is committed", secs(1), [&] { return first.has_value(); });
  const auto term = stage.node(1).term();
  const auto lost = stage.propose(1, &second);
  if (!stage.expect(lost.has_value(), "a second is taken")) return {};
  std::uint64_t left = operations;
  const std::function<void()> count_down = [&] {
    if (left-- == 0) {
      stage.machine(1).die(Death::power_lost);
    } else {
      stage.machine(1).replica().in_next_operation(count_down);
    }
  };
  count_down();
  stage.run(millis(20));
  if (stage.machine(1).up()) stage.machine(1).die(Death::power_lost);
  const Micros start = stage.now();
  stage.machine(1).start();
  stage.wait("it leads again", secs(5), [&] { return stage.machine(1).leads(); });
  const LoneCrash crash{stage.node(1).term_at(lost->index) == term, stage.now() - start};
  stage.expect(stage.node(1).term() > term, "a new term begins before it leads");
  stage.expect(second != true || crash.kept, "what was told as committed is kept");
  stage.propose(1, &third);
  stage.wait("it commits", secs(1), [&] { return third == true; });
  return crash;
}

Played lone_voter(Trace::Mode trace) {
  int crashes = 0, kept = 0;
  Micros longest = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (std::uint64_t operations = 0; operations < 4; ++operations) {
      Stage stage(1, seed, trace);
      const auto crash = crash_lone_voter(stage, operations);
      if (stage.failure()) return {stage.failure(), ""};
      ++crashes;
      kept += crash.kept ? 1 : 0;
      longest = std::max(longest, crash.until_leads);
    }
  }
  return {std::nullopt, std::to_string(crashes) + " crashes around the write; the entry survived " +
                            std::to_string(kept) +
                            " of them, its place was never given twice in a "
                            "term; it led again after " +
                            in_ms(longest) + " at most"};
}

/// Machine 2 loses power while it writes its vote for 1; then 3 asks it for the same term.
struct TornVote {
  bool remembered = false;  ///< the write survived: 3 got no vote in that term
};

TornVote tear_vote(Stage& stage) {
  raft::Term term = 0;
  bool torn = false;
  stage.loses = [&](const raft::Message& m) {
    const bool asks =
        std::holds_alternative<raft::VoteRequest>(m.body) && stage.number_of(m.from) == 1;
    if (!asks || torn) return stage.number_of(m.from) == 1 && torn;
    if (stage.number_of(m.to) == 3) return true;
    term = m.term;
    stage.machine(2).replica().in_next_operation([&] {
      torn = true;
      stage.machine(2).die(Death::power_lost);
    });
    return false;
  };
  stage.candidates({1});
  stage.wait("m2 loses power while it votes", secs(20), [&] { return torn; });
  stage.machine(1).die(Death::killed);
  stage.machine(2).start();
  const bool remembered = stage.node(2).term() == term;
  stage.candidates({3});
  stage.wait("m3 leads", secs(20), [&] { return stage.machine(3).leads(); });
  stage.expect(remembered == (stage.node(3).term() > term),
               "m2 votes for m3 in this term just when it has forgotten its vote");
  stage.machine(1).start();
  stage.loses = nullptr;
  stage.agree();
  return {remembered};
}

Played torn_vote(Trace::Mode trace) {
  int remembered = 0;
  constexpr int runs = 100;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    Stage stage(3, seed, trace);
    const auto vote = tear_vote(stage);
    if (stage.failure()) return {stage.failure(), ""};
    remembered += vote.remembered ? 1 : 0;
  }
  if (remembered == 0 || remembered == runs)
    return {"the write always had the same fate, " + std::to_string(remembered), ""};
  return {std::nullopt, "of " + std::to_string(runs) + " votes given and torn, " +
                            std::to_string(remembered) + " were remembered and not given again, " +
                            std::to_string(runs - remembered) +
                            " were forgotten and given anew; none was told twice"};
}

Played stalled_disk(Trace::Mode trace) {
  Stage stage(3, 1, trace);
  stage.elect(1);
  stage.agree();
  stage.machine(3).speed().stalled_until = stage.now() + secs(5);
  const auto before = stage.node(3).synced_index();
  Micros longest = 0;
  for (int i = 0; i < 100; ++i) {
    std::optional<bool> fate;
    const Micros start = stage.now();
    stage.propose(1, &fate);
    stage.wait("it is committed", secs(1), [&] { return fate == true; });
    longest = std::max(longest, stage.now() - start);
    stage.run(millis(10));
  }
  stage.expect(stage.node(3).synced_index() <= before + 1,
               "the stalled one counts nothing that it has not synced");
  stage.run(secs(6));
  stage.agree();
  // The leader's own: the others commit what it has sent, and it applies it once it has it on disk.
  stage.machine(1).speed().stalled_until = stage.now() + secs(5);
  std::optional<bool> fate;
  const Micros start = stage.now();
  const auto place = stage.propose(1, &fate);
  if (!stage.expect(place.has_value(), "the leader takes a proposal")) return {stage.failure(), ""};
  stage.wait("a follower has committed it", secs(1),
             [&] { return stage.node(2).commit_index() >= place->index; });
  const Micros on_follower = stage.now() - start;
  stage.wait("the leader has applied it", secs(6), [&] { return fate == true; });
  const Micros on_leader = stage.now() - start;
  stage.agree();
  return {stage.failure(),
          "100 entries commit while a follower's disk stalls for 5 s, each within " +
              in_ms(longest) +
              "; while the leader's own does, a follower has one "
              "committed after " +
              in_ms(on_follower) +
              ", the leader applies it "
              "after " +
              in_ms(on_leader)};
}

void small_snapshots(Setup& setup) {
  setup.snapshot_after_entries = 1000;
  setup.kept_entries = 100;
  setup.long_kept_entries = 100;
  setup.piece_bytes = 2048;
  setup.segment_bytes = 64 * 1024;
}

Played snapshot_and_entries(Trace::Mode trace) {
  Stage stage(3, 1, trace, 0, small_snapshots);
  stage.elect(1);
  stage.agree();
  stage.machine(3).die(Death::killed);
  const auto burst = [&](int count) {
    std::optional<bool> last;
    for (int i = 0; i < count; ++i) {
      stage.propose(1, i + 1 == count ? &last : nullptr);
      stage.run(200);
    }
    stage.wait("they are committed", secs(5), [&] { return last == true; });
  };
  burst(6000);
  stage.run(secs(2));
  const auto first = stage.node(1).first_index();
  stage.expect(first > 1000, "the log's beginning is only in a snapshot");
  stage.machine(3).start();
  const Micros start = stage.now();
  int pieces = 0, with_entries = 0;
  stage.loses = [&](const raft::Message& m) {
    if (stage.number_of(m.to) != 3) return false;
    if (std::holds_alternative<raft::InstallSnapshot>(m.body)) ++pieces;
    const auto* append = std::get_if<raft::Append>(&m.body);
    if (append != nullptr && !append->entries.empty() && pieces > 0) ++with_entries;
    return false;
  };
  burst(6000);
  stage.wait("m3 has caught up", secs(20),
             [&] { return stage.replica(3).applied_index() == stage.replica(1).applied_index(); });
  const Micros took = stage.now() - start;
  stage.agree();
  stage.expect(pieces > 10, "the snapshot came in pieces");
  stage.expect(stage.world().figures().of(Figure::snapshots_installed) > 0,
               "a snapshot was installed");
  return {stage.failure(), "6,000 entries while a snapshot came in " + std::to_string(pieces) +
                               " pieces: caught up after " + in_ms(took) + ", with " +
                               std::to_string(with_entries) + " more appends"};
}

}  // namespace

std::vector<Scenario> storage_scenarios() {
  return {{"lone-voter", lone_voter},
          {"torn-vote", torn_vote},
          {"stalled-disk", stalled_disk},
          {"snapshot-and-entries", snapshot_and_entries}};
}

}  // namespace gpl::sim
