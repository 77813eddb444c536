#include "sim/sim_leader.h"

#include <utility>

#include "sim/placement_rule.h"

namespace gpl::sim {

namespace {

Placements place_waiting(const ClusterState& state, Instant now) {
  return {PlacementRule(state, now).place_waiting()};
}

}  // namespace

SimLeader::SimLeader(World& world, Machine& machine, CoordinatorOptions options, SendToWorker send)
    : world_(world), machine_(machine), options_(options), send_(std::move(send)) {}

peer::Leader& SimLeader::leader() {
  if (!leader_)
    leader_ = std::make_unique<peer::Leader>(
        machine_.replica().replica(), machine_.clock(), place_waiting, options_,
        [this](PeerId to, const LeaderToWorker& message) { send_(machine_, to, message); });
  return *leader_;
}

void SimLeader::after_event() {
  leader().after_event();
  arm_timer();
}

void SimLeader::applied(const peer::AppliedEntry& entry) { leader().applied(entry); }

template <class F>
void SimLeader::event(F&& what) {
  machine_.replica().event([&](peer::Replica&) {
    what(leader());
    return true;
  });
}

void SimLeader::receive(PeerId from, const WorkerToLeader& message) {
  if (machine_.leads()) event([&](peer::Leader& leader) { leader.receive(from, message); });
}

void SimLeader::down() {
  leader_.reset();
  tick_due_.reset();
  ++tick_number_;
}

bool SimLeader::propose(Command command, Answer answer) {
  if (!machine_.leads()) return false;
  if (auto* submit = std::get_if<command::Submit>(&command)) {
    const auto& state = machine_.replica().replica().state();
    submit->placings = PlacementRule(state, machine_.clock().wall()).place_new(submit->job);
  }
  return machine_.desk().propose(
      machine_.replica(), {std::move(command)},
      [answer = std::move(answer)](const peer::AppliedEntry* entry) {
        answer(entry == nullptr ? std::nullopt : std::optional(entry->results.front()));
      });
}

Status SimLeader::forget(PeerId peer) {
  auto status = success();
  event([&](peer::Leader& leader) { status = leader.forget(peer); });
  return status;
}

void SimLeader::arm_timer() {
  const auto wake = leader().wake_at();
  if (!wake) return;
  const Micros delay = machine_.clock().until(*wake);
  const Micros at = world_.now() + delay;
  if (tick_due_ && *tick_due_ <= at) return;
  tick_due_ = at;
  world_.after(delay, [this, number = ++tick_number_] {
    if (number != tick_number_ || !machine_.is_member()) return;
    machine_.replica().sees([this] {
      tick_due_.reset();
      if (machine_.leads()) event([](peer::Leader& leader) { leader.tick(); });
    });
  });
}

}  // namespace gpl::sim
