#include "gpl/client/job_output.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "gpl/net/loop.h"
#include "temporary_folder.h"

using gpl::AttemptId;
using gpl::TaskId;
using gpl::client::JobOutput;
using gpl::wire::OutputStream;
using gpl::wire::Position;
namespace wire = gpl::wire;

namespace {

wire::Output output(std::uint64_t attempt, OutputStream stream, std::uint64_t offset,
                    std::string data, std::uint64_t skipped = 0) {
  return {{TaskId{0}, AttemptId{attempt}, stream, offset}, std::move(data), skipped};
}

/// Both streams into files, or stdout into a pipe that nobody reads.
struct Scene {
  TemporaryFolder folder;
  std::unique_ptr<gpl::net::Loop> loop = std::move(gpl::net::Loop::create()).value();
  gpl::posix::Fd out{::open((folder / "out").c_str(), O_RDWR | O_CREAT, 0600)};
  gpl::posix::Fd err{::open((folder / "err").c_str(), O_RDWR | O_CREAT, 0600)};
  std::vector<std::uint64_t> taken;
  std::vector<int> failures;
  std::vector<std::uint64_t> skipped;

  std::unique_ptr<JobOutput> make(std::optional<OutputStream> only = {}) {
    return std::make_unique<JobOutput>(
        *loop, gpl::client::OutputTargets{out.get(), err.get(), false}, only,
        JobOutput::Told{[this](std::uint64_t bytes) { taken.push_back(bytes); },
                        [this](OutputStream, int error) { failures.push_back(error); },
                        [this](std::uint64_t bytes) { skipped.push_back(bytes); }});
  }
  void turn() {
    while (loop->run_one({})) {
    }
  }
  /// In a task of the loop, as answers come.
  void take(JobOutput& output, std::vector<wire::Output> pieces) {
    loop->post([&] {
      for (wire::Output& piece : pieces) output.take(std::move(piece));
    });
    turn();
  }
};

}  // namespace

TEST_CASE("each stream goes to its own descriptor") {
  Scene scene;
  const auto carried = scene.make();
  scene.take(*carried,
             {output(1, OutputStream::out, 0, "one"), output(1, OutputStream::err, 0, "two"),
              output(1, OutputStream::out, 3, "three")});
  CHECK(carried->drained());
  CHECK(scene.folder.read("out") == "onethree");
  CHECK(scene.folder.read("err") == "two");
}

TEST_CASE("what was handed on is told once a turn") {
  Scene scene;
  const auto carried = scene.make();
  scene.take(*carried,
             {output(1, OutputStream::out, 0, "one"), output(1, OutputStream::err, 0, "four")});
  CHECK(scene.taken == std::vector<std::uint64_t>{7});
}

TEST_CASE("bytes that were there already are passed over, and count as taken") {
  Scene scene;
  const auto carried = scene.make();
  scene.take(*carried,
             {output(1, OutputStream::out, 0, "abcd"), output(1, OutputStream::out, 2, "cdef"),
              output(1, OutputStream::out, 1, "bc")});
  CHECK(scene.folder.read("out") == "abcdef");
  CHECK(scene.taken == std::vector<std::uint64_t>{10});
}

TEST_CASE("a second attempt's output begins at its own start") {
  Scene scene;
  const auto carried = scene.make();
  scene.take(*carried, {output(1, OutputStream::out, 0, "first "),
                        output(2, OutputStream::out, 0, "second")});
  CHECK(scene.folder.read("out") == "first second");
}

TEST_CASE("it begins anew where bytes were handed on, not where they arrived") {
  Scene scene;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const gpl::posix::Fd reader(ends[0]);
  scene.out.reset(ends[1]);
  const auto room = static_cast<std::uint64_t>(::fcntl(ends[1], F_GETPIPE_SZ));
  const auto carried = scene.make();
  scene.take(*carried, {output(1, OutputStream::out, 0, std::string(2 * room, 'x')),
                        output(1, OutputStream::err, 0, "abc")});
  CHECK_FALSE(carried->drained());
  CHECK(carried->begin_anew() ==
        std::vector<Position>{{TaskId{0}, AttemptId{1}, OutputStream::out, room},
                              {TaskId{0}, AttemptId{1}, OutputStream::err, 3}});
  CHECK(carried->drained());
}

TEST_CASE("a blocked reader gets the rest when it reads") {
  Scene scene;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const gpl::posix::Fd reader(ends[0]);
  scene.out.reset(ends[1]);
  const auto room = static_cast<std::size_t>(::fcntl(ends[1], F_GETPIPE_SZ));
  const auto carried = scene.make();
  scene.take(*carried, {output(1, OutputStream::out, 0, std::string(room, 'x') + "rest")});
  std::string got(room, '\0');
  REQUIRE(::read(reader.get(), got.data(), room) == static_cast<ssize_t>(room));
  while (!carried->drained()) REQUIRE(scene.loop->run_one(gpl::seconds(20)));
  got.resize(4);
  REQUIRE(::read(reader.get(), got.data(), 4) == 4);
  CHECK(got == "rest");
}

TEST_CASE("a reader that has gone is told once") {
  ::signal(SIGPIPE, SIG_IGN);
  Scene scene;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  scene.out.reset(ends[1]);
  const auto carried = scene.make();
  scene.take(*carried,
             {output(1, OutputStream::out, 0, "abc"), output(1, OutputStream::out, 3, "def")});
  CHECK(scene.failures == std::vector<int>{EPIPE});
  CHECK(carried->drained());
}

TEST_CASE("of one stream alone the other is taken and thrown away") {
  Scene scene;
  const auto carried = scene.make(OutputStream::err);
  scene.take(*carried,
             {output(1, OutputStream::out, 0, "abc", 5), output(1, OutputStream::err, 0, "de", 9)});
  CHECK(scene.folder.read("out").empty());
  CHECK(scene.folder.read("err") == "de");
  CHECK(scene.taken == std::vector<std::uint64_t>{5});
  CHECK(scene.skipped == std::vector<std::uint64_t>{9});
}
