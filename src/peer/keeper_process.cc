#include "keeper_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"

namespace gpl::peer {
namespace {

std::optional<rlimit> open_files_before;  ///< of this process

/// After fork, with other threads in the parent: only what signal-safety(7) lists.
[[noreturn]] void become_keeper(const char* const* argv, int in, int log) {
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGQUIT})
    ::signal(number, SIG_DFL);
  if (open_files_before) ::setrlimit(RLIMIT_NOFILE, &*open_files_before);
  if (::dup2(in, 0) < 0 || ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0) ::_exit(126);
  ::execv(argv[0], const_cast<char* const*>(argv));  // as execv(3) has it: they are not changed
  ::_exit(127);
}

}  // namespace

void raise_open_files() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) open_files_before = limit;
}

Status start_keeper(const std::string& program, const std::string& state_folder) {
  const posix::Fd in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string path = state_folder + "/keeper.log";
  const posix::Fd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!in.valid() || !log.valid()) return posix::io_error("cannot start the keeper: " + path);
  const char* const argv[] = {program.c_str(), "keeper", state_folder.c_str(), nullptr};
  const pid_t child = ::fork();
  if (child == 0) become_keeper(argv, in.get(), log.get());
  if (child < 0) return posix::io_error("cannot start the keeper");
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return success();
}

}  // namespace gpl::peer
