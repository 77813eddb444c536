#include "sim/seed_run.h"

#include "sim/cluster.h"
#include "sim/faults.h"
#include "sim/operator.h"

namespace gpl::sim {

namespace {

/// Nothing fails any more: within bounded time somebody leads, all have caught up, the membership
/// is as it should be, and every job has ended.
void settle(World& world, Cluster& cluster, Operator& operator_) {
  const auto open = [&]() -> std::optional<std::string> {
    auto unsettled = cluster.unsettled();
    if (!unsettled && !operator_.settled()) unsettled = "the membership is not as it should be";
    return unsettled;
  };
  const Micros mended_at = world.now();
  const Micros end = mended_at + cluster.setup().settle_limit;
  Micros moved_at = mended_at;
  auto committed = cluster.consensus().highest_committed();
  auto unsettled = open();
  while (unsettled && world.now() < end && world.now() - moved_at < cluster.setup().still_limit) {
    if (!world.run_until(world.now() + millis(100))) return;
    if (cluster.consensus().highest_committed() != committed) moved_at = world.now();
    committed = cluster.consensus().highest_committed();
    unsettled = open();
  }
  if (unsettled) {
    world.violate("nothing fails any more, and at the end of " +
                  std::to_string((world.now() - mended_at) / 1'000'000) + " s: " + *unsettled);
  } else {
    cluster.check_settled();
  }
}

}  // namespace

SeedResult run_seed(Campaign campaign, std::uint64_t seed, PlantedBug bug, Trace::Mode trace) {
  const Setup setup = draw_setup(campaign, seed, bug);
  World world(seed, trace);
  Cluster cluster(world, setup);
  Operator operator_(cluster);
  Faults faults(cluster, operator_);
  world.count(Figure::seeds);
  world.count(Figure::workers, setup.workers);
  cluster.start();
  operator_.start();
  faults.start();
  if (world.run_until(setup.faults_until)) {
    faults.stop();
    for (auto& client : cluster.clients()) client->stop();
    settle(world, cluster, operator_);
  }
  world.count(Figure::virtual_ms, static_cast<std::uint64_t>(world.now() / 1000));
  return {world.violation(), world.trace().recent(), world.figures()};
}

}  // namespace gpl::sim
