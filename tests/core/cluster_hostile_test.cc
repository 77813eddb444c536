#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "state_checks.h"
#include "state_history.h"

using namespace gpl;
using namespace gpl::test;

namespace {

/// Changes one number somewhere in a part.
class Vandal {
 public:
  explicit Vandal(Prng& prng) : prng_(prng) {}

  void operator()(StateCounters& counters) {
    pick({&counters.next_job.value, &counters.next_attempt.value, &counters.epoch});
  }
  void operator()(JobsPart& part) {
    JobRecord& job = one_of(part.jobs);
    if (prng_.one_in(4)) {
      JobDescription description = *job.description;
      if (!description.after.empty()) change(description.after.front().job.value);
      if (auto* array = std::get_if<Array>(&description.shape))
        pick({&array->tasks.first.value, &array->tasks.last.value});
      job.description = std::make_shared<const JobDescription>(description);
      return;
    }
    if (prng_.one_in(10)) job.ended_at = job.ended_at ? std::nullopt : std::optional(Instant{});
    pick({&job.id.value, &job.request.low, &job.waiting_count, &job.under_way_count,
          &job.ended_count, &job.failed_count});
  }
  void operator()(WaitingPart& part) { run(one_of(part.tasks)); }
  void operator()(EndedPart& part) { run(one_of(part.tasks)); }
  void operator()(RetriedPart& part) { run(one_of(part.tasks)); }
  void operator()(AttemptsPart& part) {
    Attempt& attempt = one_of(part.attempts);
    pick({&attempt.fence.epoch, &attempt.fence.attempt.value, &attempt.slot.value,
          &attempt.job.value, &attempt.task.value, &attempt.peer.value,
          &attempt.allocation.memory_bytes});
    if (prng_.one_in(4)) attempt.allocation.devices.push_back(card(static_cast<int>(small())));
  }
  void operator()(FencedPart& part) {
    FencedAttempt& attempt = one_of(part.attempts);
    pick({&attempt.fence.epoch, &attempt.fence.attempt.value, &attempt.job.value,
          &attempt.task.value});
  }
  void operator()(PeersPart& part) { change(one_of(part.peers).id.value); }

 private:
  std::uint64_t small() { return prng_.below(6); }
  void change(std::uint64_t& number) {
    number = prng_.one_in(8) ? prng_.next() : number + small() - 3;
  }
  void pick(std::vector<std::uint64_t*> numbers) { change(*numbers[prng_.below(numbers.size())]); }
  template <class Record>
  Record& one_of(std::vector<Record>& records) {
    return records[prng_.below(records.size())];
  }
  template <class Run>
  void run(Run& run) {
    pick({&run.job.value, &run.tasks.first.value, &run.tasks.last.value});
  }

  Prng& prng_;
};

/// Whether it was restored; then it has to be a sound state that goes on as one.
bool survives(std::uint64_t seed) {
  Prng prng(seed);
  ClusterState state;
  History history(seed);
  for (int i = 0; i < 300; ++i) state.apply(history.next(state));
  std::vector<StatePart> parts = parts_of(state.freeze());
  Vandal vandal(prng);
  for (std::uint64_t i = prng.between(1, 3); i > 0; --i)
    std::visit(vandal, parts[prng.below(parts.size())]);
  auto restored = ClusterState::restore(std::move(parts));
  if (!restored.ok()) return false;
  ClusterState& other = restored.value();
  for (int i = 0; i < 50; ++i) {
    const Records records(other);
    check_tasks(records);
    check_jobs(other, records);
    check_index(other);
    other.apply(history.next(other));
  }
  return true;
}

}  // namespace

TEST_CASE("whatever is changed in a snapshot, it is refused or restored to a sound state") {
  int survived = 0;
  int all = 0;
  CHECK(rc::check([&](std::uint64_t seed) {
    ++all;
    survived += survives(seed);
  }));
  CHECK(survived > 0);
  CHECK(survived < all);
}
