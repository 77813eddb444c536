#include "sim/sim_replica.h"

#include <utility>

#include "sim/describe.h"

namespace gpl::sim {

namespace {

/// A loop that has other things to do is late with its timers.
constexpr std::uint64_t lateness_limit = 1500;
/// So many timers that are due at once, one after the other, are a loop that spins.
constexpr int spinning = 50;

}  // namespace

SimReplica::SimReplica(Around around, Told told, peer::ReplicaOptions options,
                       raft::Configuration bootstrap)
    : around_(around),
      told_(std::move(told)),
      options_(std::move(options)),
      bootstrap_(std::move(bootstrap)),
      name_(name_of(options_.raft.id)),
      dice_(around.world.dice("replica", options_.raft.id.value)) {}

Status SimReplica::start() {
  life_ = around_.world.begin_life();
  committer_ =
      std::make_unique<SimCommitter>(around_.world, life_, around_.disk, around_.speed, name_,
                                     Prng(dice_.next()), [this](std::function<void()> done) {
                                       sees([this, done = std::move(done)] {
                                         done();
                                         after_event();
                                       });
                                     });
  options_.raft.seed = dice_.next();
  stop_told_ = false;
  tick_due_.reset();
  auto opened = peer::Replica::open(options_, {around_.disk, *committer_, *this, around_.clock},
                                    replica_told(), bootstrap_);
  if (!opened.ok()) {
    around_.world.end_life(life_);
    committer_.reset();
    return std::move(opened).error();
  }
  replica_ = std::move(opened).value();
  options_.wal.must_exist = true;
  const auto& node = replica_->node();
  around_.world.tell(name_, [&] {
    return "starts: term " + std::to_string(node.term()) + ", log " +
           std::to_string(node.first_index()) + ".." + std::to_string(node.last_index()) +
           ", applied " + std::to_string(replica_->applied_index()) + ", " +
           describe(node.configuration());
  });
  around_.checker.started(node, replica_->applied_index(), replica_->state().digest());
  after_event();
  return success();
}

peer::Replica::Told SimReplica::replica_told() {
  return {.applied =
              [this](const peer::AppliedEntry& entry) {
                around_.checker.applied(id(), entry, replica_->state().digest());
                told_.applied(entry);
              },
          .restored =
              [this] {
                around_.world.tell(name_, [&] {
                  return "takes a snapshot of " + std::to_string(replica_->applied_index());
                });
                around_.checker.restored(id(), replica_->applied_index(),
                                         replica_->state().digest());
                told_.restored();
              },
          .stopped = [](const Error&) {},  // seen after the event
          .note =
              [this](const std::string& text) {
                around_.world.tell(name_, [&] { return "note: " + text; });
              }};
}

void SimReplica::kill() {
  committer_->interrupt();
  around_.world.end_life(life_);
  paused_ = false;
  unseen_.clear();
  replica_.reset();
  committer_.reset();
}

void SimReplica::sees(std::function<void()> what) {
  if (!running()) return;
  if (paused_) {
    unseen_.push_back(std::move(what));
  } else {
    what();
  }
}

void SimReplica::wake() {
  paused_ = false;
  for (const auto unseen = std::exchange(unseen_, {}); const auto& what : unseen) sees(what);
}

void SimReplica::receive(raft::Message message) {
  sees([this, message = std::move(message)] {
    around_.world.tell(name_, [&] { return "gets " + describe(message); });
    replica_->receive(message);
    after_event();
  });
}

void SimReplica::send(raft::Message message) {
  around_.world.tell(name_, [&] { return "says " + describe(message); });
  around_.checker.sent(message);
  told_.send(std::move(message));
}

void SimReplica::after_event() {
  if (replica_->failure()) {
    if (!std::exchange(stop_told_, true)) {
      around_.world.tell(name_, [&] { return "stops: " + replica_->failure()->message; });
      told_.stopped(*replica_->failure());
    }
    return;
  }
  around_.checker.after_event(replica_->node());
  told_.after_event();
  arm_timer();
}

void SimReplica::arm_timer() {
  const Micros delay = around_.clock.until(*replica_->wake_at());
  const Micros at = around_.world.now() + delay;
  if (tick_due_ && *tick_due_ <= at) return;
  const auto late = static_cast<Micros>(dice_.below(lateness_limit));
  tick_due_ = at;
  around_.world.after(delay + late, life_, [this, number = ++tick_number_] {
    if (number != tick_number_) return;
    sees([this] {
      tick_due_.reset();
      tick();
    });
  });
}

void SimReplica::tick() {
  const auto before = replica_->wake_at();
  replica_->tick();
  const bool due = before && around_.clock.until(*before) == 0;
  ticks_at_once_ = due && replica_->wake_at() == before ? ticks_at_once_ + 1 : 0;
  if (ticks_at_once_ > spinning)
    around_.world.violate(name_ + " wants to be woken at a time that has passed, again and again");
  after_event();
}

}  // namespace gpl::sim
