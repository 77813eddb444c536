#include "sim/operator.h"

#include <algorithm>
#include <utility>

#include "sim/describe.h"

namespace gpl::sim {

Operator::Operator(Cluster& cluster) : cluster_(cluster), dice_(cluster.world().dice("operator")) {}

void Operator::start() {
  for (std::size_t i = 0; i < cluster_.size(); ++i)
    if (cluster_.machine(i).is_member()) voters_.insert(cluster_.machine(i).id());
  for (std::size_t i = voters_.size(); i < cluster_.setup().voters; ++i) add_voter(i);
  tick();
}

std::size_t Operator::spare() const {
  for (std::size_t i = 0; i < cluster_.size(); ++i)
    if (!cluster_.machine(i).is_member() && !joining_.contains(i)) return i;
  return cluster_.size();
}

void Operator::disk_lost(std::size_t number) {
  cluster_.world().count(Figure::disks_lost);
  voters_.erase(cluster_.machine(number).id());
  cluster_.retire(number);
  joining_.insert(number);
  cluster_.world().after(
      cluster_.setup().scaled(static_cast<Micros>(dice_.between(1000, 2'000'000))),
      [this, number] { add_voter(number); });
}

void Operator::remove_voter(std::size_t number) { voters_.erase(cluster_.machine(number).id()); }

void Operator::add_voter(std::size_t spare) {
  joining_.erase(spare);
  voters_.insert(cluster_.join(spare, {}));
}

void Operator::add_learner(std::size_t spare) { learners_.insert(cluster_.join(spare, {})); }

bool Operator::settled() const {
  const auto leader = cluster_.leader();
  if (leader == cluster_.size() || !joining_.empty()) return false;
  const auto& replica = cluster_.machine(leader).replica().replica();
  const auto& present = replica.node().configuration();
  return std::equal(voters_.begin(), voters_.end(), present.voters.begin(), present.voters.end()) &&
         std::equal(learners_.begin(), learners_.end(), present.learners.begin(),
                    present.learners.end()) &&
         replica.applied_index() == replica.node().last_index();
}

void Operator::tick() {
  const bool hasty = cluster_.setup().hasty_operator;
  // Who asks one that has only just been elected is to be refused.
  if (const auto elected = hasty ? cluster_.elected() : cluster_.leader();
      elected != cluster_.size())
    look_after_members(elected);
  if (const auto leader = cluster_.leader(); leader != cluster_.size()) {
    retire_removed(leader);
    if (cluster_.machine(leader).leads()) look_after_peers(leader);
    if (cluster_.machine(leader).leads() && wrapping_up_) look_after_jobs(leader);
  }
  const auto pause = hasty ? dice_.between(500, 20'000) : dice_.between(50'000, 250'000);
  cluster_.world().after(cluster_.setup().scaled(static_cast<Micros>(pause)), [this] { tick(); });
}

void Operator::look_after_members(std::size_t leader) {
  const auto present = cluster_.machine(leader).replica().replica().node().configuration();
  const bool adding = add_missing(leader, present);
  // It must wait for the adding to be committed; the hasty ask all the same.
  if (!adding || cluster_.setup().hasty_operator) remove_superfluous(leader, present);
}

/// True when something is still to be added.
bool Operator::add_missing(std::size_t leader, const raft::Configuration& present) {
  for (const auto id : voters_) {
    if (present.is_voter(id)) continue;
    if (present.is_learner(id)) {
      change(leader, "promote", id, [&](peer::Replica& r) { return r.promote(id); });
    } else {
      change(leader, "add", id, [&](peer::Replica& r) { return r.add_learner(id); });
    }
    return true;
  }
  for (const auto id : learners_) {
    if (present.contains(id)) continue;
    change(leader, "add", id, [&](peer::Replica& r) { return r.add_learner(id); });
    return true;
  }
  return false;
}

void Operator::remove_superfluous(std::size_t leader, const raft::Configuration& present) {
  auto superfluous = present.learners;
  superfluous.insert(superfluous.end(), present.voters.begin(), present.voters.end());
  for (const auto id : superfluous) {
    if (voters_.contains(id) || learners_.contains(id)) continue;
    if (present.voters == std::vector{id}) continue;  // another is to be promoted first
    // A leader may hand over first, or see to its own removal.
    if (id == cluster_.machine(leader).id() && dice_.one_in(2)) {
      const auto to =
          *std::next(voters_.begin(), static_cast<std::ptrdiff_t>(dice_.below(voters_.size())));
      static_cast<void>(cluster_.machine(leader).replica().event(
          [&](peer::Replica& r) { return r.transfer(to); }));
      return;
    }
    change(leader, "remove", id, [&](peer::Replica& r) { return r.remove(id); });
    return;
  }
}

template <class F>
void Operator::change(std::size_t leader, const char* what, raft::NodeId id, F&& how) {
  auto& world = cluster_.world();
  const auto done = cluster_.machine(leader).replica().event(how);
  world.tell("op", [&] {
    return std::string(what) + " " + name_of(id) + (done.ok() ? "" : ": " + done.error().message);
  });
  if (done.ok()) world.count(Figure::membership_changes);
  if (!done.ok() && done.error().code == Code::invalid)
    world.violate(std::string(what) + " " + name_of(id) +
                  " is not a step from where the leader is: " + done.error().message);
}

/// A member that was removed is switched off some time after that was committed; until then it is
/// one that does not know.
void Operator::retire_removed(std::size_t leader) {
  const auto& replica = cluster_.machine(leader).replica().replica();
  const auto& node = replica.node();
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    auto& machine = cluster_.machine(i);
    if (!machine.is_member()) continue;
    const auto id = machine.id();
    if (voters_.contains(id) || learners_.contains(id) || node.configuration().contains(id)) {
      removals_.erase(id);
      continue;
    }
    const auto [removal, first] =
        removals_.try_emplace(id, Removal{node.term(), node.last_index()});
    if (!first && removal->second.term != node.term())
      removal->second = {node.term(), node.last_index()};
    if (replica.applied_index() < removal->second.index || !dice_.one_in(10)) continue;
    removals_.erase(id);
    cluster_.retire(i);
  }
}

void Operator::look_after_peers(std::size_t leader) {
  for (const auto& worker : cluster_.workers()) {
    const auto& state = cluster_.machine(leader).replica().replica().state();
    if (worker->gone() && state.find_peer(worker->peer()) != nullptr)
      static_cast<void>(cluster_.leader_of(leader).forget(worker->peer()));
  }
}

void Operator::look_after_jobs(std::size_t leader) {
  const auto& state = cluster_.machine(leader).replica().replica().state();
  std::vector<JobId> held;
  state.for_each_job([&](const JobRecord& job) {
    if (job.held && !job.has_ended() && held.size() < 20) held.push_back(job.id);
  });
  const auto at = cluster_.machine(leader).clock().wall();
  for (const auto id : held) propose(leader, command::Release{id, at});
}

void Operator::propose(std::size_t leader, Command command) {
  static_cast<void>(
      cluster_.leader_of(leader).propose(std::move(command), [](std::optional<Applied>) {}));
}

/// No client asks again for so long.
void Operator::prune() {
  const auto leader = cluster_.leader();
  if (leader == cluster_.size()) return;
  const auto at = cluster_.machine(leader).clock().wall();
  propose(leader, command::Prune{at + seconds(-60), at});
}

void Operator::begin_epoch() {
  const auto leader = cluster_.leader();
  if (leader == cluster_.size()) return;
  auto& machine = cluster_.machine(leader);
  const auto next = machine.replica().replica().state().epoch() + 1;
  propose(leader, command::SetEpoch{next, machine.clock().wall()});
}

}  // namespace gpl::sim
