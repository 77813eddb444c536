#include "gpl/host/guard_runner.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "../forked.h"
#include "../temporary_folder.h"
#include "attempt.h"
#include "marked_processes.h"

using namespace gpl::host;
using gpl::posix::Fd;
using Clock = std::chrono::steady_clock;

TEST_CASE("the exit code of the command is told, then that all is gone") {
  Attempt attempt(shell("exit 3"));
  CHECK(attempt.run_to_end() == "started, ended 3, gone");
  CHECK(no_child_is_left());
}

TEST_CASE("the signal that ended the command is told") {
  Attempt attempt(shell("kill -USR2 $$"));
  CHECK(attempt.run_to_end() == "started, killed " + std::to_string(SIGUSR2) + ", gone");
}

TEST_CASE("the usage of the command is told") {
  Attempt attempt(shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));
  const FirstProcessEnded* ended = attempt.wait_for<FirstProcessEnded>();
  REQUIRE(ended != nullptr);
  CHECK(ended->user_us + ended->system_us > 0);
  CHECK(ended->max_rss_kib > 100);
}

TEST_CASE("a command that cannot start is told with its reason, and leaves no guard") {
  Attempt absent({"no-such-command"});
  const SpawnFailed* failed = absent.wait_for<SpawnFailed>();
  REQUIRE(failed != nullptr);
  CHECK(failed->failure.errno_value == ENOENT);
  CHECK(failed->failure.exit_status == 127);
  CHECK(absent.summary() == "failed");
  CHECK(no_child_is_left());

  Attempt too_long({"true", std::string(200'000, 'x')});
  failed = too_long.wait_for<SpawnFailed>();
  REQUIRE(failed != nullptr);
  CHECK(failed->failure.errno_value == E2BIG);
  CHECK(no_child_is_left());
}

TEST_CASE("an order to an attempt that could not start does not lose the reason") {
  for (int round = 0; round < 20; ++round) {
    Attempt attempt({"no-such-command"});
    attempt.runner().signal(SIGTERM);
    attempt.runner().end(0);
    CHECK(attempt.run_to_end() == "failed");
  }
}

TEST_CASE("an order that crosses the end of the attempt loses no event") {
  for (int round = 0; round < 100; ++round) {
    Attempt attempt({"true"});
    siginfo_t info = {};
    while (info.si_pid == 0) {
      attempt.runner().signal(SIGWINCH);
      REQUIRE(::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0);
    }
    CHECK(attempt.run_to_end() == "started, ended 0, gone");
  }
}

TEST_CASE("orders before the start and after the end of an attempt are harmless") {
  GuardRunner runner;
  runner.signal(SIGTERM);
  runner.end(0);

  Attempt attempt({"true"});
  CHECK(attempt.run_to_end() == "started, ended 0, gone");
  attempt.runner().signal(SIGTERM);
  attempt.runner().end(0);
  CHECK(attempt.runner().take_events().empty());
  CHECK(attempt.runner().wait_ms() == -1);
}

TEST_CASE("a signal reaches every process of the command's group") {
  Attempt attempt(
      shell("trap 'echo first' USR1; (trap 'echo child; exit' USR1; echo ready; "
            "while :; do sleep 0.01; done) & wait; wait; exit 7"));
  REQUIRE(attempt.wait_for_output("ready"));
  attempt.runner().signal(SIGUSR1);
  CHECK(attempt.wait_for_output("child"));
  CHECK(attempt.wait_for_output("first"));
  CHECK(attempt.run_to_end() == "started, ended 7, gone");
}

TEST_CASE("end lets a job that takes TERM end by itself") {
  Attempt attempt(shell("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"));
  REQUIRE(attempt.wait_for_output("ready"));
  attempt.runner().end(20'000);
  CHECK(attempt.run_to_end() == "started, ended 5, gone");
}

TEST_CASE("end kills a job that ignores TERM after the grace") {
  Attempt attempt(shell("trap '' TERM; echo ready; while :; do sleep 0.01; done"));
  REQUIRE(attempt.wait_for_output("ready"));
  const auto before = Clock::now();
  attempt.runner().end(200);
  CHECK(attempt.run_to_end() == "started, killed 9, gone");
  CHECK(Clock::now() - before >= std::chrono::milliseconds(199));
}

TEST_CASE("end without grace kills at once, without TERM") {
  Attempt attempt(shell("trap 'echo termed' TERM; echo ready; while :; do sleep 0.01; done"));
  REQUIRE(attempt.wait_for_output("ready"));
  attempt.runner().end(0);
  CHECK(attempt.run_to_end() == "started, killed 9, gone");
  CHECK(attempt.output_to_end() == "ready\n");
}

TEST_CASE("a second end shortens the grace of the first and never lengthens it") {
  Attempt attempt(shell("trap '' TERM; echo ready; while :; do sleep 0.01; done"));
  REQUIRE(attempt.wait_for_output("ready"));
  attempt.runner().end(600'000);
  attempt.runner().end(100);
  attempt.runner().end(600'000);
  CHECK(attempt.run_to_end() == "started, killed 9, gone");
}

TEST_CASE("a stopped job is ended too") {
  Attempt attempt(shell("echo ready; kill -STOP $$"));
  REQUIRE(attempt.wait_for_output("ready"));
  attempt.runner().end(100);
  CHECK(attempt.run_to_end() == "started, killed 9, gone");
}

TEST_CASE("a background process that outlives the command may finish by itself") {
  Attempt attempt(shell("(sleep 0.2; echo late) & exit 4"));
  CHECK(attempt.run_to_end() == "started, ended 4, gone");
  CHECK(attempt.output_to_end() == "late\n");
}

TEST_CASE("a background process that does not finish is ended about a second after the command") {
  Attempt attempt(shell("sleep 1000 & exit 4"));
  REQUIRE(attempt.wait_for<FirstProcessEnded>() != nullptr);
  const auto ended = Clock::now();
  CHECK(attempt.run_to_end() == "started, ended 4, gone");
  CHECK(Clock::now() - ended < std::chrono::seconds(10));
  CHECK(attempt.processes().empty());
}

TEST_CASE("a daemon that ignores TERM is ended after the command") {
  Attempt attempt(shell(daemonise + "exit 4"));
  CHECK(attempt.run_to_end() == "started, ended 4, gone");
  CHECK(attempt.processes().empty());
  CHECK(no_child_is_left());
}

TEST_CASE("a daemon is ended with its job") {
  Attempt attempt(shell(daemonise + "echo ready; sleep 1000"));
  REQUIRE(attempt.wait_for_output("ready"));
  attempt.runner().end(100);
  CHECK(attempt.run_to_end() == "started, killed 15, gone");
  CHECK(attempt.processes().empty());
}

TEST_CASE("a process that respawns itself for ever is ended") {
  for (const std::string role : {"respawn", "respawn in new sessions"}) {
    CAPTURE(role);
    Attempt attempt(this_program(), {}, role);
    REQUIRE(attempt.wait_for_output("ready"));
    attempt.runner().end(50);
    CHECK(attempt.wait_for<AllGone>() != nullptr);
    CHECK(attempt.summary().ends_with(", gone"));
    CHECK(attempt.processes().empty());
    CHECK(no_child_is_left());
  }
}

TEST_CASE("locks are held by the guard until the last process of the attempt is gone") {
  const TemporaryFolder folder;
  const std::string path = folder.write("lock", "");
  const auto is_free = [&] {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
  };
  Fd lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(lock.get(), LOCK_EX | LOCK_NB) == 0);
  Attempt attempt(shell(daemonise + "echo ready; read line"), {lock.get()});
  lock.reset();
  REQUIRE(attempt.wait_for<FirstProcessEnded>() != nullptr);
  CHECK_FALSE(is_free());
  CHECK_FALSE(attempt.processes().empty());
  CHECK(attempt.run_to_end() == "started, ended 1, gone");
  CHECK(is_free());
}

TEST_CASE("the guard keeps none of the caller's descriptors but the locks") {
  const TemporaryFolder folder;
  const Fd extra(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Fd lock(::open(folder.write("lock", "").c_str(), O_RDONLY | O_CLOEXEC));
  Attempt attempt({"sleep", "1000"}, {lock.get()});
  const pid_t guard = attempt.guard();
  std::vector<std::string> open;
  REQUIRE(eventually([&] {  // it closes the job's own right after the start
    open.clear();
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(guard) + "/fd")) {
      std::string target = std::filesystem::read_symlink(entry.path()).string();
      open.push_back(target.substr(0, target.find(":[")));
    }
    return open.size() == 6;
  }));
  std::sort(open.begin(), open.end());
  CHECK(open == std::vector<std::string>{"/dev/null", "/dev/null", "/dev/null", folder / "lock",
                                         "anon_inode", "socket"});
}

TEST_CASE("the guard is in a session of its own and goes by a name of its own") {
  Attempt attempt({"sleep", "1000"});
  const pid_t guard = attempt.guard();
  CHECK(stat_field(guard, 3) == std::to_string(guard));
  CHECK(proc_file(guard, "comm") == "gpl-guard\n");
  CHECK(proc_file(guard, "cmdline").c_str() == std::string("gpl-guard"));
}

TEST_CASE("signals to the guard from a terminal or a person do not end the attempt") {
  Attempt attempt(shell("echo ready; read line; sleep 0.1; exit 6"));
  const pid_t guard = attempt.guard();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1}) {
    REQUIRE(::kill(guard, number) == 0);
  }
  CHECK(attempt.run_to_end() == "started, ended 6, gone");
}

TEST_CASE("a caller that ignores SIGCHLD gets every event") {
  CHECK(forked([] {
          ::signal(SIGCHLD, SIG_IGN);
          Attempt attempt(shell("exit 3"));
          return attempt.run_to_end() == "started, ended 3, gone" ? 0 : 1;
        }) == 0);
}

TEST_CASE("200 attempts one after another leave no process") {
  for (int round = 0; round < 200; ++round) {
    Attempt attempt({"true"});
    const std::string events = attempt.run_to_end();
    CHECK(events == "started, ended 0, gone");
    CHECK(no_child_is_left());
  }
}

TEST_CASE("a job in the role that GPL_TEST_ROLE names" * doctest::skip()) {
  const char* role = std::getenv("GPL_TEST_ROLE");
  if (role == nullptr) return;
  const bool new_sessions = std::string(role) == "respawn in new sessions";
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  ::signal(SIGTERM, SIG_IGN);
  (void)!::write(1, "ready", 5);
  while (Clock::now() < deadline) {
    if (::fork() > 0) ::_exit(0);
    if (new_sessions) ::setsid();
  }
  ::_exit(0);
}
