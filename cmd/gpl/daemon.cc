#include "daemon.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"
#include "output.h"

namespace gpl::cmd {
namespace {

constexpr int exit_failed = 1;

/// What the service says first: its exit code, and then words.
std::string read_all(int fd) {
  std::string all;
  char part[512];
  ssize_t got = 0;
  while ((got = ::read(fd, part, sizeof part)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) all.append(part, static_cast<std::size_t>(got));
  return all;
}

Status use_log(const std::string& path) {
  const posix::Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const posix::Fd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!null.valid() || !log.valid()) return posix::io_error("cannot open " + path);
  if (::dup2(null.get(), 0) < 0 || ::dup2(log.get(), 1) < 0 || ::dup2(log.get(), 2) < 0)
    return posix::io_error("cannot redirect");
  return success();
}

int code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace

void Announcement::serving(const std::string& lines) {
  if (pipe_ < 0) return complain(lines);
  (void)posix::write_all(pipe_, std::string(1, '\0') + lines);
  ::close(pipe_);
  pipe_ = -1;
}

void Announcement::failed(const std::string& words, int exit_code) {
  if (pipe_ < 0) return complain(words);
  (void)posix::write_all(pipe_, std::string(1, static_cast<char>(exit_code)) + words);
  ::close(pipe_);
  pipe_ = -1;
}

int detach(const std::string& log_path, const std::function<int(Announcement&)>& serve) {
  Result<posix::Pipe> pipe = posix::make_pipe();
  if (!pipe.ok()) {
    complain(pipe.error().message);
    return exit_failed;
  }
  const pid_t child = ::fork();
  if (child < 0) {
    complain(posix::io_error("cannot start a process").message);
    return exit_failed;
  }
  if (child == 0) {
    pipe.value().read.reset();
    Announcement announcement(pipe.value().write.release());
    ::setsid();
    if (Status used = use_log(log_path); !used.ok()) {
      announcement.failed(used.error().message, exit_failed);
      return exit_failed;
    }
    return serve(announcement);
  }
  pipe.value().write.reset();
  const std::string told = read_all(pipe.value().read.get());
  if (told.empty()) {
    complain("it ended before it served anybody; see " + log_path);
    return exit_failed;
  }
  complain(told.substr(1));
  return told.front();
}

int serve_as_init(const std::function<int()>& serve) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return serve();
  }
  if (child < 0) {
    complain(posix::io_error("cannot start a process").message);
    return exit_failed;
  }
  for (;;) {
    int number = 0;
    if (::sigwait(&all, &number) != 0) continue;
    if (number != SIGCHLD) {
      ::kill(child, number);
      continue;
    }
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0)
      if (ended == child) return code_of(status);
  }
}

}  // namespace gpl::cmd
