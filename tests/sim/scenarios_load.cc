// Scenarios of load: submits that arrive faster than the disk syncs.

#include <algorithm>
#include <vector>

#include "sim/scenarios.h"
#include "sim/stage.h"

namespace gpl::sim {

namespace {

/// So many submits, one each 100 us, against disks that sync in 100 us and a network that takes
/// 100.
Played submits_faster_than_syncs(Trace::Mode trace) {
  constexpr std::size_t count = 30'000;
  constexpr Micros every = 100;
  Stage stage(3, 1, trace);
  stage.elect(1);
  stage.agree();
  std::vector<Micros> asked(count), delays;
  delays.reserve(count);
  const auto first = stage.node(1).last_index() + 1;
  stage.cluster().on_applied = [&](Machine& machine, const peer::AppliedEntry& entry) {
    if (&machine == &stage.machine(1) && entry.index >= first && entry.index < first + count)
      delays.push_back(stage.now() - asked[entry.index - first]);
  };
  const auto syncs_before = stage.replica(1).batches();
  const Micros start = stage.now();
  for (std::size_t i = 0; i < count; ++i) {
    asked[i] = stage.now();
    if (!stage.expect(stage.propose(1).has_value(), "submit " + std::to_string(i) + " is taken"))
      break;
    stage.run(start + static_cast<Micros>(i + 1) * every - stage.now());
  }
  stage.wait("all are committed", secs(5), [&] { return delays.size() == count; });
  const Micros took = stage.now() - start;
  const auto syncs = stage.replica(1).batches() - syncs_before;
  if (stage.failure()) return {stage.failure(), ""};
  std::sort(delays.begin(), delays.end());
  stage.expect(delays.back() < millis(5), "no submit waits for 5 ms");
  stage.agree();
  return {stage.failure(), std::to_string(count) + " submits in " + in_ms(took) + ", " +
                               std::to_string(syncs) + " syncs: median " +
                               in_ms(delays[count / 2]) + ", longest " + in_ms(delays.back())};
}

}  // namespace

std::vector<Scenario> load_scenarios() {
  return {{"submits-faster-than-syncs", submits_faster_than_syncs}};
}

}  // namespace gpl::sim
