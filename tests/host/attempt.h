#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/host/guard_runner.h"
#include "gpl/posix/fd.h"
#include "marked_processes.h"

/// The test program runs itself as a job in one of these roles (the last test case of
/// guard_runner_test.cc).
inline std::vector<std::string> this_program() {
  char path[PATH_MAX] = {};
  REQUIRE(::readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  return {path, "--no-skip", "--test-case=a job in the role that GPL_TEST_ROLE names"};
}

inline bool no_child_is_left() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

inline bool is_guard(pid_t pid) { return proc_file(pid, "comm") == "gpl-guard\n"; }

/// No guard is a child of this program, after zombies have been waited for.
inline bool no_guard_is_left() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  const std::vector<pid_t> children = children_of_this();
  return std::none_of(children.begin(), children.end(), is_guard);
}

/// One attempt with a mark in its environment, its output in a pipe, and the events it gave.
class Attempt {
 public:
  explicit Attempt(std::vector<std::string> argv, std::vector<int> locks = {},
                   const std::string& role = "") {
    gpl::posix::Pipe pipe = std::move(gpl::posix::make_pipe()).value();
    const gpl::posix::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    gpl::host::Launch launch;
    launch.command = gpl::host::Command{std::move(argv), {"PATH=/usr/bin:/bin", mark_}, "/"};
    if (!role.empty()) launch.command.environment.push_back("GPL_TEST_ROLE=" + role);
    launch.stdio = gpl::host::Stdio{null.get(), pipe.write.get(), pipe.write.get()};
    launch.locks = std::move(locks);
    REQUIRE(runner_->start(launch).ok());
    output_ = std::move(pipe.read);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() {
    runner_.reset();
    CHECK(eventually(no_guard_is_left));
    CHECK(processes_with(mark_).empty());
  }

  gpl::host::GuardRunner& runner() { return *runner_; }
  void destroy_runner() { runner_.reset(); }
  std::vector<pid_t> processes() const { return processes_with(mark_); }

  /// Takes events until one is an `Event`; nothing when that has not come in time or cannot come.
  template <class Event>
  const Event* wait_for(std::chrono::seconds limit = std::chrono::seconds(30)) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (true) {
      for (const gpl::host::RunnerEvent& event : events_) {
        if (const Event* found = std::get_if<Event>(&event)) return found;
      }
      if (over() || std::chrono::steady_clock::now() > deadline) return nullptr;
      take(200);
    }
  }

  /// Waits as a loop does, by descriptor() and wait_ms(), and takes what there is.
  void take(int patience_ms) {
    pollfd readable{runner_->descriptor(), POLLIN, 0};
    const int wait = runner_->wait_ms();
    (void)::poll(&readable, 1, wait < 0 ? patience_ms : std::min(wait, patience_ms));
    for (const gpl::host::RunnerEvent& event : runner_->take_events()) {
      CHECK_FALSE(over());
      events_.push_back(event);
    }
  }

  bool over() const {
    return !events_.empty() && (std::holds_alternative<gpl::host::SpawnFailed>(events_.back()) ||
                                std::holds_alternative<gpl::host::AllGone>(events_.back()) ||
                                std::holds_alternative<gpl::host::GuardLost>(events_.back()));
  }

  pid_t guard() {
    REQUIRE(wait_for<gpl::host::Started>() != nullptr);
    for (const pid_t pid : children_of_this()) {
      if (is_guard(pid)) return pid;
    }
    FAIL("the guard is not a child of the test program");
    return -1;
  }

  /// Reads what the job writes until `text` has come.
  bool wait_for_output(const std::string& text) {
    return eventually([&] {
      pollfd readable{output_.get(), POLLIN, 0};
      char chunk[256];
      if (::poll(&readable, 1, 0) == 1) {
        const ssize_t got = ::read(output_.get(), chunk, sizeof chunk);
        if (got > 0) text_.append(chunk, static_cast<std::size_t>(got));
      }
      return text_.find(text) != std::string::npos;
    });
  }

  /// All that the job has written. Requires that nobody holds the pipe any more.
  std::string output_to_end() {
    char chunk[256];
    for (ssize_t got = 0; (got = ::read(output_.get(), chunk, sizeof chunk)) > 0;) {
      text_.append(chunk, static_cast<std::size_t>(got));
    }
    return text_;
  }

  /// "started, ended 3, gone": the events so far.
  std::string summary() const {
    std::string words;
    for (const gpl::host::RunnerEvent& event : events_) {
      if (!words.empty()) words += ", ";
      if (std::holds_alternative<gpl::host::Started>(event)) words += "started";
      if (std::holds_alternative<gpl::host::SpawnFailed>(event)) words += "failed";
      if (const auto* ended = std::get_if<gpl::host::FirstProcessEnded>(&event)) {
        const int status = ended->wait_status;
        words += WIFEXITED(status) ? "ended " + std::to_string(WEXITSTATUS(status))
                                   : "killed " + std::to_string(WTERMSIG(status));
      }
      if (const auto* gone = std::get_if<gpl::host::AllGone>(&event)) {
        words += gone->survivors == 0 ? "gone" : "survivors";
      }
      if (std::holds_alternative<gpl::host::GuardLost>(event)) words += "guard lost";
    }
    return words;
  }

  std::string run_to_end() {
    while (!over() && wait_for<gpl::host::GuardLost>() != nullptr) {
    }
    return summary();
  }

 private:
  std::string mark_ = unique_mark();
  std::unique_ptr<gpl::host::GuardRunner> runner_ = std::make_unique<gpl::host::GuardRunner>();
  gpl::posix::Fd output_;
  std::string text_;
  std::vector<gpl::host::RunnerEvent> events_;
};

inline std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

/// Makes a daemon in its own session, which ignores TERM and holds no pipe; goes on once it is up.
inline const std::string daemonise =
    "(setsid sh -c 'trap \"\" TERM; echo up; exec >/dev/null 2>&1; while :; do sleep 0.1; done' "
    "</dev/null &) | read up; ";
