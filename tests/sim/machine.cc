#include "sim/machine.h"

#include <utility>

#include "sim/describe.h"
#include "sim/flipped_disk.h"
#include "sim/forgotten_vote.h"

namespace gpl::sim {

Machine::Machine(World& world, Network& network, ConsensusChecker& checker, const Setup& setup,
                 std::string name, Told told)
    : world_(world),
      checker_(checker),
      setup_(setup),
      name_(std::move(name)),
      told_(std::move(told)),
      endpoint_(network.add_endpoint(name_)),
      dice_(world.dice("machine", endpoint_)),
      clock_(world, setup.draw_clock_ppm(dice_), static_cast<Micros>(dice_.below(1'000'000'000)),
             static_cast<std::int64_t>(dice_.below(7'200'000)) - 3'600'000),
      disk_(Prng(dice_.next())),
      speed_(setup.disk) {}

peer::ReplicaOptions Machine::options(raft::NodeId id) const {
  peer::ReplicaOptions options;
  options.raft.id = id;
  options.raft.election_timeout = setup_.election_timeout;
  options.raft.heartbeat = setup_.heartbeat;
  options.raft.append_limit_bytes = setup_.append_limit_bytes;
  options.raft.kept_entries = setup_.kept_entries;
  options.raft.long_kept_entries = setup_.long_kept_entries;
  options.raft.apply_limit_bytes = setup_.apply_limit_bytes;
  options.raft.snapshot_piece_bytes = setup_.piece_bytes;
  if (setup_.planted_bug == PlantedBug::old_term)
    options.raft.planted_bug = raft::PlantedBug::commit_old_term_by_counting;
  options.wal.segment_bytes = setup_.segment_bytes;
  options.snapshot_after_entries = setup_.snapshot_after_entries;
  return options;
}

void Machine::join(raft::NodeId id, const raft::Configuration& bootstrap) {
  disk_ = SimDisk(Prng(dice_.next()));
  bootstrap_ = bootstrap;
  replica_ =
      std::make_unique<SimReplica>(SimReplica::Around{world_, checker_, disk_, speed_, clock_},
                                   replica_told(), options(id), bootstrap);
  world_.tell(name_, [&] { return "is " + sim::name_of(id) + " from now on"; });
  start();
}

void Machine::retire() {
  world_.tell(name_, [&] { return "is " + sim::name_of(id()) + " no more"; });
  if (up()) die(Death::killed);
  ++starts_;
  replica_.reset();
}

SimReplica::Told Machine::replica_told() {
  return {.send = [this](raft::Message message) { told_.send(*this, std::move(message)); },
          .applied =
              [this](const peer::AppliedEntry& entry) {
                desk_.applied(entry);
                told_.applied(*this, entry);
              },
          .restored =
              [this] {
                desk_.forget();
                told_.restored(*this);
              },
          .after_event = [this] { told_.after_event(*this); },
          .stopped = [this](const Error&) { stopped(); }};
}

void Machine::die(Death death) {
  world_.tell(name_, [&] { return death == Death::killed ? "is killed" : "loses power"; });
  replica_->kill();
  if (death == Death::power_lost) recover_power();
  desk_.forget();
  told_.down(*this);
}

void Machine::recover_power() {
  disk_.power_on();
  world_.count(Figure::torn_sectors, disk_.lose_power());
  clock_.reboot(static_cast<Micros>(dice_.below(100'000'000)));
}

void Machine::start_after(Micros delay) {
  world_.after(delay, [this, number = ++starts_] {
    if (number == starts_ && is_member() && !up()) start();
  });
}

void Machine::start() {
  ++starts_;
  if (setup_.planted_bug == PlantedBug::forgotten_vote)
    forget_vote(disk_, bootstrap_, options(id()).wal);
  failures_at_start_ = disk_.failures();
  const auto status = replica_->start();
  if (disk_.power_lost()) {
    world_.tell(name_, [&] { return "loses power while it starts"; });
    world_.count(Figure::crashes_in_recovery);
    if (up()) replica_->kill();
    recover_power();
    start_after(static_cast<Micros>(dice_.between(1000, 500'000)));
  } else if (!status.ok() && disk_.failures() != failures_at_start_) {
    world_.tell(name_, [&] { return "cannot start: " + status.error().message; });
    start_after(millis(500));
  } else if (!status.ok()) {
    world_.violate(name_ + " cannot start: " + status.error().message);
  } else {
    disk_.power_on();
  }
}

/// The log could not be written. Whoever looks after the machine starts it again.
void Machine::stopped() {
  if (disk_.failures() == failures_at_start_)
    world_.violate(name_ +
                   " stops, and its disk did not fail: " + replica_->replica().failure()->message);
  desk_.forget();
  told_.down(*this);
  world_.after(static_cast<Micros>(dice_.between(100, 300'000)), [this, number = ++starts_] {
    if (number != starts_ || !up()) return;
    die(Death::killed);
    start_after(static_cast<Micros>(dice_.between(1000, 1'000'000)));
  });
}

bool Machine::flip_bit() {
  world_.count(Figure::bit_flips);
  const SimDisk before = disk_;
  const auto place = disk_.flip_bit();
  const auto effect = effect_of_flip(before, disk_, bootstrap_, options(id()).wal);
  world_.tell(name_, [&] { return "bit flipped: " + place + ": " + effect.text; });
  switch (effect.kind) {
    case FlipEffect::none:
      world_.count(Figure::flips_in_nothing);
      return false;
    case FlipEffect::refused:
      world_.count(Figure::damage_refused);
      return true;
    case FlipEffect::cut:
      world_.count(Figure::flips_in_last_batch);
      return true;
    case FlipEffect::wrong:
      world_.violate(name_ + " takes damaged data for good: " + place + ": " + effect.text);
      return true;
  }
  return true;
}

}  // namespace gpl::sim
