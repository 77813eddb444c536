#pragma once

// Who looks after the cluster, step by step and through the leader: brings the membership to what
// it should be, adding before removing; gives up peers that left; in the end releases what is held.

#include <cstddef>
#include <map>
#include <set>

#include "sim/cluster.h"

namespace gpl::sim {

class Operator {
 public:
  explicit Operator(Cluster& cluster);

  void start();
  /// Nothing fails any more: the rest is to come to an end.
  void wrap_up() { wrapping_up_ = true; }

  // What should be. Taken up when the leader can.
  /// The member's disk is gone: its machine becomes a new member in its place.
  void disk_lost(std::size_t number);
  /// A member of the consensus less; one on a spare machine more, as a voter or only a learner.
  void remove_voter(std::size_t number);
  void add_voter(std::size_t spare);
  void add_learner(std::size_t spare);
  void drop_learners() { learners_.clear(); }

  // Commands that a person gives; lost when nobody leads.
  void prune();
  void begin_epoch();

  /// The leader has committed just the members that should be.
  bool settled() const;
  const std::set<raft::NodeId>& voters() const { return voters_; }
  const std::set<raft::NodeId>& learners() const { return learners_; }
  /// Machines that are no members and are not to become any: size() if none.
  std::size_t spare() const;

 private:
  /// When it was first seen that a member has been removed: the log's end then.
  struct Removal {
    raft::Term term = 0;
    raft::Index index = 0;
  };

  void tick();
  void look_after_members(std::size_t leader);
  bool add_missing(std::size_t leader, const raft::Configuration& present);
  void remove_superfluous(std::size_t leader, const raft::Configuration& present);
  void retire_removed(std::size_t leader);
  void look_after_peers(std::size_t leader);
  void look_after_jobs(std::size_t leader);
  void propose(std::size_t leader, Command command);
  template <class F>
  void change(std::size_t leader, const char* what, raft::NodeId id, F&& how);

  Cluster& cluster_;
  Prng dice_;
  std::set<raft::NodeId> voters_;
  std::set<raft::NodeId> learners_;
  std::map<raft::NodeId, Removal> removals_;
  std::set<std::size_t> joining_;  ///< machines that will be members in a moment
  bool wrapping_up_ = false;
};

}  // namespace gpl::sim
