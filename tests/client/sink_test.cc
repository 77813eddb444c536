#include "gpl/client/sink.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "../forked.h"
#include "../temporary_folder.h"
#include "gpl/posix/fd.h"

using gpl::client::Sink;
using gpl::posix::Fd;
using gpl::posix::Pipe;

namespace {

Pipe make_pipe() { return std::move(gpl::posix::make_pipe()).value(); }

struct Sockets {
  Fd mine;
  Fd others;
};

Sockets make_sockets() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

bool writable(const Sink& sink) {
  pollfd events{sink.poll_descriptor(), POLLOUT, 0};
  return ::poll(&events, 1, 0) == 1;
}

/// Writes until nothing goes in any more; how many bytes that were.
std::size_t fill(Sink& sink) {
  const std::string bytes(10'000, 'x');
  std::size_t total = 0;
  for (std::size_t put = 0; (put = sink.write_some(bytes)) > 0;) total += put;
  return total;
}

std::size_t drain(int fd) {
  std::size_t total = 0;
  char chunk[65536];
  pollfd events{fd, POLLIN, 0};
  while (::poll(&events, 1, 0) == 1) {
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got <= 0) break;
    total += static_cast<std::size_t>(got);
  }
  return total;
}

}  // namespace

TEST_CASE("a full pipe takes nothing, is no error, and goes on when it has been read") {
  Pipe pipe = make_pipe();
  Sink sink(pipe.write.get());
  const std::size_t total = fill(sink);
  CHECK(total > 60'000);
  CHECK(sink.error() == 0);
  CHECK_FALSE(writable(sink));
  CHECK(drain(pipe.read.get()) == total);
  CHECK(writable(sink));
  CHECK(sink.write_some("abc") == 3);
  CHECK(sink.error() == 0);
}

TEST_CASE("the flags that a description shares with other processes stay as they were") {
  const TemporaryFolder folder;
  Pipe pipe = make_pipe();
  Sockets sockets = make_sockets();
  const Fd file(::open((folder / "f").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  for (const int fd : {pipe.write.get(), sockets.mine.get(), file.get()}) {
    const int before = ::fcntl(fd, F_GETFL);
    Sink sink(fd);
    CHECK(sink.write_some(std::string(200'000, 'x')) > 0);
    CHECK(::fcntl(fd, F_GETFL) == before);
    CHECK((before & O_NONBLOCK) == 0);
  }
}

TEST_CASE("the descriptor stays the caller's when the sink is gone") {
  Pipe pipe = make_pipe();
  { Sink sink(pipe.write.get()); }
  CHECK(::write(pipe.write.get(), "x", 1) == 1);
  pipe.write.reset();
  char byte;
  CHECK(::read(pipe.read.get(), &byte, 1) == 1);
  CHECK(::read(pipe.read.get(), &byte, 1) == 0);  // no copy of the writing end is left
}

TEST_CASE("a pipe whose reader is gone is EPIPE") {
  CHECK(forked([] {
          ::signal(SIGPIPE, SIG_IGN);
          Pipe pipe = make_pipe();
          Sink sink(pipe.write.get());
          if (sink.write_some("x") != 1) return 1;
          pipe.read.reset();
          if (sink.write_some("x") != 0 || sink.error() != EPIPE) return 2;
          return sink.write_some("x") == 0 && sink.error() == EPIPE ? 0 : 3;
        }) == 0);
}

TEST_CASE("a pipe whose reader was gone from the start is EPIPE") {
  CHECK(forked([] {
          ::signal(SIGPIPE, SIG_IGN);
          Pipe pipe = make_pipe();
          pipe.read.reset();
          Sink sink(pipe.write.get());
          return sink.write_some("x") == 0 && sink.error() == EPIPE ? 0 : 1;
        }) == 0);
}

TEST_CASE("a descriptor that was closed at the start is EPIPE at the first write") {
  Pipe pipe = make_pipe();  // stands for what was opened in its place
  Sink sink(pipe.write.get(), true);
  CHECK(sink.poll_descriptor() == -1);
  CHECK(sink.error() == 0);
  CHECK(sink.write_some("x") == 0);
  CHECK(sink.error() == EPIPE);
  CHECK(drain(pipe.read.get()) == 0);
}

TEST_CASE("a full device is ENOSPC") {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Sink sink(full.get());
  CHECK(sink.write_some("x") == 0);
  CHECK(sink.error() == ENOSPC);
}

TEST_CASE("a file takes everything at once, is always ready, and keeps to its end in append mode") {
  const TemporaryFolder folder;
  folder.write("f", "before|");
  const Fd file(::open((folder / "f").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  Sink sink(file.get());
  CHECK(sink.poll_descriptor() == -1);
  CHECK(sink.write_some("one|") == 4);
  const Fd other(::open((folder / "f").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  CHECK(::write(other.get(), "other|", 6) == 6);
  CHECK(sink.write_some("two") == 3);
  CHECK(folder.read("f") == "before|one|other|two");
}

TEST_CASE("a file is written from where its description stands, which moves on for all who share") {
  const TemporaryFolder folder;
  const Fd file(::open((folder / "f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  CHECK(::write(file.get(), "a", 1) == 1);
  Sink sink(file.get());
  CHECK(sink.write_some("b") == 1);
  CHECK(::write(file.get(), "c", 1) == 1);
  CHECK(folder.read("f") == "abc");
}

TEST_CASE("a descriptor that cannot be written is an error") {
  const TemporaryFolder folder;
  const Fd file(::open(folder.write("f", "").c_str(), O_RDONLY | O_CLOEXEC));
  Sink sink(file.get());
  CHECK(sink.write_some("x") == 0);
  CHECK(sink.error() == EBADF);
}

TEST_CASE("a full socket takes nothing and is no error") {
  Sockets sockets = make_sockets();
  Sink sink(sockets.mine.get());
  CHECK(fill(sink) > 10'000);
  CHECK(sink.error() == 0);
  CHECK_FALSE(writable(sink));
  CHECK(drain(sockets.others.get()) > 10'000);
  CHECK(sink.write_some("x") == 1);
}

TEST_CASE("a socket whose other end is closed is EPIPE, without a signal") {
  CHECK(forked([] {
          ::signal(SIGPIPE, SIG_DFL);
          Sockets sockets = make_sockets();
          Sink sink(sockets.mine.get());
          sockets.others.reset();
          return sink.write_some("x") == 0 && sink.error() == EPIPE ? 0 : 1;
        }) == 0);
}

TEST_CASE("a connection that its reader has reset is EPIPE too") {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  void* any = &address;
  REQUIRE(::bind(listener.get(), static_cast<sockaddr*>(any), size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), static_cast<sockaddr*>(any), &size) == 0);
  const Fd mine(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(mine.get(), static_cast<sockaddr*>(any), size) == 0);
  Fd others(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(others.valid());
  Sink sink(mine.get());
  REQUIRE(sink.write_some("unread") == 6);
  pollfd arrived{others.get(), POLLIN, 0};
  REQUIRE(::poll(&arrived, 1, 10'000) == 1);
  others.reset();  // with bytes unread this resets the connection
  pollfd reset{mine.get(), POLLIN, 0};
  REQUIRE(::poll(&reset, 1, 10'000) == 1);
  CHECK(sink.write_some("x") == 0);
  CHECK(sink.error() == EPIPE);
}

TEST_CASE("a terminal that is stopped takes nothing more, and its flags stay") {
  int master = -1;
  int slave = -1;
  REQUIRE(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  const Fd reader(master);
  const Fd terminal(slave);
  const int before = ::fcntl(terminal.get(), F_GETFL);
  Sink sink(terminal.get());
  CHECK(sink.write_some("hello") == 5);
  CHECK(fill(sink) > 0);
  CHECK(sink.error() == 0);
  CHECK(::fcntl(terminal.get(), F_GETFL) == before);
}

TEST_CASE("a pipe that cannot be opened anew is written without blocking too") {
  CHECK(forked([] {
          // Only root can make a pipe of another user's.
          if (::geteuid() != 0) return 0;
          ::alarm(10);
          ::signal(SIGPIPE, SIG_IGN);
          Pipe pipe = make_pipe();
          if (::fchmod(pipe.write.get(), 0) != 0 || !become_ordinary_user()) return 1;
          const std::string again = "/proc/self/fd/" + std::to_string(pipe.write.get());
          if (Fd(::open(again.c_str(), O_WRONLY | O_CLOEXEC)).valid()) return 2;
          const int before = ::fcntl(pipe.write.get(), F_GETFL);
          Sink sink(pipe.write.get());
          const std::size_t total = fill(sink);
          if (total < 60'000 || sink.error() != 0) return 3;
          if (::fcntl(pipe.write.get(), F_GETFL) != before) return 4;
          if (drain(pipe.read.get()) != total) return 5;
          if (sink.write_some("x") != 1) return 6;
          pipe.read.reset();
          return sink.write_some("x") == 0 && sink.error() == EPIPE ? 0 : 7;
        }) == 0);
}
