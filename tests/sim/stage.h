#pragma once

// Where a scenario is played: a cluster on a quiet network with even disks, and a hand on who may
// campaign and on which messages arrive. Machines count from 1, as in the papers.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "sim/cluster.h"

namespace gpl::sim {

class Stage {
 public:
  /// Founded by so many voters together.
  explicit Stage(std::size_t voters, std::uint64_t seed = 1, Trace::Mode trace = Trace::Mode::off,
                 std::size_t spares = 0, const std::function<void(Setup&)>& change = nullptr);

  Machine& machine(std::size_t number) { return cluster_.machine(number - 1); }
  peer::Replica& replica(std::size_t number) { return machine(number).replica().replica(); }
  const raft::Node& node(std::size_t number) { return replica(number).node(); }
  std::size_t size() const { return cluster_.size(); }
  World& world() { return world_; }
  Cluster& cluster() { return cluster_; }
  Network& network() { return cluster_.network(); }
  Duration election_timeout() const { return setup_.election_timeout; }

  /// Only these may ask for votes; none given: all may.
  void candidates(std::set<std::size_t> numbers) { candidates_ = std::move(numbers); }
  /// A message for which it holds is lost.
  std::function<bool(const raft::Message&)> loses;
  /// The machine of a message's end.
  std::size_t number_of(raft::NodeId id) const { return cluster_.machine_of(id) + 1; }

  /// Lets time pass.
  void run(Micros time) { world_.run_until(world_.now() + time); }
  /// Lets time pass until it is so; in vain: the scenario fails with these words.
  bool wait(const std::string& what, Micros limit, const std::function<bool()>& so);
  /// The scenario fails unless it is so.
  bool expect(bool so, const std::string& what);
  /// Lets this machine alone campaign until it leads.
  bool elect(std::size_t number);
  /// One command; `fate` is set when it is known: applied there, or lost.
  std::optional<peer::Replica::Proposed> propose(std::size_t number,
                                                 std::optional<bool>* fate = nullptr);
  /// All that are up have applied the same, and all of it.
  bool agree(Micros limit = secs(20));
  Micros now() const { return world_.now(); }

  /// Nothing: it went as it should, also by the checkers.
  std::optional<std::string> failure() const;

 private:
  static Setup quiet(std::size_t voters, std::size_t spares,
                     const std::function<void(Setup&)>& change);

  Setup setup_;
  World world_;
  Cluster cluster_;
  std::set<std::size_t> candidates_;
  std::optional<std::string> failure_;
  std::uint64_t requests_ = 0;
};

/// "3.2 ms".
std::string in_ms(Micros time);

}  // namespace gpl::sim
