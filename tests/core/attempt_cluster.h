#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/coordinator.h"
#include "gpl/core/prng.h"
#include "gpl/core/worker.h"

/// A cluster in virtual time: workers with processes, and nodes that lead in turn, over a network
/// that loses, delays, doubles and reorders, with an ideal log in place of consensus. A leader that
/// has been replaced goes on for a while without knowing. It says what must never be.
namespace gpl::attempt_cluster {

/// True time, in microseconds.
using TrueTime = std::int64_t;
constexpr TrueTime one_second = 1'000'000;

/// A machine's clock: its rate in millionths, between 1 and 1.01; in whole milliseconds.
struct SkewedClock {
  std::int64_t rate_ppm = 1'000'000;
  std::int64_t offset_us = 0;
  Moment read(TrueTime now) const {
    return Moment{(offset_us + now / 1000 * rate_ppm / 1000 + now % 1000) / 1000};
  }
};

/// A mistake that is made on purpose, to see that it is found.
enum class PlantedBug {
  none,
  lease_from_answer,     ///< a holder counts its lease from the answer
  believes_old_leaders,  ///< a leader that was replaced says that it is known to lead
};

struct Options {
  std::uint64_t seed = 0;
  PlantedBug bug = PlantedBug::none;
  std::size_t workers = 4;
  std::size_t nodes = 3;
  std::size_t jobs = 25;
  TrueTime faults_until = 600 * one_second;
  bool only_slow_links = false;  ///< of all faults
  TrueTime longest = 3000 * one_second;
};

struct Process {
  Fence fence;
  JobId job;
  TaskId task;
  OnLoss on_loss = OnLoss::wait;
  Duration lease;
  TrueTime begins = 0;
  TrueTime ends = 0;  ///< by itself
  std::optional<TrueTime> killed;
  bool begun = false;
  bool of_dead_keeper = false;  ///< nobody knows its exit code
  std::optional<Instant> started_at;
  TrueTime gone() const { return killed ? std::min(*killed, ends) : ends; }
};

/// A machine that runs attempts.
struct Host {
  PeerId id;
  SkewedClock clock;
  std::unique_ptr<Worker> worker;  ///< null: the machine is off, or no keeper runs
  std::size_t leader = 0;          ///< the node that it talks to
  std::optional<std::pair<TrueTime, std::size_t>> will_learn_of;
  std::map<Fence, Process> processes;
  std::map<Fence, EndedAttempt> disk;
  std::vector<LeaderToWorker> mailbox;
  TrueTime stopped_until = 0;
  TrueTime slow_until = 0;  ///< hears of leaders seconds late
  TrueTime deaf_until = 0;  ///< hears nothing of leaders
  TrueTime mute_from = 0;   ///< is not heard
  TrueTime mute_until = 0;
  TrueTime returns = 0;     ///< with a new keeper
  std::uint64_t boots = 0;  ///< of the machine
  TrueTime last_stop = -1'000'000 * one_second;
};

/// A peer that may lead.
struct Node {
  SkewedClock clock;
  ClusterState state;
  std::size_t applied = 0;
  std::unique_ptr<Coordinator> coordinator;
  std::optional<TrueTime> replaced;  ///< and does not know it yet
  TrueTime believes_until = 0;
};

struct Figures {
  int starts = 0;
  int overlaps = 0;
  int leader_changes = 0;
  int reboots = 0;
  int stops = 0;
  int leases_over = 0;
  int lost = 0;
};

class AttemptCluster {
 public:
  explicit AttemptCluster(Options options);
  /// What was violated; "": nothing.
  std::string run();
  const Figures& figures() const { return figures_; }

 private:
  struct Envelope {
    std::size_t node = 0;
    std::size_t host = 0;
    std::variant<WorkerToLeader, LeaderToWorker> message;
  };

  bool faulty() const { return now_ < options_.faults_until; }
  Clocks clocks(const SkewedClock& clock) const {
    return {clock.read(now_), Instant{now_ / 1000 + 1'700'000'000'000}};
  }
  LeaderView view(const Node& node) const;
  void fail(const std::string& what);

  // attempt_cluster.cc
  void step();
  void inject_faults();
  void inject_faults_of(Host& host);
  TrueTime some_time_from_now();
  void change_leader();
  void submit_and_cancel();
  void send(Envelope envelope);
  void deliver();
  void apply_log();
  void apply_one(Node& node);
  void drive(std::size_t node);
  void check_end();

  // attempt_hosts.cc
  void drive_host(std::size_t index);
  void perform(std::size_t index);
  void move_processes(Host& host);
  void begin(Host& host, Process& process);
  void stop_keeper(Host& host, bool machine_too);
  void start_keeper(Host& host);

  Options options_;
  Prng prng_;
  TrueTime now_ = 10 * one_second;
  std::vector<Host> hosts_;
  std::vector<Node> nodes_;
  std::size_t leader_ = 0;
  std::uint64_t term_ = 0;
  std::vector<Command> log_;
  std::size_t most_applied_ = 0;                         ///< by any node
  std::vector<std::pair<TrueTime, Command>> proposals_;  ///< of the leader, in order
  std::multimap<TrueTime, Envelope> network_;
  std::size_t submitted_ = 0;
  std::uint64_t keepers_ = 0;

  std::set<Fence> ever_begun_;
  std::map<std::pair<JobId, TaskId>, int> begun_;
  std::map<Fence, std::pair<JobId, TaskId>> task_of_;
  std::set<std::pair<JobId, TaskId>> overlaps_;  ///< that must be reported
  std::set<Fence> reported_;
  std::string violation_;
  Figures figures_;
};

}  // namespace gpl::attempt_cluster
