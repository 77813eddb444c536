// Scenarios of a lone peer that dies again and again under a client's submits: with its machine and
// all that was not synced, or alone, while the keeper and the jobs live on.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "sim/scenarios.h"
#include "sim/stage.h"

namespace gpl::sim {

namespace {

constexpr std::size_t submits = 500;
constexpr int crashes = 50;
constexpr std::uint64_t seeds = 20;

using TaskKey = std::pair<JobId, TaskId>;

std::string name_of(const TaskKey& key) {
  return "task " + std::to_string(key.second.value) + " of job " + std::to_string(key.first.value);
}

void one_machine(Setup& setup, bool jobs_survive) {
  setup.workers = 1;
  setup.clients = 1;
  setup.submits = submits;
  setup.commands_run = jobs_survive;
  setup.longest_argument = 200;
  setup.clock_ppm = 200;
  setup.network.drop_ppm = 10'000;
  setup.network.double_ppm = 10'000;
  setup.disk.sync_high = millis(4);
  setup.segment_bytes = 16 * 1024;
  setup.snapshot_after_entries = 200;
  setup.kept_entries = 20;
  setup.long_kept_entries = 100;
}

/// What a client may have been told of a task's outcome is true for ever: from the log, once it is
/// applied; and of a job that is never retried from its keeper, once it is on the keeper's disk.
class ToldOutcomes {
 public:
  explicit ToldOutcomes(Stage& stage) : stage_(stage) {
    stage.cluster().on_applied = [this](Machine&, const peer::AppliedEntry& entry) {
      for (std::size_t i = 0; i < entry.results.size(); ++i)
        applied(entry.commands[i], entry.results[i]);
    };
    stage.cluster().workers().front()->on_kept = [this](const EndedAttempt& ended) { kept(ended); };
    look();
  }

  /// The last look: all have ended, as they were told to have.
  void check_all() const {
    const ClusterState& state = this->state();
    for (const auto& [key, outcome] : told_) {
      const auto now = state.outcome_of(key.first, key.second);
      if (now != outcome)
        stage_.world().violate(name_of(key) + " was told as ended with '" +
                               std::string(gpl::name_of(outcome)) + "', and is told otherwise");
    }
  }

 private:
  const ClusterState& state() const { return stage_.replica(1).state(); }

  void tell(const TaskKey& key, const Outcome& outcome) {
    const auto [known, first] = told_.try_emplace(key, outcome);
    if (!first && known->second != outcome)
      stage_.world().violate(name_of(key) + " ended with '" +
                             std::string(gpl::name_of(known->second)) + "' and with '" +
                             std::string(gpl::name_of(outcome)) + "'");
  }

  void applied(const Command& command, const Applied& result) {
    if (result.refused) return;
    for (const AttemptId id : result.placed) {
      const Attempt* attempt = state().find_attempt(id);
      if (attempt != nullptr)
        placed_[attempt->fence] = {{attempt->job, attempt->task},
                                   state().find_job(attempt->job)->description->on_loss};
    }
    if (const auto* report = std::get_if<command::Report>(&command)) {
      const auto found = placed_.find(report->attempt);
      if (found != placed_.end()) tell_if_ended(found->second.task);
    }
    for (const JobId job : result.ended) {
      const TaskRange tasks = tasks_of(state().find_job(job)->description->shape);
      for (TaskId task = tasks.first; task <= tasks.last; ++task.value) tell_if_ended({job, task});
    }
  }

  void tell_if_ended(const TaskKey& key) {
    const auto outcome = state().outcome_of(key.first, key.second);
    if (outcome) tell(key, *outcome);
  }

  void kept(const EndedAttempt& ended) {
    const auto found = placed_.find(ended.fence);
    if (!stage_.expect(found != placed_.end(), "what a keeper ran was placed")) return;
    if (found->second.on_loss == OnLoss::wait && std::holds_alternative<Exited>(ended.outcome))
      tell(found->second.task, ended.outcome);
  }

  /// A client looks now and then.
  void look() {
    stage_.world().after(secs(2), [this] {
      if (stage_.machine(1).leads()) check_known();
      look();
    });
  }

  void check_known() const {
    for (const auto& [key, outcome] : told_) {
      const auto now = state().outcome_of(key.first, key.second);
      // Its keeper has it, and the log not yet.
      if (now && *now != outcome)
        stage_.world().violate(name_of(key) + " was told as ended with '" +
                               std::string(gpl::name_of(outcome)) + "', and is told otherwise");
    }
  }

  Stage& stage_;
  std::map<TaskKey, Outcome> told_;
  struct Placing {
    TaskKey task;
    OnLoss on_loss = OnLoss::wait;
  };
  std::map<Fence, Placing> placed_;
};

/// Kills the peer's process, or the machine, so often, at moments drawn at random: half of them
/// while something is being written.
class Killer {
 public:
  Killer(Stage& stage, Death death)
      : stage_(stage), death_(death), dice_(stage.world().dice("killer")) {
    next();
  }
  bool done() const { return killed_ == crashes && stage_.machine(1).up() && worker().up(); }

 private:
  SimWorker& worker() const { return *stage_.cluster().workers().front(); }
  Micros draw(Micros low, Micros high) {
    return static_cast<Micros>(
        dice_.between(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)));
  }

  void next() {
    if (killed_ == crashes) return;
    stage_.world().after(draw(millis(1), secs(4)), [this] {
      if (!stage_.machine(1).up() || !worker().up()) return next();
      const int number = killed_;
      const auto kill = [this, number] {
        if (number == killed_ && stage_.machine(1).up()) die();
      };
      const bool while_it_writes = dice_.one_in(2);
      if (while_it_writes) stage_.machine(1).replica().in_next_operation(kill);
      // Perhaps nothing is written for long.
      stage_.world().after(while_it_writes ? millis(300) : 0, kill);
    });
  }

  void die() {
    ++killed_;
    Machine& machine = stage_.machine(1);
    const bool power = death_ == Death::power_lost;
    stage_.world().count(power ? Figure::power_losses : Figure::process_crashes);
    if (power) worker().reboot();
    machine.die(death_);
    if (power && dice_.one_in(5)) machine.disk().lose_power_after(dice_.between(1, 8));
    machine.start_after(dice_.one_in(2) ? draw(100, millis(20)) : draw(millis(20), secs(3)));
    if (power) start_worker();
    next();
  }

  /// With its machine: not before the power is back for good.
  void start_worker() {
    stage_.world().after(draw(millis(1), millis(500)), [this] {
      if (worker().up()) return;
      if (!stage_.machine(1).up()) return start_worker();
      worker().start();
    });
  }

  Stage& stage_;
  Death death_;
  Prng dice_;
  int killed_ = 0;
};

/// What one seed saw.
struct Sum {
  std::uint64_t jobs = 0;
  std::uint64_t tasks = 0;
  std::uint64_t attempts = 0;
  std::uint64_t lost = 0;
  std::uint64_t torn_sectors = 0;
};

void check_jobs(Stage& stage, bool jobs_survive, Sum& sum) {
  const ClusterState& state = stage.replica(1).state();
  state.for_each_job([&](const JobRecord& job) {
    ++sum.jobs;
    std::uint64_t ended = 0;
    for (const EndedTasks& run : state.ended(job.id)) {
      ended += run.tasks.count();
      const bool exited = std::holds_alternative<Exited>(run.outcome);
      if (std::holds_alternative<Lost>(run.outcome)) sum.lost += run.tasks.count();
      stage.expect(exited || !jobs_survive, "each task ends as it exits, and one of job " +
                                                std::to_string(job.id.value) + " is '" +
                                                std::string(gpl::name_of(run.outcome)) + "'");
      stage.expect(
          !std::holds_alternative<Lost>(run.outcome) || job.description->on_loss == OnLoss::wait,
          "what is to be retried is not lost");
    }
    stage.expect(ended == tasks_of(job.description->shape).count(), "each task has one outcome");
    stage.expect(job.overlaps.empty(), "no task ran twice at once");
    sum.tasks += ended;
  });
}

std::optional<std::string> play(std::uint64_t seed, Trace::Mode trace, Death death, Sum& sum) {
  const bool jobs_survive = death == Death::killed;
  Stage stage(1, seed, trace, 0, [&](Setup& setup) { one_machine(setup, jobs_survive); });
  ToldOutcomes told(stage);
  Killer killer(stage, death);
  const SimClient& client = *stage.cluster().clients().front();
  stage.wait("all is submitted, and the last crash is over", secs(3600),
             [&] { return client.done_submitting() && killer.done(); });
  stage.wait("all jobs have ended", secs(100'000), [&] { return !stage.cluster().unsettled(); });
  if (stage.failure()) return stage.failure();
  stage.cluster().check_settled();
  told.check_all();
  Sum own;
  check_jobs(stage, jobs_survive, own);
  const Figures& figures = stage.world().figures();
  own.attempts = figures.of(Figure::attempts_run);
  own.torn_sectors = figures.of(Figure::torn_sectors);
  stage.expect(own.jobs == submits,
               "each request made one job, and there are " + std::to_string(own.jobs));
  stage.expect(figures.of(Figure::jobs_acknowledged) == submits, "each submit is acknowledged");
  if (jobs_survive)
    stage.expect(own.attempts == own.tasks, "each of " + std::to_string(own.tasks) +
                                                " tasks runs once, and there were " +
                                                std::to_string(own.attempts) + " runs");
  sum.jobs += own.jobs;
  sum.tasks += own.tasks;
  sum.attempts += own.attempts;
  sum.lost += own.lost;
  sum.torn_sectors += own.torn_sectors;
  return stage.failure();
}

Played play_all(Trace::Mode trace, Death death, Sum& sum) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto failure = play(seed, trace, death, sum);
    if (failure) return {"seed " + std::to_string(seed) + ": " + *failure, ""};
  }
  return {std::nullopt,
          std::to_string(seeds) + " times " + std::to_string(submits) + " submits and " +
              std::to_string(crashes) + " crashes: " + std::to_string(sum.tasks) +
              " tasks, each with one outcome, ran " + std::to_string(sum.attempts) + " times"};
}

Played power_loss(Trace::Mode trace) {
  Sum sum;
  Played played = play_all(trace, Death::power_lost, sum);
  if (played.failure) return played;
  if (sum.lost == 0 || sum.torn_sectors == 0) return {"nothing was lost or torn", ""};
  played.figures += "; " + std::to_string(sum.lost) + " tasks were lost with their machine, and " +
                    std::to_string(sum.torn_sectors) + " sectors";
  return played;
}

Played peer_killed(Trace::Mode trace) {
  Sum sum;
  return play_all(trace, Death::killed, sum);
}

}  // namespace

std::vector<Scenario> loss_scenarios() {
  return {{"lone-peer-power-loss", power_loss}, {"lone-peer-killed", peer_killed}};
}

}  // namespace gpl::sim
