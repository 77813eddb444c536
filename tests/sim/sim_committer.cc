#include "sim/sim_committer.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "gpl/store/snapshot_file.h"

namespace gpl::sim {

namespace {

/// From the committing thread to the loop.
constexpr Micros hop = 5;

std::uint64_t bytes_of(const store::Operation& operation) {
  if (const auto* write = std::get_if<store::Write>(&operation)) return write->bytes.size();
  if (const auto* create = std::get_if<store::Create>(&operation)) return create->size_bytes;
  return 0;
}

/// The last step of one that was taken here; one that came from a leader is renamed from elsewhere.
bool is_snapshot(const store::Operation& operation) {
  const auto* rename = std::get_if<store::Rename>(&operation);
  return rename != nullptr && rename->to.starts_with("snapshot-") &&
         rename->from != store::incoming_name;
}

}  // namespace

SimCommitter::SimCommitter(World& world, Life life, SimDisk& disk, const DiskSpeed& speed,
                           std::string name, Prng dice,
                           std::function<void(std::function<void()>)> loop)
    : world_(world),
      life_(life),
      disk_(disk),
      speed_(speed),
      name_(std::move(name)),
      dice_(dice),
      loop_(std::move(loop)) {}

void SimCommitter::submit(Lane which, std::vector<store::Operation> operations, Done done) {
  auto source = [operations = std::move(operations),
                 next = std::size_t{0}]() mutable -> Result<std::optional<store::Operation>> {
    if (next == operations.size()) return std::optional<store::Operation>();
    return std::optional<store::Operation>(std::move(operations[next++]));
  };
  submit(which, Source(std::move(source)), std::move(done));
}

void SimCommitter::submit(Lane which, Source source, Done done) {
  auto& works = lane(which).works;
  works.push_back({std::move(source), std::move(done)});
  // The thread sees it a moment later, when the loop has gone on.
  if (works.size() == 1) world_.after(hop, life_, [this, which] { next_operation(which); });
}

void SimCommitter::next_operation(Lane which) {
  auto& state = lane(which);
  auto operation = state.works.front().source();
  if (!operation.ok()) return finish(which, std::move(operation).error());
  if (!operation.value()) return finish(which, success());
  state.in_flight = std::move(operation).value();
  const Micros time = duration(*state.in_flight);
  if (in_next_operation_)
    world_.after(static_cast<Micros>(dice_.below(static_cast<std::uint64_t>(time) + 1)), life_,
                 std::exchange(in_next_operation_, nullptr));
  world_.after(time, life_, [this, which] {
    auto done = std::exchange(lane(which).in_flight, std::nullopt);
    auto status = disk_.perform(*done);
    if (status.ok() && is_snapshot(*done)) world_.count(Figure::snapshots_taken);
    world_.tell(name_, [&] {
      return "disk: " + describe(*done) + (status.ok() ? "" : " FAILED: " + status.error().message);
    });
    if (!status.ok()) return finish(which, std::move(status).error());
    next_operation(which);
  });
}

void SimCommitter::finish(Lane which, Status status) {
  auto& works = lane(which).works;
  auto done = std::move(works.front().done);
  works.pop_front();
  world_.after(hop, life_, [this, done = std::move(done), status = std::move(status)] {
    loop_([done, status] { done(status); });
  });
  if (!works.empty()) world_.after(hop, life_, [this, which] { next_operation(which); });
}

void SimCommitter::interrupt() {
  for (auto& state : lanes_) {
    if (!state.in_flight) continue;
    world_.tell(name_, [&] { return "disk: killed during " + describe(*state.in_flight); });
    disk_.interrupt(*state.in_flight);
    state.in_flight.reset();
  }
}

Micros SimCommitter::sync_duration() {
  Micros time = static_cast<Micros>(dice_.between(static_cast<std::uint64_t>(speed_.sync_low),
                                                  static_cast<std::uint64_t>(speed_.sync_high)));
  if (speed_.slow_one_in > 0 && dice_.one_in(speed_.slow_one_in)) time *= 20;
  return std::max(time, speed_.stalled_until - world_.now());
}

Micros SimCommitter::duration(const store::Operation& operation) {
  const auto copying = static_cast<Micros>(bytes_of(operation) / 1000);
  if (std::holds_alternative<store::Write>(operation)) return speed_.write + copying;
  return sync_duration() + copying;
}

}  // namespace gpl::sim
