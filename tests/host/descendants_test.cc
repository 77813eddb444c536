#include "gpl/host/descendants.h"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <vector>

#include "../forked.h"
#include "gpl/posix/fd.h"
#include "marked_processes.h"

using gpl::host::descendants;
using gpl::host::signal_all;
using gpl::posix::Pipe;

namespace {

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

/// Forks a process that does `body` and then waits for ever. Returns when `body` is done.
template <class Body>
pid_t fork_waiting(Body body) {
  Pipe pipe = std::move(gpl::posix::make_pipe()).value();
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    (void)!::write(pipe.write.get(), "x", 1);
    while (true) ::pause();
  }
  char byte;
  (void)!::read(pipe.read.get(), &byte, 1);
  return pid;
}

void nothing() {}

void end(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

/// A grandchild's number is not known to the test: the one descendant that is not `child`.
pid_t other_than(pid_t child, const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    if (pid != child) return pid;
  }
  return -1;
}

}  // namespace

TEST_CASE("a process without children has no descendants") {
  CHECK(descendants(false).empty());
  CHECK(descendants(true).empty());
}

TEST_CASE("children and grandchildren are found") {
  CHECK(forked([] {
          ::prctl(PR_SET_CHILD_SUBREAPER, 1);
          const pid_t child = fork_waiting([] { fork_waiting(nothing); });
          const std::vector<pid_t> found = descendants(false);
          const pid_t grandchild = other_than(child, found);
          if (found.size() != 2 || !contains(found, child)) return 1;
          if (parent_of(grandchild) != child) return 2;
          signal_all(found, SIGKILL);
          while (::wait(nullptr) > 0) {
          }
          return descendants(false).empty() ? 0 : 3;
        }) == 0);
}

TEST_CASE("a zombie is left out") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info;
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(descendants(false).empty());
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a process whose first thread has ended and whose others run is found") {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] {
      while (true) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);  // of this thread alone
  }
  REQUIRE(eventually([&] { return stat_field(child, 0) == "Z"; }));
  CHECK(contains(descendants(false), child));
  end(child);
}

TEST_CASE("a child that a thread other than the first has made is found") {
  pid_t grandchild = -1;
  std::thread([&] { grandchild = fork_waiting(nothing); }).join();
  CHECK(contains(descendants(false), grandchild));
  end(grandchild);
}

TEST_CASE("a daemon is found by the subreaper that it was handed to") {
  CHECK(forked([] {
          ::prctl(PR_SET_CHILD_SUBREAPER, 1);
          const pid_t child = ::fork();
          if (child == 0) {
            fork_waiting([] { ::setsid(); });
            ::_exit(0);
          }
          ::waitpid(child, nullptr, 0);
          const std::vector<pid_t> found = descendants(false);
          if (found.size() != 1) return 1;
          end(found.front());
          return 0;
        }) == 0);
}

TEST_CASE("the caller's own session, with what is below it, can be left out") {
  CHECK(forked([] {
          ::prctl(PR_SET_CHILD_SUBREAPER, 1);
          // The inherited child's own child has a session of its own, and is left out with it.
          const pid_t inherited = fork_waiting([] { fork_waiting([] { ::setsid(); }); });
          const pid_t stranger = fork_waiting([] { ::setsid(); });
          const std::vector<pid_t> outside = descendants(true);
          const std::vector<pid_t> all = descendants(false);
          signal_all(all, SIGKILL);
          while (::wait(nullptr) > 0) {
          }
          if (outside != std::vector<pid_t>{stranger}) return 1;
          return all.size() == 3 && contains(all, inherited) ? 0 : 2;
        }) == 0);
}

TEST_CASE("a signal reaches the groups of the processes, and others of these groups") {
  CHECK(forked([] {
          ::prctl(PR_SET_CHILD_SUBREAPER, 1);
          const pid_t leader = fork_waiting([] {
            ::setsid();
            fork_waiting(nothing);
          });
          signal_all({leader}, SIGKILL);
          int ended = 0;
          while (::wait(nullptr) > 0) ++ended;
          return ended == 2 ? 0 : 1;
        }) == 0);
}

TEST_CASE("a signal does not reach the caller's own group but for the processes named") {
  CHECK(forked([] {
          ::setpgid(0, 0);
          const pid_t named = fork_waiting(nothing);
          const pid_t other = fork_waiting(nothing);
          signal_all({named}, SIGKILL);
          ::waitpid(named, nullptr, 0);
          const bool lives = is_alive(other);
          end(other);
          return lives ? 0 : 1;
        }) == 0);
}

TEST_CASE("each process gets the signal once") {
  CHECK(forked([] {
          static int got = 0;
          const auto count = [](int) { ++got; };
          const pid_t child = ::fork();
          if (child == 0) {
            ::setsid();
            ::signal(SIGRTMIN, count);
            ::raise(SIGSTOP);
            ::_exit(got);
          }
          int status = 0;
          ::waitpid(child, &status, WUNTRACED);
          signal_all({child}, SIGRTMIN);  // a real-time signal queues: twice would be twice
          ::kill(child, SIGCONT);
          ::waitpid(child, &status, 0);
          return WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 0 : 1;
        }) == 0);
}

TEST_CASE("signalling processes that are gone does no harm") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  signal_all({child}, SIGKILL);
  signal_all({}, SIGKILL);
}
