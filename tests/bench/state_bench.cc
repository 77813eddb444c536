// The replicated state machine alone: commands per second, what a freeze costs the loop, the
// longest single command while a frozen state is read by another thread, memory per job.

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/sweep_job.h"
#include "gpl/core/cluster_state.h"

using namespace gpl;
using bench::submit;

namespace {

constexpr std::uint64_t job_count = 100'000;
constexpr std::uint64_t peer_count = 100;

double resident_bytes() {
  long pages = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Of this thread alone: what others on the machine do does not show.
double cpu_us() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) * 1e6 + static_cast<double>(at.tv_nsec) / 1e3;
}

/// Applies commands and counts them.
class Timed {
 public:
  Applied apply(const Command& command) {
    const double start = watch_each ? cpu_us() : 0;
    Applied applied = state.apply(command);
    if (watch_each) each_us.push_back(cpu_us() - start);
    ++commands;
    if (applied.refused) {
      std::printf("refused: %s\n", applied.refused->message.c_str());
      std::exit(1);
    }
    return applied;
  }

  ClusterState state;
  bool watch_each = false;  ///< costs as much as a short command does
  std::vector<double> each_us;
  std::uint64_t commands = 0;
};

Command place(JobId job, std::uint64_t number) {
  return command::Place{
      job, {{TaskId{0}, TaskId{0}}, PeerId{1 + number % peer_count}, {1, 0, {}, ""}}, Instant{2}};
}

void add_peers(Timed& timed) {
  for (std::uint64_t id = 1; id <= peer_count; ++id) {
    PeerOffer offer;
    offer.name = "peer" + std::to_string(id);
    offer.host.cpus = 64;
    timed.apply(command::PeerUp{PeerId{id}, "keeper", std::move(offer), Instant{0}});
  }
}

/// Each job to its end, `window` of them under way at a time; before each another is submitted.
void run_jobs(Timed& timed, std::uint64_t first, std::uint64_t count, std::uint64_t window) {
  std::vector<Fence> under_way;
  for (std::uint64_t number = first; number < first + count; ++number) {
    timed.apply(submit(job_count + number));
    const AttemptId id = timed.apply(place(JobId{number}, number)).placed.front();
    const Fence fence = timed.state.find_attempt(id)->fence;
    timed.apply(command::Start{fence, Instant{3}});
    under_way.push_back(fence);
    if (under_way.size() < window) continue;
    const Fence done = under_way[under_way.size() - window];
    timed.apply(command::Report{done, Exited{0}, Instant{4}, false});
  }
}

void show(const char* name, double value, const char* unit) {
  std::printf("%-52s %10.1f %s\n", name, value, unit);
}

/// Thousands of commands a second, by the time that this thread had.
template <class F>
void show_rate(const char* name, Timed& timed, F&& run) {
  timed.commands = 0;
  const double start = cpu_us();
  run();
  show(name, static_cast<double>(timed.commands) * 1e3 / (cpu_us() - start), "thousand commands/s");
}

/// The longest, and the one that 1 in 10,000 exceeds: interrupts of the machine are in both.
template <class F>
void show_longest(Timed& timed, F&& run) {
  timed.watch_each = true;
  timed.each_us.clear();
  run();
  timed.watch_each = false;
  std::sort(timed.each_us.begin(), timed.each_us.end(), std::greater<>());
  show("  1 command in 10,000 takes longer than", timed.each_us[timed.each_us.size() / 10'000],
       "us");
  show("  the longest", timed.each_us.front(), "us");
}

void bench_simple(Timed& timed) {
  const double before = resident_bytes();
  show_rate("submit", timed, [&] {
    for (std::uint64_t number = 1; number <= job_count; ++number) timed.apply(submit(number));
  });
  show("memory per queued job (resident)",
       (resident_bytes() - before) / static_cast<double>(job_count), "bytes");
  show_rate("submit, place, start, report; 100,000 queued", timed,
            [&] { run_jobs(timed, 1, 20'000, 1000); });
  show_longest(timed, [&] { run_jobs(timed, 20'001, 20'000, 1000); });
}

void bench_frozen(Timed& timed) {
  std::vector<FrozenState> frozen;
  frozen.reserve(1);
  const double start = cpu_us();
  frozen.push_back(timed.state.freeze());
  show("freeze of 140,000 jobs", cpu_us() - start, "us");
  show("its parts", static_cast<double>(frozen.front().part_count()), "");

  bool stop = false;
  double read_us = 0;
  std::mutex mutex;
  std::thread reader([&, state = frozen.front()] {
    for (bool again = true; again;) {
      const double from = cpu_us();
      for (std::size_t i = 0; i < state.part_count(); ++i) (void)state.part(i);
      read_us = cpu_us() - from;
      const std::lock_guard lock(mutex);
      again = !stop;
    }
  });
  show_rate("the same just after it, while it is read", timed,
            [&] { run_jobs(timed, 40'001, 20'000, 1000); });
  frozen.front() = timed.state.freeze();
  show_longest(timed, [&] { run_jobs(timed, 60'001, 20'000, 1000); });
  {
    const std::lock_guard lock(mutex);
    stop = true;
  }
  reader.join();
  show("reading all parts once", read_us, "us");
}

void bench_restore(const Timed& timed) {
  const FrozenState frozen = timed.state.freeze();
  std::vector<StatePart> parts;
  for (std::size_t i = 0; i < frozen.part_count(); ++i) parts.push_back(frozen.part(i));
  const double start = cpu_us();
  const auto restored = ClusterState::restore(std::move(parts));
  if (!restored.ok() || restored.value().digest() != timed.state.digest()) {
    std::printf("restore: %s\n", restored.ok() ? "differs" : restored.error().message.c_str());
    std::exit(1);
  }
  show("restore of 180,000 jobs", (cpu_us() - start) / 1000, "ms");
}

/// Every other task of a million fails, in an order that leaves as many ranges as there can be.
void bench_array() {
  constexpr std::uint64_t tasks = 1'000'000;
  Timed timed;
  add_peers(timed);
  JobDescription job;
  job.spec.command = {"true"};
  job.shape = Array{{TaskId{0}, TaskId{tasks - 1}}, std::nullopt};
  const double start = cpu_us();
  timed.apply(command::Submit{{1, 1}, {}, std::move(job), {}, Instant{1}});
  show("submit of an array of a million tasks", cpu_us() - start, "us");
  std::uint64_t next = 0;
  const auto run = [&](std::uint64_t count) {
    for (; count > 0; --count, next = (next + 7919) % tasks) {
      const TaskId task{next};
      const command::Placing placing{{task, task}, PeerId{1}, {1, 0, {}, ""}};
      const AttemptId id =
          timed.apply(command::Place{JobId{1}, placing, Instant{2}}).placed.front();
      const Fence fence = timed.state.find_attempt(id)->fence;
      timed.apply(command::Report{fence, Exited{static_cast<int>(next % 2)}, Instant{3}, false});
    }
  };
  show_rate("place, report in it, in no order, no two alike", timed, [&] { run(tasks / 2); });
  show_longest(timed, [&] { run(tasks / 4); });
  const double freeze_start = cpu_us();
  const FrozenState frozen = timed.state.freeze();
  show("freeze of it", cpu_us() - freeze_start, "us");
  show_longest(timed, [&] { run(tasks / 4); });
}

}  // namespace

int main() {
  Timed timed;
  add_peers(timed);
  bench_simple(timed);
  bench_frozen(timed);
  bench_restore(timed);
  bench_array();
}
