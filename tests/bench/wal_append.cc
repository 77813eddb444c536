// Appends a second through the real disk, one at a time and in groups, beside what the disk gives
// to a bare loop of fdatasync. wal_append [FOLDER]: a folder on the disk that is to be measured (a
// temporary one is made in it, or in TMPDIR).

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gpl/store/commit_thread.h"
#include "gpl/store/folder_disk.h"
#include "gpl/store/wal.h"

namespace {

using namespace gpl;
using namespace gpl::store;
using Clock = std::chrono::steady_clock;

constexpr auto budget = std::chrono::seconds(3);
constexpr std::size_t entry_bytes = 200;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "wal_append: %s\n", what.c_str());
  std::exit(1);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Figures {
  std::string name;
  std::size_t appends = 0;
  std::size_t syncs = 0;
  double seconds = 0;
  std::vector<double> latencies_us;
};

void print(Figures figures) {
  std::sort(figures.latencies_us.begin(), figures.latencies_us.end());
  const auto at = [&](double part) {
    const auto last = static_cast<double>(figures.latencies_us.size() - 1);
    return figures.latencies_us[static_cast<std::size_t>(part * last)];
  };
  std::printf("%-44s %10.0f %12.3f %9.0f %9.0f\n", figures.name.c_str(),
              static_cast<double>(figures.appends) / figures.seconds,
              static_cast<double>(figures.syncs) / static_cast<double>(figures.appends), at(0.5),
              at(0.99));
  std::fflush(stdout);
}

/// Writes and syncs records one after the other, with no log around them.
void bare_loop(const std::string& folder, bool preallocated) {
  const std::string path = folder + "/bare";
  const posix::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) die("cannot make " + path);
  const std::string zeros(64 * 1024 * 1024, '\0');
  if (preallocated &&
      ::pwrite(fd.get(), zeros.data(), zeros.size(), 0) != static_cast<ssize_t>(zeros.size())) {
    die("cannot write " + path);
  }
  if (::fsync(fd.get()) != 0) die("cannot sync " + path);
  const std::string record(entry_bytes + 64, 'x');
  Figures figures{
      preallocated ? "fdatasync alone, a file written ahead" : "fdatasync alone, a file that grows",
      0,
      0,
      0,
      {}};
  const auto begin = Clock::now();
  while (Clock::now() - begin < budget) {
    const auto one = Clock::now();
    const auto at = static_cast<off_t>(figures.appends * record.size());
    if (::pwrite(fd.get(), record.data(), record.size(), at) < 0) die("cannot write " + path);
    if (::fdatasync(fd.get()) != 0) die("cannot sync " + path);
    figures.latencies_us.push_back(seconds_since(one) * 1e6);
    ++figures.appends;
    ++figures.syncs;
  }
  figures.seconds = seconds_since(begin);
  print(std::move(figures));
  ::unlink(path.c_str());
}

/// Counts the syncs that pass.
class CountingDisk final : public Disk {
 public:
  explicit CountingDisk(Disk& disk) : disk_(disk) {}
  Result<std::vector<std::string>> list() override { return disk_.list(); }
  Result<std::uint64_t> size(std::string_view name) override { return disk_.size(name); }
  Result<std::string> read(std::string_view name, std::uint64_t offset,
                           std::size_t limit_bytes) override {
    return disk_.read(name, offset, limit_bytes);
  }
  Status perform(const Operation& operation) override {
    if (std::holds_alternative<Sync>(operation)) ++syncs;
    return disk_.perform(operation);
  }
  std::atomic<std::size_t> syncs = 0;

 private:
  Disk& disk_;
};

/// So many submitters that each wait for their append before the next, through the commit thread:
/// those who wait while a batch is on its way go together with the next.
class GroupedAppends {
 public:
  GroupedAppends(CountingDisk& disk, std::size_t waiting)
      : disk_(disk),
        committer_(std::move(CommitThread::start(disk)).value()),
        wal_(open(disk)),
        submitted_at_(waiting, Clock::now()) {
    figures_.name = "log, commit thread, " + std::to_string(waiting) + " waiting";
  }

  void run() {
    const std::size_t syncs_before = disk_.syncs;
    begin_ = Clock::now();
    submit();
    while (in_flight_) {
      pollfd ready{committer_->descriptor(), POLLIN, 0};
      ::poll(&ready, 1, -1);
      committer_->take_completions();
    }
    figures_.seconds = seconds_since(begin_);
    figures_.syncs = disk_.syncs - syncs_before;
    print(std::move(figures_));
  }

  static Wal open(Disk& disk) {
    Result<Wal::Opened> opened = Wal::open(disk, {{raft::NodeId{1}}, {}}, {});
    if (!opened) die(opened.error().message);
    next_index = opened.value().restored.entries.size() + 1;
    return std::move(opened).value().wal;
  }
  static raft::Persist one_append() {
    return {0,
            raft::HardState{1, {}},
            {{next_index++, 1, raft::EntryKind::command, std::string(entry_bytes, 'x')}}};
  }
  static inline raft::Index next_index = 1;

 private:
  void submit() {
    std::vector<raft::Persist> batch;
    for (std::size_t i = 0; i < submitted_at_.size(); ++i) batch.push_back(one_append());
    std::fill(submitted_at_.begin(), submitted_at_.end(), Clock::now());
    in_flight_ = true;
    committer_->submit(Committer::Lane::log, wal_.append(batch), [this](Status status) {
      if (!status) die(status.error().message);
      in_flight_ = false;
      for (const auto at : submitted_at_) figures_.latencies_us.push_back(seconds_since(at) * 1e6);
      figures_.appends += submitted_at_.size();
      if (Clock::now() - begin_ < budget) submit();
    });
    const std::vector<Operation> made = wal_.prepare();
    if (made.empty()) return;
    committer_->submit(Committer::Lane::background, made,
                       [this](Status status) { wal_.prepared(std::move(status)); });
  }

  CountingDisk& disk_;
  std::unique_ptr<CommitThread> committer_;
  Wal wal_;
  std::vector<Clock::time_point> submitted_at_;
  Clock::time_point begin_;
  Figures figures_;
  bool in_flight_ = false;
};

/// The log without a thread between.
void direct_appends(CountingDisk& disk, std::size_t group) {
  Wal wal = GroupedAppends::open(disk);
  Figures figures;
  figures.name = "log, no thread, groups of " + std::to_string(group);
  const std::size_t syncs_before = disk.syncs;
  const auto begin = Clock::now();
  while (Clock::now() - begin < budget) {
    const auto one = Clock::now();
    std::vector<raft::Persist> batch;
    for (std::size_t i = 0; i < group; ++i) batch.push_back(GroupedAppends::one_append());
    for (const Operation& operation : wal.append(batch)) {
      if (Status done = disk.perform(operation); !done) die(done.error().message);
    }
    for (std::size_t i = 0; i < group; ++i)
      figures.latencies_us.push_back(seconds_since(one) * 1e6);
    figures.appends += group;
  }
  figures.seconds = seconds_since(begin);
  figures.syncs = disk.syncs - syncs_before;
  print(std::move(figures));
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string();
  folder += "/wal_append.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) die("cannot make a folder like " + folder);
  std::printf("entries of %zu bytes, %lld s each, in %s\n", entry_bytes,
              static_cast<long long>(budget.count()), folder.c_str());
  std::printf("%-44s %10s %12s %9s %9s\n", "", "appends/s", "syncs/append", "p50 us", "p99 us");
  bare_loop(folder, false);
  bare_loop(folder, true);
  {
    const auto opened = FolderDisk::open(folder + "/log");
    if (!opened) die(opened.error().message);
    CountingDisk disk(*opened.value());
    direct_appends(disk, 1);
    direct_appends(disk, 64);
    for (const std::size_t waiting : {1u, 8u, 64u, 512u}) GroupedAppends(disk, waiting).run();
  }
  std::filesystem::remove_all(folder);
}
