// On a real folder: a process that appends is killed with -9 again and again; all that it told is
// there.

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "gpl/core/prng.h"
#include "gpl/posix/fd.h"
#include "gpl/store/commit_thread.h"
#include "gpl/store/folder_disk.h"
#include "log_model.h"
#include "temporary_folder.h"

namespace gpl::store {
namespace {

constexpr WalOptions small{.segment_bytes = 64 * 1024};
constexpr int snapshot_every = 15;  // batches

/// What the process appends next, from what its log says: its parent knows it too.
std::vector<raft::Persist> next_batch(LogModel model, Prng& prng) {
  std::vector<raft::Persist> batch;
  do {
    raft::Persist persist;
    persist.hard_state =
        raft::HardState{model.hard_state.term + 1, raft::NodeId{prng.between(0, 3)}};
    raft::Index index = model.last_index() + 1;
    for (std::uint64_t left = prng.below(4); left > 0; --left) {
      const std::size_t bytes = prng.below(prng.one_in(9) ? 40'000 : 900);
      persist.entries.push_back(
          entry_of(index, persist.hard_state->term, std::string(bytes, static_cast<char>(index))));
      ++index;
    }
    model.apply(persist);
    batch.push_back(std::move(persist));
  } while (prng.one_in(2));
  return batch;
}

/// Appends through the real committer until it is killed, and tells each synced batch by a byte.
class Appender {
 public:
  Appender(const std::string& path, LogModel model, std::uint64_t seed, int tell)
      : disk_(std::move(FolderDisk::open(path)).value()),
        committer_(std::move(CommitThread::start(*disk_)).value()),
        wal_(std::move(Wal::open(*disk_, three_voters, small)).value().wal),
        model_(std::move(model)),
        prng_(seed),
        tell_(tell) {}

  [[noreturn]] void run() {
    append();
    for (;;) {
      pollfd ready{committer_->descriptor(), POLLIN, 0};
      ::poll(&ready, 1, -1);
      committer_->take_completions();
    }
  }

 private:
  void append() {
    const std::vector<raft::Persist> batch = next_batch(model_, prng_);
    for (const raft::Persist& persist : batch) model_.apply(persist);
    committer_->submit(Committer::Lane::log, wal_.append(batch), [this](Status status) {
      if (!status || ::write(tell_, "+", 1) != 1) ::_exit(1);
      if (++batches_ % snapshot_every == 0) save_snapshot();
      append();
    });
    const std::vector<Operation> made = wal_.prepare();
    if (made.empty()) return;
    committer_->submit(Committer::Lane::background, made,
                       [this](Status status) { wal_.prepared(std::move(status)); });
  }

  void save_snapshot() {
    if (model_.entries.empty()) return;
    const raft::Index index = model_.last_index();
    const raft::SnapshotMark mark{index, model_.term_of(index), three_voters};
    committer_->submit(Committer::Lane::background,
                       write_snapshot(mark,
                                      [left = 3]() mutable -> std::optional<std::string> {
                                        if (left-- == 0) return std::nullopt;
                                        return std::string(10'000, 's');
                                      }),
                       [this, mark](Status status) {
                         if (!status) ::_exit(1);
                         committer_->submit(Committer::Lane::background, wal_.compact(mark),
                                            [this](Status done) { wal_.compacted(done); });
                       });
  }

  std::unique_ptr<FolderDisk> disk_;
  std::unique_ptr<CommitThread> committer_;
  Wal wal_;
  LogModel model_;
  Prng prng_;
  int tell_;
  int batches_ = 0;
};

/// Lets an appender run until it has told `enough` batches, kills it, and returns how many it told.
std::size_t run_and_kill(const std::string& path, const LogModel& model, std::uint64_t seed,
                         std::size_t enough) {
  posix::Pipe pipe = std::move(posix::make_pipe()).value();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    Appender(path, model, seed, pipe.write.get()).run();
  }
  REQUIRE(pid > 0);
  pipe.write.reset();
  std::size_t told = 0;
  char byte = 0;
  while (told < enough && ::read(pipe.read.get(), &byte, 1) == 1) ++told;
  REQUIRE(told == enough);
  REQUIRE(::kill(pid, SIGKILL) == 0);
  while (::read(pipe.read.get(), &byte, 1) == 1) ++told;
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFSIGNALED(status));
  return told;
}

}  // namespace

TEST_CASE("A process that is killed while it appends, 200 times, loses nothing that it told") {
  const TemporaryFolder folder;
  LogModel model{{}, {0, 0, three_voters}, {}};
  std::size_t told = 0;
  std::size_t untold = 0;
  Prng prng(1);
  for (std::uint64_t round = 1; round <= 200; ++round) {
    CAPTURE(round);
    const std::size_t synced =
        run_and_kill(folder.path(), model, round, prng.below(round % 10 == 0 ? 30 : 5));
    told += synced;
    Prng replay(round);
    for (std::size_t i = 0; i < synced; ++i) {
      for (const raft::Persist& persist : next_batch(model, replay)) model.apply(persist);
    }
    LogModel with_next = model;
    for (const raft::Persist& persist : next_batch(model, replay)) with_next.apply(persist);

    const auto disk = FolderDisk::open(folder.path());
    REQUIRE(disk.ok());
    const Result<Wal::Opened> opened = Wal::open(*disk.value(), three_voters, small);
    if (!opened) FAIL(opened.error().message);
    const raft::SnapshotMark& mark = opened.value().restored.snapshot;
    if (opened.value().restored == with_next.restored(mark)) {
      model = with_next;
      ++untold;
    } else {
      REQUIRE(opened.value().restored == model.restored(mark));
    }
    CHECK(mark.index <= model.last_index());
  }
  MESSAGE(told, " batches told, ", untold, " more found; the last entry is ", model.last_index());
  CHECK(told > 300);
}

}  // namespace gpl::store
