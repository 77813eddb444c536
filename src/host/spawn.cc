#include "gpl/host/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include "gpl/posix/fd.h"

namespace gpl::host {
namespace {

// The kernel's signal numbers, with the two that glibc keeps for itself.
constexpr int last_signal = 64;

std::string_view path_of(const Command& command) {
  for (const std::string& entry : command.environment) {
    if (entry.starts_with("PATH=")) return std::string_view(entry).substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";  // what a shell without PATH looks through
}

std::string join(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

std::string absolute_in(const Command& command, std::string_view path) {
  return path.starts_with('/') ? std::string(path) : join(command.working_folder, path);
}

// Whether exec can work on `path`; 0, or the errno value that says why not.
int executable_error(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EISDIR;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

SpawnFailure failure_of(int errno_value) {
  const bool absent = errno_value == ENOENT || errno_value == ENOTDIR;
  return SpawnFailure{errno_value, absent ? 127 : 126};
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// Everything that the child needs, made before vfork: between vfork and exec the child may only
// make system calls, as it runs on its parent's memory.
struct Prepared {
  const char* program;
  char* const* argv;
  char* const* shell_argv;  // ["/bin/sh", program, argv[1]...]
  char* const* environment;
  const char* working_folder;
  Stdio stdio;
  pid_t parent;
};

bool ignored(int signal_number) {
  struct sigaction action;
  return ::sigaction(signal_number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// exec resets handlers but keeps ignored signals ignored: a job would inherit our SIGPIPE.
void reset_signals() {
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  for (int number = 1; number <= last_signal; ++number) {
    if (ignored(number)) ::sigaction(number, &by_default, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The three can overlap each other and 0..2, so they are first moved out of the way.
bool place_stdio(const Stdio& stdio) {
  const int in = ::fcntl(stdio.in, F_DUPFD_CLOEXEC, 3);
  const int out = ::fcntl(stdio.out, F_DUPFD_CLOEXEC, 3);
  const int err = ::fcntl(stdio.err, F_DUPFD_CLOEXEC, 3);
  return ::dup2(in, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(err, 2) == 2;
}

// Runs in the child. Returns only on failure, with errno set.
void become(const Prepared& prepared) {
  ::setsid();
  // If whoever watches over this process dies, so does it; the parent may be gone already.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.parent) ::_exit(127);
  if (!place_stdio(prepared.stdio)) return;
  if (::chdir(prepared.working_folder) != 0) return;
  reset_signals();
  ::execve(prepared.program, prepared.argv, prepared.environment);
  if (errno == ENOEXEC) ::execve("/bin/sh", prepared.shell_argv, prepared.environment);
}

[[gnu::noinline]] pid_t vfork_and_become(const Prepared& prepared, volatile int* child_errno) {
  const pid_t pid = ::vfork();
  if (pid == 0) {
    become(prepared);
    *child_errno = errno;
    ::_exit(127);
  }
  return pid;
}

}  // namespace

Program find_program(const Command& command) {
  const std::string& name = command.argv.front();
  if (name.find('/') != std::string::npos) {
    // Left as it is written: the child runs it from its working folder, and a script sees its name.
    const int error = executable_error(absolute_in(command, name));
    return Program{name, error == 0 ? SpawnFailure{} : failure_of(error)};
  }
  int worst = ENOENT;
  std::string_view rest = path_of(command);
  for (bool more = true; more && !name.empty();) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    more = colon != std::string_view::npos;
    if (more) rest.remove_prefix(colon + 1);
    std::string path = join(absolute_in(command, folder.empty() ? "." : folder), name);
    const int error = executable_error(path);
    if (error == 0) return Program{std::move(path), SpawnFailure{}};
    if (error == EACCES) worst = EACCES;
  }
  return Program{"", failure_of(worst)};
}

pid_t spawn(const std::string& program, const Command& command, const Stdio& stdio,
            SpawnFailure& failure) {
  const std::vector<char*> argv = pointers(command.argv);
  const std::vector<char*> environment = pointers(command.environment);
  std::vector<std::string> shell_words = {"/bin/sh", program};
  shell_words.insert(shell_words.end(), command.argv.begin() + 1, command.argv.end());
  const std::vector<char*> shell_argv = pointers(shell_words);
  const Prepared prepared{program.c_str(),
                          argv.data(),
                          shell_argv.data(),
                          environment.data(),
                          command.working_folder.c_str(),
                          stdio,
                          ::getpid()};
  volatile int child_errno = 0;
  const pid_t pid = vfork_and_become(prepared, &child_errno);
  if (pid < 0) {
    failure = SpawnFailure{errno, 125};
    return -1;
  }
  if (child_errno == 0) return pid;
  // The program was found, so ENOENT means the interpreter of its #! line or its loader: 126.
  failure = SpawnFailure{child_errno, 126};
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return -1;
}

}  // namespace gpl::host
