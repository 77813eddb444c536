#include "gpl/net/listener.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connected.h"
#include "gpl/net/credentials.h"
#include "gpl/net/dialer.h"
#include "run_until.h"
#include "serving.h"
#include "temporary_folder.h"

using namespace gpl;
using net::Dialer;
using net::Listener;
using net::PeerAddress;

/// With this errno the next accept4(2) of this test program fails, unless it is 0.
static int next_accept_fails_with = 0;

/// Takes the place of the C library's.
extern "C" int accept4(int socket, sockaddr* address, socklen_t* size, int flags) {
  if (next_accept_fails_with != 0) {
    errno = std::exchange(next_accept_fails_with, 0);
    return -1;
  }
  return static_cast<int>(::syscall(SYS_accept4, socket, address, size, flags));
}

namespace {

/// A socket file whose process is gone.
void leave_stale(const std::string& path) {
  const posix::Fd socket = bound_socket(path);
  REQUIRE(::listen(socket.get(), 1) == 0);
}

/// Lets this process open no more files while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit low = before_;
    low.rlim_cur = 64;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
    for (int fd = 0; fd >= 0; fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
      if (fd > 0) taken_.emplace_back(fd);
    }
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_;
  std::vector<posix::Fd> taken_;
};

mode_t mode_of(const std::string& path) {
  struct stat file;
  REQUIRE(::lstat(path.c_str(), &file) == 0);
  return file.st_mode & 07777;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

TEST_CASE("who dials a Unix socket is accepted, and both ends are connected") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  Served served;
  const Listener listener = listen(*loop, folder / "socket", served);
  auto dialed = dial(*loop, folder / "socket");
  REQUIRE(dialed.ok());
  run_until(*loop, [&] { return served.sockets.size() == 1; });
  put(dialed.value(), "hello");
  CHECK(take(served.sockets[0]) == "hello");
  CHECK(net::peer_credentials(served.sockets[0].get()).value().pid == ::getpid());
  CHECK(served.from[0].host.empty());
  for (const int fd : {dialed.value().get(), served.sockets[0].get()}) {
    CHECK(::fcntl(fd, F_GETFD) == FD_CLOEXEC);
  }
}

TEST_CASE("the socket's file has the mode it was given, whatever the umask, and goes with it") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  for (const mode_t mode : {0600U, 0660U}) {
    const mode_t umask_before = ::umask(0077);
    Served served;
    std::optional<Listener> listener = listen(*loop, folder / "socket", served, mode);
    ::umask(umask_before);
    CHECK(mode_of(folder / "socket") == mode);
    listener.reset();
    CHECK_FALSE(exists(folder / "socket"));
  }
}

TEST_CASE("the socket's file of a dead process is replaced") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  leave_stale(folder / "socket");
  CHECK(dial(*loop, folder / "socket").error().code == Code::not_found);
  Served served;
  const Listener listener = listen(*loop, folder / "socket", served);
  CHECK(dial(*loop, folder / "socket").ok());
}

TEST_CASE("a socket that is served is not taken over, and its process is named") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  Served first;
  Served second;
  const Listener listener = listen(*loop, folder / "socket", first);
  const auto refused = Listener::listen_unix(*loop, folder / "socket", 0600, second.told());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::busy);
  CHECK(refused.error().message.find("process " + std::to_string(::getpid())) != std::string::npos);
  CHECK(dial(*loop, folder / "socket").ok());
}

TEST_CASE("a socket served by a program without the lock is not taken over either") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  Served first;
  Served second;
  const Listener listener = listen(*loop, folder / "socket", first);
  REQUIRE(::unlink((folder / "socket.lock").c_str()) == 0);
  const auto refused = Listener::listen_unix(*loop, folder / "socket", 0600, second.told());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::busy);
}

TEST_CASE("of many that start at once over a dead process's file, one serves and no other") {
  const TemporaryFolder folder;
  for (int round = 0; round < 20; ++round) {
    leave_stale(folder / "socket");
    auto go = posix::make_pipe();
    auto results = posix::make_pipe();
    std::vector<pid_t> processes;
    for (int i = 0; i < 4; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        // Reading ends when the test has closed the other end: to begin, and to leave.
        char byte = 0;
        results.value().read.reset();
        go.value().write.reset();
        (void)!::read(go.value().read.get(), &byte, 1);
        auto loop = net::Loop::create();
        Served served;
        auto made = Listener::listen_unix(*loop.value(), folder / "socket", 0600, served.told());
        const char* const word = made.ok() ? "1" : made.error().code == Code::busy ? "0" : "e";
        (void)!::write(results.value().write.get(), word, 1);
        ::pause();
        ::_exit(0);
      }
      processes.push_back(pid);
    }
    go.value().write.reset();
    std::string told;
    char byte = 0;
    while (told.size() < 4 && ::read(results.value().read.get(), &byte, 1) == 1) told += byte;
    CHECK(std::count(told.begin(), told.end(), '1') == 1);
    CHECK(std::count(told.begin(), told.end(), '0') == 3);
    for (const pid_t pid : processes) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    REQUIRE(::unlink((folder / "socket").c_str()) == 0);
  }
}

TEST_CASE("what is no socket is left where it is") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  folder.write("socket", "precious");
  const auto refused = Listener::listen_unix(*loop, folder / "socket", 0600, Served().told());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::invalid);
  CHECK(folder.read("socket") == "precious");
}

TEST_CASE("a file that another listener has put in the place of this one's is left") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  Served served;
  std::optional<Listener> listener = listen(*loop, folder / "socket", served);
  REQUIRE(::rename((folder / "socket").c_str(), (folder / "elsewhere").c_str()) == 0);
  leave_stale(folder / "socket");
  listener.reset();
  CHECK(exists(folder / "socket"));
}

TEST_CASE("a path that is too long for a socket is an error that says so") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  const std::string base = folder / "";
  const std::string longest = base + std::string(net::longest_unix_path - base.size(), 's');
  Served served;
  { const Listener listener = listen(*loop, longest, served); }
  const auto refused = Listener::listen_unix(*loop, longest + "s", 0600, Served().told());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::too_large);
  CHECK(refused.error().message.find("at most 107") != std::string::npos);
  CHECK(dial(*loop, longest + "s").error().code == Code::too_large);
}

TEST_CASE("a folder that is not there is an error that names it") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  const auto refused = Listener::listen_unix(*loop, folder / "no/socket", 0600, Served().told());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::not_found);
  CHECK(refused.error().message.find(folder / "no/socket") != std::string::npos);
}

TEST_CASE("a connection that was aborted before it was accepted does not hold up the next") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  Served served;
  const Listener listener = listen(*loop, folder / "socket", served);
  const posix::Fd waiting = connected_socket(folder / "socket");
  next_accept_fails_with = ECONNABORTED;
  run_until(*loop, [&] { return served.sockets.size() == 1; });
  CHECK(next_accept_fails_with == 0);
  CHECK(served.notes.empty());
}

TEST_CASE("without descriptors accepting pauses, says so once, and goes on when there are some") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  Served served;
  const Listener listener = listen(*loop, folder / "socket", served);
  for (std::size_t episode = 1; episode <= 2; ++episode) {
    const posix::Fd waiting = connected_socket(folder / "socket");
    {
      const NoDescriptors none;
      // The first try and three more, none of which finds a descriptor.
      for (int tries = 0; tries < 4; ++tries) REQUIRE(loop->run_one(failure_stop));
      CHECK(served.sockets.size() == episode - 1);
      REQUIRE(served.notes.size() == episode);
      CHECK(served.notes.back().find("Too many open files") != std::string::npos);
    }
    run_until(*loop, [&] { return served.sockets.size() == episode; });
    CHECK(served.notes.size() == episode);
  }
}

TEST_CASE("a listener may be dropped while it tells of a connection, with another behind it") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  std::optional<Listener> listener;
  int accepted = 0;
  auto made = Listener::listen_unix(*loop, folder / "socket", 0600,
                                    {[&](posix::Fd, const PeerAddress&) {
                                       ++accepted;
                                       listener.reset();
                                     },
                                     {}});
  REQUIRE(made.ok());
  listener = std::move(made).value();
  const posix::Fd one = connected_socket(folder / "socket");
  const posix::Fd two = connected_socket(folder / "socket");
  run_ready(*loop);
  CHECK(accepted == 1);
}

TEST_CASE("a listener and a dialer may outlive their loop") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  Served served;
  std::optional<Listener> listener = listen(*loop, folder / "socket", served);
  Dialed dialed;
  dialed.dialer = Dialer::unix_socket(*loop, folder / "socket", failure_stop, dialed.done());
  loop.reset();
  listener.reset();
  CHECK_FALSE(exists(folder / "socket"));
}
