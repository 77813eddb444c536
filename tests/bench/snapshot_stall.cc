// What a snapshot of 100,000 jobs costs a replica on a real disk, and what its loop notices of it:
// every step of the loop is timed, with no snapshot under way and with one after the other.
// snapshot_stall [FOLDER]: a folder on the disk to use (a temporary one is made in it, or in
// TMPDIR).

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/sweep_job.h"
#include "gpl/core/prng.h"
#include "gpl/peer/replica.h"
#include "gpl/store/commit_thread.h"
#include "gpl/store/folder_disk.h"
#include "gpl/store/snapshot_file.h"

namespace {

using namespace gpl;
using bench::submit;
using Wall = std::chrono::steady_clock;

constexpr std::uint64_t job_count = 100'000;
constexpr std::uint64_t timed_entries = 40'000;
constexpr std::uint64_t at_once = 64;  ///< proposed and not applied

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "snapshot_stall: %s\n", what.c_str());
  std::exit(1);
}

std::int64_t ms_of(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return std::int64_t{at.tv_sec} * 1000 + at.tv_nsec / 1'000'000;
}

double thread_cpu_us() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) * 1e6 + static_cast<double>(at.tv_nsec) / 1e3;
}

struct RealClock final : peer::Clock {
  Moment now() const override { return Moment{ms_of(CLOCK_BOOTTIME)}; }
  Instant wall() const override { return Instant{ms_of(CLOCK_REALTIME)}; }
};

struct NoTransport final : peer::Transport {
  void send(raft::Message) override {}
};

/// Watches the snapshots go by.
class WatchedDisk final : public store::Disk {
 public:
  explicit WatchedDisk(store::Disk& disk) : disk_(disk) {}
  Result<std::vector<std::string>> list() override { return disk_.list(); }
  Result<std::uint64_t> size(std::string_view name) override { return disk_.size(name); }
  Result<std::string> read(std::string_view name, std::uint64_t offset,
                           std::size_t limit_bytes) override {
    return disk_.read(name, offset, limit_bytes);
  }
  Status perform(const store::Operation& operation) override {
    const auto* write = std::get_if<store::Write>(&operation);
    if (write != nullptr && write->name == store::saving_name) {
      if (write->offset == 0) began_ = Wall::now();
      bytes = write->offset + write->bytes.size();
    }
    auto status = disk_.perform(operation);
    const auto* rename = std::get_if<store::Rename>(&operation);
    if (rename != nullptr && rename->from == store::saving_name) {
      ++snapshots;
      total_us +=
          std::chrono::duration_cast<std::chrono::microseconds>(Wall::now() - began_).count();
    }
    return status;
  }

  std::atomic<std::uint64_t> bytes = 0;  ///< of the newest snapshot
  std::atomic<std::uint64_t> snapshots = 0;
  std::atomic<std::int64_t> total_us = 0;

 private:
  store::Disk& disk_;
  Wall::time_point began_;  ///< of the background lane
};

/// A lone voter and its loop.
class Loop {
 public:
  Loop(store::Disk& disk, std::uint64_t snapshot_after)
      : committer_(std::move(store::CommitThread::start(disk)).value()) {
    peer::ReplicaOptions options;
    options.raft.id = raft::NodeId{1};
    options.snapshot_after_entries = snapshot_after;
    options.snapshot_after_bytes = std::uint64_t{1} << 40;
    auto opened = peer::Replica::open(
        options, {disk, *committer_, transport_, clock_},
        {.applied = [this](const peer::AppliedEntry&) { ++applied_; },
         .restored = [] {},
         .stopped = [](const Error& error) { die(error.message); },
         .note = [](const std::string& text) { std::printf("note: %s\n", text.c_str()); }},
        {{raft::NodeId{1}}, {}});
    if (!opened.ok()) die(opened.error().message);
    replica_ = std::move(opened).value();
    while (!replica_->node().leads()) wait();
  }
  // The committer calls back into the replica: it goes first.
  ~Loop() { committer_.reset(); }

  /// So many entries through the log; `next` makes the commands of one.
  void run(std::uint64_t entries, const std::function<std::vector<Command>()>& next) {
    steps_us.clear();
    applied_ = 0;
    for (std::uint64_t proposed = 0; applied_ < entries;) {
      while (proposed < entries && proposed - applied_ < at_once) {
        const auto commands = next();
        step([&] {
          if (!replica_->propose(commands).ok()) die("a proposal was refused");
        });
        ++proposed;
      }
      wait();
    }
    std::sort(steps_us.begin(), steps_us.end(), std::greater<>());
  }
  void wait() {
    const auto due = [this] { return replica_->wake_at() && *replica_->wake_at() <= clock_.now(); };
    pollfd ready{committer_->descriptor(), POLLIN, 0};
    ::poll(&ready, 1, due() ? 0 : 100);
    step([&] { committer_->take_completions(); });
    if (due()) step([&] { replica_->tick(); });
  }
  const ClusterState& state() const { return replica_->state(); }

  std::vector<double> steps_us;  ///< of the thread's own time, the longest first

 private:
  template <class F>
  void step(F&& f) {
    const double from = thread_cpu_us();
    f();
    steps_us.push_back(thread_cpu_us() - from);
  }

  RealClock clock_;
  NoTransport transport_;
  std::unique_ptr<store::CommitThread> committer_;
  std::unique_ptr<peer::Replica> replica_;
  std::uint64_t applied_ = 0;
};

void show(const char* name, double value, const char* unit) {
  std::printf("%-58s %10.1f %s\n", name, value, unit);
}

void show_steps(const Loop& loop) {
  show("  1 step of the loop in 10,000 takes longer than",
       loop.steps_us[loop.steps_us.size() / 10'000], "us");
  show("  the longest", loop.steps_us.front(), "us");
}

/// A new job, and the end of one anywhere: whatever part of the state holds it is written to.
struct Changes {
  Prng prng{7};
  std::uint64_t submitted = 0;

  std::vector<Command> next() {
    const JobId any{1 + prng.below(submitted)};
    return {submit(++submitted), command::Cancel{any, {}, Instant{2}}};
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::string folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string();
  folder += "/snapshot_stall.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) die("cannot make a folder like " + folder);
  {
    const auto opened = store::FolderDisk::open(folder + "/log");
    if (!opened.ok()) die(opened.error().message);
    WatchedDisk disk(*opened.value());
    Changes changes;
    const auto next = [&] { return changes.next(); };
    {
      Loop loop(disk, std::uint64_t{1} << 40);
      loop.run(job_count / 32, [&] {
        std::vector<Command> commands;
        for (int i = 0; i < 32; ++i) commands.push_back(submit(++changes.submitted));
        return commands;
      });
      std::printf("%zu jobs; then 2 commands an entry, %llu entries\n", loop.state().job_count(),
                  static_cast<unsigned long long>(timed_entries));
      loop.run(timed_entries, next);
      std::printf("no snapshot under way\n");
      show_steps(loop);
    }
    Loop loop(disk, 1);
    loop.run(timed_entries, next);
    std::printf("one snapshot after the other\n");
    show_steps(loop);
    const auto count = static_cast<double>(disk.snapshots.load());
    show("  snapshots", count, "");
    show("  jobs in the last", static_cast<double>(loop.state().job_count()), "");
    show("  its size", static_cast<double>(disk.bytes.load()) / 1e6, "MB");
    show("  from its first byte to its name, mean",
         static_cast<double>(disk.total_us.load()) / count / 1000, "ms");
  }
  std::filesystem::remove_all(folder);
}
