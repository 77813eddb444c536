#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "gpl/posix/fd.h"
#include "gpl/store/committer.h"

namespace gpl::store {

/// Performs operations on two threads, one a lane. What is done is handed back to the loop, which
/// waits for `descriptor` to be readable and calls `take_completions`.
///
/// A failure in the log lane stops it for good: nothing of what follows is performed, and all of it
/// fails with the same error. One in the background lane (a full disk) ends its own piece of work:
/// a file that could not be synced there is thrown away, and written anew.
class CommitThread final : public Committer {
 public:
  /// `disk` must outlive this.
  static Result<std::unique_ptr<CommitThread>> start(Disk& disk);
  /// Performs what was submitted, and drops what is not taken of `done`.
  ~CommitThread() override;
  CommitThread(const CommitThread&) = delete;
  CommitThread& operator=(const CommitThread&) = delete;

  void submit(Lane lane, std::vector<Operation> operations, Done done) override;
  void submit(Lane lane, Source source, Done done) override;

  int descriptor() const { return ready_.get(); }
  /// Calls `done` of what has been done, in that order. On the loop.
  void take_completions();

 private:
  struct Work {
    Source source;
    Done done;
  };
  struct LaneState {
    std::condition_variable wake;
    std::deque<Work> works;
    std::optional<Error> stopped;
    std::thread thread;
  };
  struct Completion {
    Done done;
    Status status;
  };

  CommitThread(Disk& disk, posix::Fd ready) : disk_(disk), ready_(std::move(ready)) {}

  LaneState& state(Lane lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  void run(Lane lane);
  Status perform(Lane lane, const Source& source);

  Disk& disk_;
  posix::Fd ready_;   // an eventfd
  std::mutex mutex_;  // of all below, and of no file work
  std::array<LaneState, 2> lanes_;
  std::deque<Completion> completions_;
  bool ending_ = false;
};

}  // namespace gpl::store
