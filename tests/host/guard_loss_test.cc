// What is left of an attempt when its guard, its runner or the caller is gone before it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "attempt.h"
#include "gpl/host/guard_runner.h"
#include "marked_processes.h"

using namespace gpl::host;
using gpl::posix::Fd;

TEST_CASE("a killed guard is told, and nothing of the attempt is left") {
  Attempt attempt(shell("trap '' TERM; sleep 1000 & echo ready; wait"));
  REQUIRE(attempt.wait_for_output("ready"));
  REQUIRE(::kill(attempt.guard(), SIGKILL) == 0);
  CHECK(attempt.run_to_end() == "started, guard lost");
  CHECK(attempt.processes().empty());
  CHECK(no_child_is_left());
}

TEST_CASE("a killed guard's daemons are ended") {
  Attempt attempt(shell(daemonise + "echo ready; sleep 1000"));
  REQUIRE(attempt.wait_for_output("ready"));
  REQUIRE(::kill(attempt.guard(), SIGKILL) == 0);
  CHECK(attempt.run_to_end() == "started, guard lost");
  CHECK(attempt.processes().empty());
  CHECK(no_child_is_left());
}

TEST_CASE("a killed guard's process that respawns itself for ever is ended") {
  for (const std::string role : {"respawn", "respawn in new sessions"}) {
    CAPTURE(role);
    Attempt attempt(this_program(), {}, role);
    const pid_t guard = attempt.guard();
    REQUIRE(attempt.wait_for_output("ready"));
    REQUIRE(::kill(guard, SIGKILL) == 0);
    CHECK(attempt.wait_for<GuardLost>() != nullptr);
    CHECK(attempt.processes().empty());
    CHECK(no_child_is_left());
  }
}

TEST_CASE("a process that respawns while the caller's many children are looked through is ended") {
  std::vector<pid_t> before;
  for (int i = 0; i < 300; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(120);
      while (true) ::pause();
    }
    before.push_back(pid);
  }
  for (int round = 0; round < 10; ++round) {  // one that slips away does so now and then
    Attempt attempt(this_program(), {}, "respawn in new sessions");
    const pid_t guard = attempt.guard();
    REQUIRE(attempt.wait_for_output("ready"));
    REQUIRE(::kill(guard, SIGKILL) == 0);
    CHECK(attempt.wait_for<GuardLost>() != nullptr);
    CHECK(children_of_this().size() == before.size());
    CHECK(attempt.processes().empty());
  }
  for (const pid_t pid : before) {
    CHECK(is_alive(pid));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

TEST_CASE("a guard that is killed after the command has ended is told too") {
  Attempt attempt(shell(daemonise + "sleep 0.05; exit 4"));
  const pid_t guard = attempt.guard();
  REQUIRE(attempt.wait_for<FirstProcessEnded>() != nullptr);
  REQUIRE(::kill(guard, SIGKILL) == 0);
  CHECK(attempt.run_to_end() == "started, ended 4, guard lost");
  CHECK(attempt.processes().empty());
}

TEST_CASE("children that the caller had before outlive a killed guard") {
  const pid_t before = ::fork();
  if (before == 0) {
    while (true) ::pause();
  }
  {
    Attempt attempt(shell(daemonise + "echo ready; sleep 1000"));
    REQUIRE(attempt.wait_for_output("ready"));
    REQUIRE(::kill(attempt.guard(), SIGKILL) == 0);
    CHECK(attempt.run_to_end() == "started, guard lost");
    CHECK(attempt.processes().empty());
    CHECK(is_alive(before));
  }
  ::kill(before, SIGKILL);
  ::waitpid(before, nullptr, 0);
}

TEST_CASE("destroying the runner ends everything, the guard too") {
  Attempt attempt(shell(daemonise + "echo ready; sleep 1000"));
  REQUIRE(attempt.wait_for_output("ready"));
  const pid_t guard = attempt.guard();
  attempt.destroy_runner();
  CHECK(eventually([&] { return !is_alive(guard); }));
  CHECK(attempt.processes().empty());
}

TEST_CASE("a caller that is killed leaves nothing running") {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // to be handed the guard
  for (const std::string role : {"", "respawn in new sessions"}) {
    CAPTURE(role);
    const std::string mark = unique_mark();
    gpl::posix::Pipe pipe = std::move(gpl::posix::make_pipe()).value();
    const std::vector<std::string> argv =
        role.empty() ? shell("trap '' TERM; " + daemonise + "echo ready; sleep 1000; sleep 1000")
                     : this_program();
    const pid_t caller = ::fork();
    if (caller == 0) {
      const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
      const Command command{argv, {"PATH=/usr/bin:/bin", mark, "GPL_TEST_ROLE=" + role}, "/"};
      GuardRunner runner;
      (void)runner.start({command, {null.get(), pipe.write.get(), null.get()}, {}});
      while (true) ::pause();
    }
    pipe.write.reset();
    std::string output;
    char byte = 0;
    while (output.find("ready") == std::string::npos && ::read(pipe.read.get(), &byte, 1) == 1) {
      output += byte;
    }
    CHECK(output.find("ready") != std::string::npos);
    ::kill(caller, SIGKILL);
    ::waitpid(caller, nullptr, 0);
    CHECK(eventually(no_guard_is_left));
    CHECK(processes_with(mark).empty());
    CHECK(no_child_is_left());
  }
}
