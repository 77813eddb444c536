#include "gpl/host/guard_runner.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "gpl/host/descendants.h"
#include "gpl/host/guard.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

constexpr int sweep_again_ms = 2;
// A process in uninterruptible sleep outlives SIGKILL: after this long it is reported instead.
constexpr std::int64_t sweep_patience_ms = 10'000;

// Waits for the children that have ended; whether there was one.
bool reap_children() {
  bool any = false;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) any = true;
  return any;
}

}  // namespace

Status GuardRunner::start(const Launch& launch) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return posix::io_error("cannot make the guard's socket");
  }
  posix::Fd mine(ends[0]);
  posix::Fd guards(ends[1]);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGCHLD, SIG_DFL);  // where a caller left it ignored, no child could be waited for
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) {
    mine.reset();
    if (family_ != nullptr) family_->restore_open_files();
    run_guard(launch, std::move(guards));
  }
  const int fork_errno = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return posix::io_error("cannot fork the guard", fork_errno);
  guard_ = pid;
  if (family_ != nullptr) child_ = family_->add(pid);
  link_ = std::move(mine);
  return success();
}

void GuardRunner::signal(int signal_number) {
  const GuardOrder order{GuardOrder::Kind::signal, signal_number, 0};
  (void)::send(link_.get(), &order, sizeof order, MSG_NOSIGNAL);
}

void GuardRunner::end(std::int64_t grace_ms) {
  const GuardOrder order{GuardOrder::Kind::end, 0, grace_ms};
  (void)::send(link_.get(), &order, sizeof order, MSG_NOSIGNAL);
}

int GuardRunner::wait_ms() const { return lost_ && !settled_ ? sweep_again_ms : -1; }

std::vector<RunnerEvent> GuardRunner::take_events() {
  std::vector<RunnerEvent> events;
  while (!lost_ && !settled_) {
    GuardReport report;
    const ssize_t got = ::recv(link_.get(), &report, sizeof report, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return events;
    // It ended with an order of ours unread. The kernel says so once, before what the guard had
    // still told, which follows.
    if (got < 0 && errno == ECONNRESET) continue;
    if (got != sizeof report) {
      lost_ = true;
      lost_at_ms_ = posix::awake_clock().since_epoch_ms;
      link_.reset();
      break;
    }
    switch (report.kind) {
      case GuardReport::Kind::started:
        events.push_back(Started{report.pid});
        break;
      case GuardReport::Kind::failed_to_start:
        settled_ = true;
        events.push_back(SpawnFailed{report.failure});
        break;
      case GuardReport::Kind::first_process_ended:
        events.push_back(report.ended);
        break;
      case GuardReport::Kind::all_gone:
        settled_ = true;
        if (report.survivors > 0) guard_ = -1;  // it stays, and goes on trying
        events.push_back(AllGone{report.survivors});
        break;
    }
  }
  if (lost_ && !settled_) sweep_after_loss(events);
  // The guard exits right after its last report. In a family it is reaped with all others.
  if (family_ == nullptr && settled_ && guard_ > 0 && ::waitpid(guard_, nullptr, 0) == guard_)
    guard_ = -1;
  return events;
}

// What the guard had started is ours now, as its subreaper. A process that was there before us is
// in our own session; nothing of the attempt can be.
void GuardRunner::sweep_after_loss(std::vector<RunnerEvent>& events) {
  const auto reap = [this] { return family_ != nullptr ? family_->reap() : reap_children(); };
  reap();
  const std::vector<pid_t> left = family_ != nullptr ? family_->orphans() : descendants(true);
  signal_all(left, SIGKILL);
  const bool patient = posix::awake_clock().since_epoch_ms - lost_at_ms_ < sweep_patience_ms;
  // A child that ended while we looked may have handed us one that the look has missed.
  const bool more = reap() || !left.empty();
  // A guard closes its link a moment before the kernel hands on what it had started.
  const bool handed_on = family_ == nullptr || !family_->has(child_);
  if ((more || !handed_on) && patient) return;
  survivors_ = static_cast<int>(left.size());
  guard_ = -1;
  settled_ = true;
  events.push_back(GuardLost{});
}

}  // namespace gpl::host
