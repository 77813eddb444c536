#pragma once

// The whole simulated cluster: members, plain peers and clients on one network, and the checkers
// that watch them.

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "sim/consensus_checker.h"
#include "sim/job_checker.h"
#include "sim/machine.h"
#include "sim/process_checker.h"
#include "sim/sim_client.h"
#include "sim/sim_leader.h"
#include "sim/sim_worker.h"

namespace gpl::sim {

class Cluster {
 public:
  Cluster(World& world, const Setup& setup);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// The first `voters` machines found the cluster together, or the first one alone; the plain
  /// peers and the clients begin.
  void start();

  World& world() { return world_; }
  Network& network() { return network_; }
  const Setup& setup() const { return setup_; }
  ConsensusChecker& consensus() { return consensus_; }

  std::size_t size() const { return machines_.size(); }
  Machine& machine(std::size_t number) { return *machines_[number]; }
  SimLeader& leader_of(std::size_t number) { return *leaders_[number]; }
  std::vector<std::unique_ptr<SimWorker>>& workers() { return workers_; }
  std::vector<std::unique_ptr<SimClient>>& clients() { return clients_; }

  /// Gives the machine a new member id and an empty disk.
  raft::NodeId join(std::size_t number, const raft::Configuration& bootstrap);
  void retire(std::size_t number);
  /// The number of the machine that is this member now; size(): none.
  std::size_t machine_of(raft::NodeId id) const;
  /// The number of the machine that leads in the latest term; size(): none does.
  std::size_t leader() const;
  /// The same of those that were elected and may not know yet what is committed.
  std::size_t elected() const;

  /// All is as it should be when nothing has failed for long enough; tells what is not.
  std::optional<std::string> unsettled() const;
  /// The last checks of a run.
  void check_settled();

  /// Sees each message of the consensus before it travels; false: it is lost.
  std::function<bool(const raft::Message&)> filter;
  /// A machine has been elected; its no-op has not been committed.
  std::function<void(std::size_t number)> on_elected;
  /// The next lease that is granted to this peer arrives so much later; `granted` is called when it
  /// is sent.
  void delay_next_grant(PeerId peer, Micros later, std::function<void()> granted);
  /// Sees what a member applied.
  std::function<void(Machine&, const peer::AppliedEntry&)> on_applied;

 private:
  Machine::Told machine_told();
  std::size_t number_of(const Machine& machine) const;
  std::size_t latest(bool (Machine::*is_it)() const) const;
  void after_event(Machine& machine);
  void check_leases(const peer::AppliedEntry& entry);
  template <class T>
  T travelled(const T& message);
  void carry(const Machine& from, const raft::Message& message);
  void deliver(raft::Message message);
  void worker_says(const SimWorker& worker, std::size_t member, const WorkerToLeader& message);
  void leader_says(const Machine& machine, PeerId to, const LeaderToWorker& message);
  void ask_member(Endpoint from, std::size_t member, std::function<void()> heard);
  void client_asks(std::size_t client, std::uint64_t question, std::size_t member,
                   const Command& command);
  void serve(std::size_t client, std::uint64_t question, std::size_t member,
             const Command& command);
  std::optional<std::size_t> known_leader(std::size_t member) const;

  World& world_;
  const Setup& setup_;
  Network network_;
  ConsensusChecker consensus_;
  JobChecker jobs_;
  ProcessChecker processes_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<SimLeader>> leaders_;  ///< one on each machine
  struct LateGrant {
    Micros later = 0;
    std::function<void()> granted;
  };
  std::map<PeerId, LateGrant> late_grants_;
  std::map<raft::NodeId, std::size_t> members_;
  std::uint64_t next_id_ = 1;
  // By machine: the latest term in which it was elected, and which it has led.
  std::map<std::size_t, raft::Term> elected_;
  std::map<std::size_t, raft::Term> led_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<std::unique_ptr<SimClient>> clients_;
};

}  // namespace gpl::sim
