#include "gpl/client/output_relay.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "../temporary_folder.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"

using gpl::client::OutputRelay;
using gpl::client::Sink;
using gpl::posix::Fd;
using gpl::posix::Pipe;

namespace {

Pipe make_pipe() { return std::move(gpl::posix::make_pipe()).value(); }

std::string random_bytes(std::size_t count) {
  std::mt19937_64 engine(20240607);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(engine());
  return bytes;
}

std::string read_all(int fd, std::size_t piece, int pause_every = 0) {
  std::string bytes;
  std::string chunk(piece, '\0');
  int count = 0;
  for (ssize_t got = 0; (got = ::read(fd, chunk.data(), chunk.size())) > 0;) {
    bytes.append(chunk, 0, static_cast<std::size_t>(got));
    if (pause_every > 0 && ++count % pause_every == 0) (void)::poll(nullptr, 0, 1);
  }
  return bytes;
}

void write_whole(int fd, const std::string& bytes) { CHECK(gpl::posix::write_all(fd, bytes).ok()); }

/// Polls and moves until everything is delivered, as a loop does.
void carry(OutputRelay& relay) {
  while (!relay.drained() && relay.sink().error() == 0) {
    pollfd events = relay.interest();
    REQUIRE((events.fd >= 0 || relay.ready()));
    REQUIRE(::poll(&events, 1, relay.ready() ? 0 : 20'000) + (relay.ready() ? 1 : 0) > 0);
    relay.move();
  }
}

}  // namespace

TEST_CASE("5 MB of random bytes arrive exactly through a slow reader") {
  const std::string bytes = random_bytes(5'000'000);
  Pipe from_job = make_pipe();
  Pipe to_reader = make_pipe();
  std::string got;
  std::thread job([&] {
    write_whole(from_job.write.get(), bytes);
    from_job.write.reset();
  });
  std::thread reader([&] { got = read_all(to_reader.read.get(), 7'001, 20); });
  {
    Sink sink(to_reader.write.get());
    OutputRelay relay(std::move(from_job.read), sink);
    carry(relay);
    CHECK(relay.interest().fd == -1);
    CHECK_FALSE(relay.ready());
  }
  to_reader.write.reset();
  job.join();
  reader.join();
  CHECK(got.size() == bytes.size());
  CHECK((got == bytes));
}

TEST_CASE("bytes arrive exactly in a file") {
  const TemporaryFolder folder;
  const std::string bytes = random_bytes(300'000);
  const Fd file(::open((folder / "f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Pipe pipe = make_pipe();
  std::thread job([&] {
    write_whole(pipe.write.get(), bytes);
    pipe.write.reset();
  });
  Sink sink(file.get());
  OutputRelay relay(std::move(pipe.read), sink);
  carry(relay);
  job.join();
  CHECK((folder.read("f") == bytes));
}

TEST_CASE("a pipe that nobody has written and all have closed is drained") {
  Pipe from_job = make_pipe();
  Pipe to_reader = make_pipe();
  Sink sink(to_reader.write.get());
  OutputRelay relay(std::move(from_job.read), sink);
  CHECK_FALSE(relay.drained());
  relay.move();  // nothing yet
  CHECK_FALSE(relay.drained());
  CHECK(relay.interest().events == POLLIN);
  from_job.write.reset();
  carry(relay);
  CHECK(relay.drained());
}

TEST_CASE("a reader that takes nothing makes the job's pipe fill up: nothing is read ahead") {
  Pipe from_job = make_pipe();
  Pipe to_reader = make_pipe();
  Sink sink(to_reader.write.get());
  OutputRelay relay(std::move(from_job.read), sink);
  ::fcntl(from_job.write.get(), F_SETFL, O_NONBLOCK);
  const std::string chunk(4096, 'x');
  std::size_t taken = 0;
  for (int idle = 0; idle < 10; ++idle) {
    while (::write(from_job.write.get(), chunk.data(), chunk.size()) > 0) {
      taken += chunk.size();
      idle = 0;
    }
    relay.move();
  }
  CHECK(taken == 3 * 65536);  // two pipes and the relay's own buffer
  CHECK(relay.interest().events == POLLOUT);
  CHECK_FALSE(relay.ready());
}

TEST_CASE("a pipe that is still held is read empty and left once no more is expected") {
  Pipe from_job = make_pipe();
  Pipe to_reader = make_pipe();
  write_whole(from_job.write.get(), "last words");
  {
    Sink sink(to_reader.write.get());
    OutputRelay relay(std::move(from_job.read), sink);
    relay.expect_no_more();
    CHECK(relay.ready());
    carry(relay);
    CHECK(relay.interest().fd == -1);
  }
  to_reader.write.reset();
  CHECK(read_all(to_reader.read.get(), 100) == "last words");
}

TEST_CASE("all that a held pipe still has is carried, more than one buffer too") {
  const std::string bytes = random_bytes(200'000);
  Pipe from_job = make_pipe();
  Pipe to_reader = make_pipe();
  REQUIRE(::fcntl(from_job.write.get(), F_SETPIPE_SZ, 262'144) >= 262'144);
  write_whole(from_job.write.get(), bytes);
  std::string got;
  std::thread reader([&] { got = read_all(to_reader.read.get(), 1000); });
  {
    Sink sink(to_reader.write.get());
    OutputRelay relay(std::move(from_job.read), sink);
    relay.expect_no_more();
    carry(relay);
  }
  to_reader.write.reset();
  reader.join();
  CHECK((got == bytes));
}

TEST_CASE("another sink goes on exactly where the first one stopped") {
  const TemporaryFolder folder;
  const std::string bytes = random_bytes(400'000);
  Pipe from_job = make_pipe();
  Pipe to_reader = make_pipe();
  std::thread job([&] {
    write_whole(from_job.write.get(), bytes);
    from_job.write.reset();
  });
  std::optional<Sink> first(to_reader.write.get());
  OutputRelay relay(std::move(from_job.read), *first);
  while (relay.interest().events != POLLOUT) relay.move();  // the reader's pipe is full
  const Fd file(::open((folder / "f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Sink second(file.get());
  relay.redirect(second);
  CHECK(&relay.sink() == &second);
  carry(relay);
  job.join();
  first.reset();
  to_reader.write.reset();
  CHECK((read_all(to_reader.read.get(), 65536) + folder.read("f") == bytes));
}

TEST_CASE("abandoning closes the job's pipe and drops what was read") {
  Pipe from_job = make_pipe();
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Sink sink(full.get());
  OutputRelay relay(std::move(from_job.read), sink);
  write_whole(from_job.write.get(), "lost");
  relay.move();
  CHECK(relay.sink().error() == ENOSPC);
  CHECK_FALSE(relay.drained());
  relay.abandon();
  CHECK(relay.drained());
  CHECK(relay.interest().fd == -1);
  pollfd events{from_job.write.get(), POLLOUT, 0};
  CHECK(::poll(&events, 1, 0) == 1);
  CHECK((events.revents & POLLERR) != 0);  // pipe(7): no reader is left
}
