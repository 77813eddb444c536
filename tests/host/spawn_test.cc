#include "gpl/host/spawn.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "../forked.h"
#include "../temporary_folder.h"
#include "gpl/posix/fd.h"

using gpl::host::Command;
using gpl::host::find_program;
using gpl::host::Program;
using gpl::host::spawn;
using gpl::host::SpawnFailure;
using gpl::host::Stdio;
using gpl::posix::Fd;

namespace {

const std::string system_path = "PATH=/usr/bin:/bin";

Command command(std::vector<std::string> argv, std::vector<std::string> environment = {system_path},
                std::string working_folder = "/") {
  return Command{std::move(argv), std::move(environment), std::move(working_folder)};
}

std::string read_all(int fd) {
  std::string bytes;
  char chunk[4096];
  for (ssize_t got = 0; (got = ::read(fd, chunk, sizeof chunk)) > 0;) {
    bytes.append(chunk, static_cast<std::size_t>(got));
  }
  return bytes;
}

struct Ran {
  SpawnFailure failure;
  std::string output;  // stdout and stderr
  int exit_code = -1;
};

Ran run(const Command& what) {
  Ran ran;
  const Program program = find_program(what);
  ran.failure = program.failure;
  if (ran.failure.errno_value != 0) return ran;
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto pipe = gpl::posix::make_pipe();
  if (!pipe.ok()) return ran;
  Fd write = std::move(pipe.value().write);
  const pid_t pid = spawn(program.path, what, {null.get(), write.get(), write.get()}, ran.failure);
  write.reset();
  if (pid < 0) return ran;
  ran.output = read_all(pipe.value().read.get());
  int status = 0;
  if (::waitpid(pid, &status, 0) == pid && WIFEXITED(status)) ran.exit_code = WEXITSTATUS(status);
  return ran;
}

void check_failure(const SpawnFailure& failure, int errno_value, int exit_status) {
  CHECK(failure.errno_value == errno_value);
  CHECK(failure.exit_status == exit_status);
}

/// A script that prints `words`.
std::string script(const std::string& words) { return "#!/bin/sh\necho " + words + "\n"; }

}  // namespace

TEST_CASE("a name without a slash is looked up on the command's own PATH") {
  const TemporaryFolder folder;
  folder.write("bin/tool", script("mine"), 0755);
  const Command what = command({"tool"}, {"PATH=" + (folder / "bin") + ":/usr/bin:/bin"});
  CHECK(find_program(what).path == folder / "bin/tool");
  CHECK(run(what).output == "mine\n");
  check_failure(find_program(command({"tool"})).failure, ENOENT, 127);
}

TEST_CASE("the first folder of PATH that has the program counts") {
  const TemporaryFolder folder;
  folder.write("a/tool", script("a"), 0755);
  folder.write("b/tool", script("b"), 0755);
  const std::string path =
      "PATH=" + (folder / "none") + ":" + (folder / "b") + ":" + (folder / "a");
  CHECK(find_program(command({"tool"}, {path})).path == folder / "b/tool");
}

TEST_CASE("the first of two PATH variables counts") {
  const TemporaryFolder folder;
  folder.write("a/tool", script("a"), 0755);
  CHECK(find_program(command({"tool"}, {"PATH=" + (folder / "a"), "PATH=/usr/bin"})).path ==
        folder / "a/tool");
}

TEST_CASE("a file that is not executable is passed over for a later one that is") {
  const TemporaryFolder folder;
  folder.write("a/tool", script("a"), 0644);
  folder.write("b/tool", script("b"), 0755);
  const std::string path = "PATH=" + (folder / "a") + ":" + (folder / "b");
  CHECK(find_program(command({"tool"}, {path})).path == folder / "b/tool");
}

TEST_CASE("a folder of the program's name is passed over") {
  const TemporaryFolder folder;
  folder.write("a/tool/file", "");
  folder.write("b/tool", script("b"), 0755);
  const std::string a = "PATH=" + (folder / "a");
  CHECK(find_program(command({"tool"}, {a + ":" + (folder / "b")})).path == folder / "b/tool");
  check_failure(find_program(command({"tool"}, {a})).failure, ENOENT, 127);
}

TEST_CASE("empty and relative elements of PATH mean the working folder, not the caller's") {
  const TemporaryFolder folder;
  folder.write("tool", script("here"), 0755);
  folder.write("sub/deep", script("sub"), 0755);
  for (const std::string path :
       {"PATH=", "PATH=:/usr/bin", "PATH=/usr/bin:", "PATH=/a::/b", "PATH=.", "PATH=/usr/bin:."}) {
    CAPTURE(path);
    CHECK(run(command({"tool"}, {path}, folder.path())).output == "here\n");
  }
  CHECK(run(command({"deep"}, {"PATH=/bin:sub"}, folder.path())).output == "sub\n");
  check_failure(find_program(command({"deep"}, {"PATH=sub"}, "/")).failure, ENOENT, 127);
}

TEST_CASE("without PATH the system's folders are looked through") {
  CHECK(run(command({"true"}, {})).exit_code == 0);
}

TEST_CASE("a name with a slash is taken as it is, relative to the working folder") {
  const TemporaryFolder folder;
  folder.write("sub/tool", script("sub"), 0755);
  const Command what = command({"sub/tool"}, {"PATH=/nowhere"}, folder.path());
  CHECK(run(what).output == "sub\n");
  check_failure(find_program(command({"./absent"}, {}, folder.path())).failure, ENOENT, 127);
}

TEST_CASE("what is not there is 127") {
  const TemporaryFolder folder;
  folder.write("file", "");
  check_failure(run(command({"no-such-command"})).failure, ENOENT, 127);
  check_failure(run(command({""})).failure, ENOENT, 127);
  check_failure(run(command({folder / "absent"})).failure, ENOENT, 127);
  check_failure(run(command({folder / "file/below"})).failure, ENOTDIR, 127);
}

TEST_CASE("what is there and cannot be executed is 126") {
  const TemporaryFolder folder;
  folder.write("bin/tool", script("never"), 0644);
  check_failure(run(command({folder / "bin/tool"})).failure, EACCES, 126);
  check_failure(run(command({"tool"}, {"PATH=" + (folder / "bin") + ":/bin"})).failure, EACCES,
                126);
  check_failure(run(command({folder.path()})).failure, EISDIR, 126);
  check_failure(run(command({"/dev/null"})).failure, EISDIR, 126);
}

TEST_CASE("an interpreter that does not exist is 126") {
  const TemporaryFolder folder;
  folder.write("tool", "#!/no/such/interpreter\n", 0755);
  check_failure(run(command({folder / "tool"})).failure, ENOENT, 126);
}

TEST_CASE("an interpreter that cannot be executed is 126") {
  const TemporaryFolder folder;
  folder.write("tool", "#!" + folder.write("interpreter", "x", 0644) + "\n", 0755);
  check_failure(run(command({folder / "tool"})).failure, EACCES, 126);
}

TEST_CASE("words that the kernel finds too long are 126") {
  check_failure(run(command({"true", std::string(200'000, 'x')})).failure, E2BIG, 126);
}

TEST_CASE("a script without a #! line is run by sh, with its arguments") {
  const TemporaryFolder folder;
  folder.write("tool", "echo \"$0|$1|$2|$#\"\n", 0755);
  folder.write("empty", "", 0755);
  CHECK(run(command({folder / "tool", "a b", ""})).output == (folder / "tool") + "|a b||2\n");
  CHECK(run(command({"tool", "x"}, {"PATH=" + folder.path()})).output ==
        (folder / "tool") + "|x||1\n");
  CHECK(run(command({folder / "empty"})).exit_code == 0);
}

TEST_CASE("words arrive byte for byte") {
  const std::vector<std::string> words = {"", " ", "\xff\xfe", "a\nb", "*", "$HOME", "-n", "\x01"};
  std::vector<std::string> argv = {"/bin/sh", "-c", "cat /proc/$$/cmdline; :"};
  argv.insert(argv.end(), words.begin(), words.end());
  std::string expected;
  for (const std::string& word : argv) expected += word + '\0';
  CHECK(run(command(argv)).output == expected);
}

TEST_CASE("argv[0] is the word that was given and not the path that was found") {
  CHECK(run(command({"cat", "/proc/self/cmdline"})).output ==
        std::string("cat\0/proc/self/cmdline\0", 23));
}

TEST_CASE("the environment arrives byte for byte, in its order") {
  const std::vector<std::string> environment = {"Z=", "A=1=2", "N=\xff\n", "PATH=/usr/bin:/bin",
                                                "odd name=x"};
  std::string expected;
  for (const std::string& entry : environment) expected += entry + '\0';
  CHECK(run(command({"cat", "/proc/self/environ"}, environment)).output == expected);
  CHECK(run(command({"/bin/cat", "/proc/self/environ"}, {})).output.empty());
}

TEST_CASE("the command runs in its working folder") {
  const TemporaryFolder folder;
  CHECK(run(command({"readlink", "/proc/self/cwd"}, {system_path}, folder.path())).output ==
        folder.path() + "\n");
}

TEST_CASE("a working folder that is gone fails the start and leaves no process") {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {  // what other tests have given up
  }
  const TemporaryFolder folder;
  CHECK(run(command({"/bin/true"}, {}, folder / "gone")).failure.exit_status == 126);
  CHECK(::waitpid(-1, nullptr, WNOHANG) <= 0);
}

TEST_CASE("the command leads a session and a process group of its own") {
  const std::string stat = run(command({"cat", "/proc/self/stat"})).output;
  int pid = 0;
  int group = 0;
  int session = 0;
  REQUIRE(std::sscanf(stat.c_str(), "%d (cat) %*c %*d %d %d", &pid, &group, &session) == 3);
  CHECK(group == pid);
  CHECK(session == pid);
}

TEST_CASE("no signal is blocked or ignored, whatever the caller does with its own") {
  CHECK(forked([] {
          for (const int number : {SIGPIPE, SIGCHLD, SIGINT, SIGUSR1, SIGRTMIN, SIGRTMAX}) {
            ::signal(number, SIG_IGN);
          }
          sigset_t all;
          ::sigfillset(&all);
          ::sigprocmask(SIG_SETMASK, &all, nullptr);
          const std::string status = run(command({"cat", "/proc/self/status"})).output;
          if (status.find("SigBlk:\t0000000000000000\n") == std::string::npos) return 1;
          if (status.find("SigPnd:\t0000000000000000\n") == std::string::npos) return 2;
          return status.find("SigIgn:\t0000000000000000\n") == std::string::npos ? 3 : 0;
        }) == 0);
}

TEST_CASE("the caller's own signals stay as they were") {
  CHECK(forked([] {
          ::signal(SIGPIPE, SIG_IGN);
          sigset_t some;
          ::sigemptyset(&some);
          ::sigaddset(&some, SIGUSR2);
          ::sigprocmask(SIG_SETMASK, &some, nullptr);
          if (run(command({"true"})).exit_code != 0) return 1;
          sigset_t after;
          ::sigprocmask(SIG_SETMASK, nullptr, &after);
          if (::sigismember(&after, SIGUSR2) != 1 || ::sigismember(&after, SIGUSR1) != 0) return 2;
          return ::signal(SIGPIPE, SIG_DFL) == SIG_IGN ? 0 : 3;
        }) == 0);
}

TEST_CASE("no descriptor leaks but 0, 1 and 2") {
  CHECK(forked([] {
          // The test program itself may have been started with more than three.
          ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
          const Fd extra(::open("/dev/null", O_RDWR | O_CLOEXEC));
          // The fourth is the listing's own.
          return run(command({"ls", "/proc/self/fd"})).output == "0\n1\n2\n3\n" ? 0 : 1;
        }) == 0);
}

TEST_CASE("descriptors that overlap 0, 1 and 2 crosswise are placed right") {
  const TemporaryFolder folder;
  folder.write("in", "input\n");
  CHECK(forked([&] {
          const int in = ::open((folder / "in").c_str(), O_RDONLY | O_CLOEXEC);
          const int out = ::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
          const int err = ::open((folder / "err").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
          ::dup2(in, 1);
          ::dup2(out, 2);
          ::dup2(err, 0);
          const Command what = command({"/bin/sh", "-c", "cat; echo out; echo err >&2"});
          SpawnFailure failure;
          const pid_t pid = spawn("/bin/sh", what, Stdio{1, 2, 0}, failure);
          return pid > 0 && ::waitpid(pid, nullptr, 0) == pid ? 0 : 1;
        }) == 0);
  CHECK(folder.read("out") == "input\nout\n");
  CHECK(folder.read("err") == "err\n");
}

TEST_CASE("0, 1 and 2 themselves arrive open when the caller has them close-on-exec") {
  const TemporaryFolder folder;
  folder.write("in", "input\n");
  CHECK(forked([&] {
          const int in = ::open((folder / "in").c_str(), O_RDONLY | O_CLOEXEC);
          const int out = ::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
          ::dup3(in, 0, O_CLOEXEC);
          ::dup3(out, 1, O_CLOEXEC);
          ::dup3(out, 2, O_CLOEXEC);
          const Command what = command({"/bin/sh", "-c", "cat; echo err >&2"});
          SpawnFailure failure;
          const pid_t pid = spawn("/bin/sh", what, Stdio{0, 1, 2}, failure);
          return pid > 0 && ::waitpid(pid, nullptr, 0) == pid ? 0 : 1;
        }) == 0);
  CHECK(folder.read("out") == "input\nerr\n");
}

TEST_CASE("one descriptor can serve as all three") {
  const TemporaryFolder folder;
  CHECK(forked([&] {
          const int file = ::open((folder / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
          ::dup2(file, 2);
          const Command what = command({"/bin/sh", "-c", "echo out; echo err >&2; echo in >&0"});
          SpawnFailure failure;
          const pid_t pid = spawn("/bin/sh", what, Stdio{2, 2, 2}, failure);
          return pid > 0 && ::waitpid(pid, nullptr, 0) == pid ? 0 : 1;
        }) == 0);
  CHECK(folder.read("f") == "out\nerr\nin\n");
}

TEST_CASE("the command is killed when the process that spawned it ends") {
  auto held = gpl::posix::make_pipe();
  auto ready = gpl::posix::make_pipe();
  REQUIRE((held.ok() && ready.ok()));
  const pid_t parent = ::fork();
  if (parent == 0) {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    SpawnFailure failure;
    const Stdio stdio{null.get(), held.value().write.get(), null.get()};
    const pid_t pid = spawn("/bin/sleep", command({"sleep", "1000"}), stdio, failure);
    (void)!::write(ready.value().write.get(), &pid, sizeof pid);
    while (true) ::pause();
  }
  pid_t pid = -1;
  REQUIRE(::read(ready.value().read.get(), &pid, sizeof pid) == sizeof pid);
  CHECK(pid > 0);
  held.value().write.reset();
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  pollfd closed{held.value().read.get(), POLLIN, 0};
  CHECK(::poll(&closed, 1, 20'000) == 1);  // the last holder of the pipe is gone
}
