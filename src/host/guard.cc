#include "gpl/host/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>

#include "gpl/host/close_descriptors.h"
#include "gpl/host/descendants.h"
#include "gpl/host/process_title.h"
#include "gpl/posix/clock.h"

namespace gpl::host {
namespace {

// A process in uninterruptible sleep outlives SIGKILL: after this long it is reported instead.
constexpr std::int64_t kill_patience_ms = 10'000;
constexpr std::int64_t kill_again_ms = 2;
constexpr std::int64_t kill_later_ms = 50;
constexpr std::int64_t kill_eagerly_ms = 1000;
constexpr int quick_looks = 32;

std::int64_t now_ms() { return posix::awake_clock().since_epoch_ms; }

int above_stdio(int fd) { return fd > 2 ? fd : ::fcntl(fd, F_DUPFD_CLOEXEC, 3); }

class GuardProcess {
 public:
  GuardProcess(const Launch& launch, posix::Fd link) : launch_(launch), link_(std::move(link)) {}

  [[noreturn]] void run() {
    settle();
    start();
    while (true) {
      wait();
      take_orders();
      reap();
      step();
    }
  }

 private:
  enum class Phase {
    running,      // the command's first process runs
    lingering,    // it has ended; the rest may finish by itself
    terminating,  // SIGTERM is sent
    killing,      // SIGKILL is sent, again and again
  };

  // A session of its own, out of reach of the terminal; nothing of the parent's kept open.
  void settle() {
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // So that `pkill -f 'gpl run'` meets the CLI and not the guard that cleans up after it.
    set_process_title("gpl-guard");
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
    stdio_ = Stdio{above_stdio(launch_.stdio.in), above_stdio(launch_.stdio.out),
                   above_stdio(launch_.stdio.err)};
    std::vector<int> kept = launch_.locks;
    kept.insert(kept.end(), {link_.get(), stdio_.in, stdio_.out, stdio_.err});
    close_descriptors_but(std::move(kept));
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; ++fd) {
      if (null < 0 || ::dup2(null, fd) < 0) ::close(fd);
    }
    if (null > 2) ::close(null);
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    children_.reset(::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
  }

  void start() {
    GuardReport report;
    Program program = find_program(launch_.command);
    report.failure = program.failure;
    if (report.failure.errno_value == 0) {
      first_ = spawn(program.path, launch_.command, stdio_, report.failure);
    }
    for (const int fd : {stdio_.in, stdio_.out, stdio_.err}) ::close(fd);
    report.kind = first_ > 0 ? GuardReport::Kind::started : GuardReport::Kind::failed_to_start;
    report.pid = first_;
    tell(report);
    if (first_ < 0) ::_exit(0);
    ::chdir("/");  // not to keep a file system busy
  }

  void wait() {
    pollfd events[] = {{link_.get(), POLLIN, 0}, {children_.get(), POLLIN, 0}};
    if (parent_gone_) events[0].fd = -1;
    int timeout = -1;
    if (deadline_ms_) {
      timeout = static_cast<int>(std::clamp<std::int64_t>(*deadline_ms_ - now_ms(), 0, 60'000));
    }
    (void)::poll(events, 2, timeout);
    signalfd_siginfo info;
    while (::read(children_.get(), &info, sizeof info) > 0) {
    }
  }

  void take_orders() {
    while (!parent_gone_) {
      GuardOrder order;
      const ssize_t got = ::recv(link_.get(), &order, sizeof order, MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (got != sizeof order) {
        parent_gone_ = true;
        link_.reset();
        terminate(orphan_grace_ms);
        return;
      }
      switch (order.kind) {
        case GuardOrder::Kind::signal:
          if (!first_ended_) ::kill(-first_, order.signal_number);
          break;
        case GuardOrder::Kind::end:
          terminate(order.grace_ms);
          break;
      }
    }
  }

  void reap() {
    int status = 0;
    rusage usage;
    pid_t pid = 0;
    while ((pid = ::wait4(-1, &status, WNOHANG, &usage)) > 0) {
      if (pid == first_) on_first_process_ended(status, usage);
    }
    // No child, no descendant: an orphan would have been handed to us.
    if (pid < 0 && errno == ECHILD) leave();
  }

  void on_first_process_ended(int status, const rusage& usage) {
    first_ended_ = true;
    GuardReport report;
    report.kind = GuardReport::Kind::first_process_ended;
    const auto micros = [](const timeval& time) {
      return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
    };
    report.ended =
        FirstProcessEnded{status, micros(usage.ru_utime), micros(usage.ru_stime), usage.ru_maxrss};
    tell(report);
    if (phase_ == Phase::running) enter(Phase::lingering, linger_ms);
  }

  void terminate(std::int64_t grace_ms) {
    if (phase_ == Phase::killing) return;
    if (phase_ == Phase::terminating) {
      deadline_ms_ = std::min(*deadline_ms_, now_ms() + grace_ms);
      return;
    }
    if (grace_ms > 0) signal_attempt(descendants(false), SIGTERM);
    enter(Phase::terminating, grace_ms);
  }

  void step() {
    if (!deadline_ms_ || now_ms() < *deadline_ms_) return;
    switch (phase_) {
      case Phase::running:
        break;
      case Phase::lingering:
        terminate(leftover_grace_ms);
        break;
      case Phase::terminating:
        killing_since_ms_ = now_ms();
        ::setpriority(PRIO_PROCESS, 0, -20);  // for root: to outrun what multiplies
        enter(Phase::killing, 0);
        break;
      case Phase::killing:
        kill_all();
        break;
    }
  }

  void kill_all() {
    std::vector<pid_t> left = descendants(false);
    // A process that forks and ends all the time is caught in one of many quick looks.
    for (int look = 0; look < quick_looks && !left.empty(); ++look) {
      signal_attempt(left, SIGKILL);
      reap();
      left = descendants(false);
    }
    if (left.empty()) signal_attempt(left, SIGKILL);
    const std::int64_t taken_ms = now_ms() - killing_since_ms_;
    // Told once; and what is left is killed all the same, for as long as it takes.
    if (taken_ms > kill_patience_ms && !parent_gone_) tell_survivors(left.size());
    deadline_ms_ = now_ms() + (taken_ms < kill_eagerly_ms ? kill_again_ms : kill_later_ms);
  }

  // Where /proc is not mounted nothing can be seen, and the command's group is what we know.
  void signal_attempt(const std::vector<pid_t>& seen, int number) const {
    signal_all(seen, number);
    if (seen.empty() && !can_see_processes()) ::kill(-first_, number);
  }

  void tell_survivors(std::size_t count) {
    GuardReport report;
    report.kind = GuardReport::Kind::all_gone;
    report.survivors = static_cast<std::int32_t>(count);
    tell(report);
    parent_gone_ = true;
    link_.reset();
  }

  void enter(Phase phase, std::int64_t deadline_in_ms) {
    phase_ = phase;
    deadline_ms_ = now_ms() + deadline_in_ms;
  }

  [[noreturn]] void leave() {
    GuardReport report;
    report.kind = GuardReport::Kind::all_gone;
    tell(report);
    ::_exit(0);
  }

  void tell(const GuardReport& report) {
    if (!parent_gone_) (void)::send(link_.get(), &report, sizeof report, MSG_NOSIGNAL);
  }

  const Launch& launch_;
  posix::Fd link_;
  posix::Fd children_;
  Stdio stdio_;
  pid_t first_ = -1;
  bool first_ended_ = false;
  bool parent_gone_ = false;
  Phase phase_ = Phase::running;
  std::optional<std::int64_t> deadline_ms_;
  std::int64_t killing_since_ms_ = 0;
};

}  // namespace

void run_guard(const Launch& launch, posix::Fd link) {
  GuardProcess(launch, std::move(link)).run();
}

}  // namespace gpl::host
