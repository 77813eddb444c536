#pragma once

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>

/// Runs `body` in a forked process and returns what it returned (0 to 99); 100 when it threw, 128+N
/// when signal N ended it. For what would change the test program itself: limits, ignored signals,
/// closed descriptors, another user. No CHECK inside: its words would be lost.
template <class Body>
int forked(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    int result = 100;
    try {
      result = body();
    } catch (const std::exception&) {
    }
    ::_exit(result);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr unsigned ordinary_user = 65534;

/// Drops root's rights for good; a test program that has none stays who it is.
inline bool become_ordinary_user() {
  if (::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setgid(ordinary_user) == 0 &&
         ::setuid(ordinary_user) == 0;
}
