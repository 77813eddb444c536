#include "gpl/store/commit_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cassert>
#include <csignal>
#include <cstdint>
#include <system_error>

#include "gpl/posix/error.h"

namespace gpl::store {
namespace {

/// Signals go to the loop's thread: one that is started within this blocks them all.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Result<std::unique_ptr<CommitThread>> CommitThread::start(Disk& disk) {
  posix::Fd ready(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready.valid()) return posix::io_error("cannot make an eventfd for the log");
  std::unique_ptr<CommitThread> out(new CommitThread(disk, std::move(ready)));
  const SignalsBlocked blocked;
  try {
    for (const Lane lane : {Lane::log, Lane::background}) {
      out->state(lane).thread = std::thread([&committer = *out, lane] { committer.run(lane); });
    }
  } catch (const std::system_error& error) {
    return Error{Code::io, std::string("cannot start a thread for the log: ") + error.what()};
  }
  return out;
}

CommitThread::~CommitThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  for (LaneState& lane : lanes_) {
    lane.wake.notify_one();
    if (lane.thread.joinable()) lane.thread.join();
  }
}

void CommitThread::submit(Lane lane, std::vector<Operation> operations, Done done) {
  submit(
      lane,
      [operations = std::move(operations),
       next = std::size_t{0}]() mutable -> Result<std::optional<Operation>> {
        if (next == operations.size()) return std::optional<Operation>();
        return std::optional<Operation>(std::move(operations[next++]));
      },
      std::move(done));
}

void CommitThread::submit(Lane lane, Source source, Done done) {
  {
    const std::lock_guard lock(mutex_);
    state(lane).works.push_back({std::move(source), std::move(done)});
  }
  state(lane).wake.notify_one();
}

void CommitThread::take_completions() {
  std::uint64_t count = 0;
  // Emptied before the look: what is done after it makes the descriptor readable again.
  [[maybe_unused]] const ssize_t got = ::read(ready_.get(), &count, sizeof count);
  std::deque<Completion> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(completions_);
  }
  for (Completion& completion : done) completion.done(std::move(completion.status));
}

void CommitThread::run(Lane lane) {
  LaneState& own = state(lane);
  std::unique_lock lock(mutex_);
  for (;;) {
    own.wake.wait(lock, [&] { return ending_ || !own.works.empty(); });
    if (own.works.empty()) return;
    Work work = std::move(own.works.front());
    own.works.pop_front();
    lock.unlock();
    Status status = perform(lane, work.source);
    work.source = nullptr;  // what it holds may be large: not with the loop
    lock.lock();
    completions_.push_back({std::move(work.done), std::move(status)});
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(ready_.get(), &one, sizeof one);
    assert(told == sizeof one);
  }
}

// `stopped` is of this lane's thread alone.
Status CommitThread::perform(Lane lane, const Source& source) {
  std::optional<Error>& stopped = state(lane).stopped;
  if (stopped) return *stopped;
  for (;;) {
    Result<std::optional<Operation>> operation = source();
    if (!operation) {
      if (lane == Lane::log) stopped = operation.error();
      return std::move(operation).error();
    }
    if (!operation.value()) return success();
    if (Status done = disk_.perform(*operation.value()); !done) {
      if (lane == Lane::log) stopped = done.error();
      return done;
    }
  }
}

}  // namespace gpl::store
