// Scenarios of two peers, a voter and a learner that is awaited: both crash and are cut off, until
// the voter is lost for good.

#include <algorithm>
#include <map>
#include <string>

#include "sim/scenarios.h"
#include "sim/stage.h"

namespace gpl::sim {

namespace {

constexpr std::uint64_t seeds = 60;
constexpr std::size_t voter = 1;
constexpr std::size_t learner = 2;

void two_machines(Setup& setup) {
  setup.network.delay_high = millis(5);
  setup.network.drop_ppm = 10'000;
  setup.network.double_ppm = 10'000;
  setup.disk.sync_high = millis(4);
  setup.segment_bytes = 16 * 1024;
  setup.snapshot_after_entries = 200;
  setup.kept_entries = 20;
  setup.long_kept_entries = 100;
}

/// What all seeds saw.
struct Sum {
  std::uint64_t commits = 0;
  std::uint64_t kept_twice = 0;
  std::uint64_t crashes = 0;
  std::uint64_t calm = 0;  ///< of these, when nothing had failed for a while
  Micros longest_wait = 0;
};

class TwoPeers {
 public:
  TwoPeers(std::uint64_t seed, Trace::Mode trace, Sum& sum)
      : stage_(1, seed, trace, 1, two_machines),
        dice_(stage_.world().dice("two peers")),
        sum_(sum) {}

  std::optional<std::string> play() {
    begin();
    stage_.run(draw(secs(20), secs(60)));
    lose_voter();
    return stage_.failure();
  }

 private:
  Micros draw(Micros low, Micros high) {
    return static_cast<Micros>(
        dice_.between(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)));
  }

  void begin() {
    stage_.wait("the founder leads", secs(5), [&] { return stage_.machine(voter).leads(); });
    const auto id = stage_.cluster().join(learner - 1, {});
    const auto added =
        stage_.machine(voter).replica().event([&](peer::Replica& r) { return r.add_learner(id); });
    stage_.expect(added.ok(), "a learner is added");
    stage_.wait("it keeps up", secs(5), [&] { return stage_.node(voter).is_kept_twice(); });
    stage_.cluster().on_applied = [this](Machine& machine, const peer::AppliedEntry& entry) {
      if (&machine == &stage_.machine(voter)) applied(entry);
    };
    ask();
    harm();
    watch();
  }

  /// The moment at which who asked is told.
  void applied(const peer::AppliedEntry& entry) {
    ++sum_.commits;
    terms_[entry.index] = entry.term;
    const bool is_calm =
        stage_.now() > harmed_until_ + 3 * millis(stage_.election_timeout().count_ms);
    if (!stage_.node(voter).is_kept_twice()) {
      stage_.expect(!is_calm, "what is told is kept twice while nothing fails");
      return;
    }
    ++sum_.kept_twice;
    if (is_calm) ++sum_.calm;
    kept_twice_ = entry.index;
  }

  void ask() {
    stage_.world().after(draw(millis(1), millis(40)), [this] {
      if (lost_) return;
      if (stage_.machine(voter).leads()) stage_.propose(voter);
      ask();
    });
  }

  /// A voter that runs commits what it has, whatever the learner does.
  void watch() {
    stage_.world().after(millis(50), [this] {
      if (lost_) return;
      if (!stage_.machine(voter).leads() || stalled_ ||
          stage_.node(voter).commit_index() != committed_ ||
          committed_ == stage_.node(voter).last_index()) {
        still_since_ = stage_.now();
        committed_ = stage_.machine(voter).leads() ? stage_.node(voter).commit_index() : 0;
      }
      const Micros waited = stage_.now() - still_since_;
      sum_.longest_wait = std::max(sum_.longest_wait, waited);
      stage_.expect(waited < 2 * millis(stage_.election_timeout().count_ms),
                    "the voter goes on within two election timeouts");
      watch();
    });
  }

  void harm() {
    const bool is_calm = dice_.one_in(4);
    stage_.world().after(is_calm ? draw(secs(8), secs(12)) : draw(millis(100), secs(3)), [this] {
      if (lost_) return;
      const std::size_t number = dice_.one_in(3) ? voter : learner;
      Machine& machine = stage_.machine(number);
      if (machine.up()) harm(number, machine);
      harm();
    });
  }

  void harm(std::size_t number, Machine& machine) {
    const Micros time = draw(millis(50), secs(4));
    harmed_until_ = std::max(harmed_until_, stage_.now() + time);
    switch (dice_.below(5)) {
      case 0:
      case 1:
        ++sum_.crashes;
        machine.die(dice_.one_in(2) ? Death::killed : Death::power_lost);
        return machine.start_after(time);
      case 2:
        stage_.network().cut_off(machine.endpoint());
        stage_.world().after(time,
                             [this, &machine] { stage_.network().reconnect(machine.endpoint()); });
        return;
      case 3:
        machine.replica().pause();
        stage_.world().after(time, [&machine] {
          if (machine.up()) machine.replica().wake();
        });
        if (number == voter) pause_watching();
        return;
      case 4:
        machine.speed().stalled_until = stage_.now() + time;
        if (number == voter) pause_watching();
        return;
    }
  }

  /// What the voter's own machine does to it is nothing that the learner is to blame for.
  void pause_watching() {
    ++stalled_;
    stage_.world().after(secs(5), [this] { --stalled_; });
  }

  /// At any moment, with its disk. What was told while it was kept twice is at the other.
  void lose_voter() {
    lost_ = true;
    stage_.cluster().on_applied = nullptr;
    stage_.cluster().retire(voter - 1);
    Machine& other = stage_.machine(learner);
    if (other.up()) other.replica().wake();
    other.speed().stalled_until = 0;
    if (other.up() && dice_.one_in(2)) {
      other.die(Death::power_lost);
      other.start();
    }
    stage_.wait("the learner runs", secs(60),
                [&] { return other.up() && !stage_.replica(learner).failure(); });
    if (stage_.failure()) return;
    const raft::Node& node = stage_.node(learner);
    stage_.expect(kept_twice_ > 0, "something was kept twice");
    for (const auto& [index, term] : terms_) {
      if (index > kept_twice_ || index < node.first_index()) continue;
      if (!stage_.expect(node.term_at(index) == term,
                         "the learner has entry " + std::to_string(index) +
                             ", which was told as committed while it kept up"))
        return;
    }
  }

  Stage stage_;
  Prng dice_;
  Sum& sum_;
  std::map<raft::Index, raft::Term> terms_;  ///< of what the voter has applied
  raft::Index kept_twice_ = 0;
  raft::Index committed_ = 0;
  Micros still_since_ = 0;
  Micros harmed_until_ = 0;
  int stalled_ = 0;
  bool lost_ = false;
};

Played voter_and_learner(Trace::Mode trace) {
  Sum sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto failure = TwoPeers(seed, trace, sum).play();
    if (failure) return {"seed " + std::to_string(seed) + ": " + *failure, ""};
  }
  if (sum.kept_twice == sum.commits) return {"all was kept twice, as if nothing had failed", ""};
  if (sum.calm == 0) return {"something failed at all times", ""};
  return {std::nullopt, std::to_string(seeds) + " times a voter was lost after " +
                            std::to_string(sum.crashes) + " crashes in all: of " +
                            std::to_string(sum.commits) + " entries " +
                            std::to_string(sum.kept_twice) +
                            " were kept twice, and none of them is lost; the longest wait for a "
                            "learner was " +
                            in_ms(sum.longest_wait)};
}

}  // namespace

std::vector<Scenario> two_peer_scenarios() { return {{"voter-and-learner", voter_and_learner}}; }

}  // namespace gpl::sim
