#include "gpl/peer/output_feed.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "../temporary_folder.h"
#include "gpl/host/skipped_output.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"

using namespace gpl;
using namespace gpl::peer;
using wire::OutputStream;

namespace {

struct OutputFolder {
  TemporaryFolder above;
  std::string path = above / "1.7";
  Fence fence{1, AttemptId{7}};

  OutputFolder() { write("", ""); }
  void write(const std::string& out, const std::string& err) const {
    above.write("1.7/stdout", out);
    above.write("1.7/stderr", err);
  }
  /// As the keeper does it: says so first.
  void punch(std::uint64_t from, std::uint64_t to) const {
    skip(from, to);
    const posix::Fd file(::open((path + "/stdout").c_str(), O_WRONLY | O_CLOEXEC));
    const std::string zeros(to - from, '\0');
    REQUIRE(::pwrite(file.get(), zeros.data(), zeros.size(), static_cast<off_t>(from)) > 0);
  }
  void skip(std::uint64_t from, std::uint64_t to) const {
    const auto folder = posix::open_folder(path);
    REQUIRE(folder.ok());
    const auto file = host::make_skipped(folder.value().get());
    REQUIRE(file.ok());
    host::SkippedOutput skipped;
    skipped.of[0] = {from, to};
    REQUIRE(host::write_skipped(file.value().get(), skipped).ok());
  }
  OutputFeed feed(std::uint64_t out_from = 0, std::uint64_t err_from = 0) const {
    return OutputFeed(path, fence, TaskId{3}, out_from, err_from);
  }
};

wire::Output piece_of(OutputFeed& feed, std::size_t max_bytes = 1 << 20) {
  auto next = feed.next(max_bytes);
  REQUIRE(next.ok());
  REQUIRE(next.value().has_value());
  return std::move(*next.value());
}
bool nothing(OutputFeed& feed) {
  auto next = feed.next(1 << 20);
  REQUIRE(next.ok());
  return !next.value().has_value();
}

}  // namespace

TEST_CASE("a feed gives what is written, with its place, as far as the keeper has said") {
  const OutputFolder attempt;
  attempt.write("hello world", "");
  OutputFeed feed = attempt.feed();
  CHECK(nothing(feed));
  feed.grew(5, 0, false);
  wire::Output piece = piece_of(feed);
  CHECK(piece.data == "hello");
  CHECK(piece.skipped_bytes == 0);
  CHECK(piece.at == wire::Position{TaskId{3}, AttemptId{7}, OutputStream::out, 0});
  CHECK(nothing(feed));
  CHECK_FALSE(feed.drained());
  feed.grew(11, 0, true);
  CHECK_FALSE(feed.drained());
  piece = piece_of(feed);
  CHECK(piece.data == " world");
  CHECK(piece.at.offset == 5);
  CHECK(feed.drained());
  CHECK(feed.position(OutputStream::out) == 11);
}

TEST_CASE("a feed begins where the follower is") {
  const OutputFolder attempt;
  attempt.write("hello", "error");
  OutputFeed feed = attempt.feed(4, 5);
  feed.grew(5, 5, true);
  const wire::Output piece = piece_of(feed);
  CHECK(piece.data == "o");
  CHECK(piece.at.offset == 4);
  CHECK(feed.drained());
}

TEST_CASE("older news does not make a feed forget") {
  const OutputFolder attempt;
  attempt.write("hello", "");
  OutputFeed feed = attempt.feed();
  feed.grew(5, 0, true);
  feed.grew(2, 0, false);
  CHECK(piece_of(feed).data == "hello");
  CHECK(feed.drained());
}

TEST_CASE("a feed serves both streams in turn, and no piece is over the limits") {
  const OutputFolder attempt;
  const std::string large(OutputFeed::piece_bytes + 10, 'x');
  attempt.write(large, "abcdef");
  OutputFeed feed = attempt.feed();
  feed.grew(large.size(), 6, true);
  CHECK(piece_of(feed).data.size() == OutputFeed::piece_bytes);
  wire::Output piece = piece_of(feed, 4);
  CHECK(piece.at.stream == OutputStream::err);
  CHECK(piece.data == "abcd");
  piece = piece_of(feed, 4);
  CHECK(piece.at.stream == OutputStream::out);
  CHECK(piece.data == "xxxx");
  CHECK(piece_of(feed, 4).data == "ef");
  CHECK(piece_of(feed).data == "xxxxxx");
  CHECK(feed.drained());
  const auto none = feed.next(0);
  CHECK((none.ok() && !none.value().has_value()));
}

TEST_CASE("a feed passes over what was given up, and says how much") {
  const OutputFolder attempt;
  attempt.write("head-middle-tail", "");
  attempt.punch(5, 12);
  OutputFeed feed = attempt.feed();
  feed.grew(16, 0, true);
  wire::Output piece = piece_of(feed);
  CHECK(piece.data == "head-");
  CHECK(piece.skipped_bytes == 0);
  piece = piece_of(feed);
  CHECK(piece.data == "tail");
  CHECK(piece.at.offset == 12);
  CHECK(piece.skipped_bytes == 7);
  CHECK(feed.drained());
}

TEST_CASE("a follower within what was given up is told of the rest of it") {
  const OutputFolder attempt;
  attempt.write("head-middle-tail", "");
  attempt.punch(5, 12);
  OutputFeed feed = attempt.feed(8);
  feed.grew(16, 0, true);
  const wire::Output piece = piece_of(feed);
  CHECK(piece.data == "tail");
  CHECK(piece.skipped_bytes == 4);
}

TEST_CASE("a hole that grows while it is followed is seen") {
  const OutputFolder attempt;
  attempt.write("0123456789", "");
  attempt.punch(2, 4);
  OutputFeed feed = attempt.feed();
  feed.grew(10, 0, false);
  CHECK(piece_of(feed).data == "01");
  attempt.punch(2, 7);
  const wire::Output piece = piece_of(feed);
  CHECK(piece.data == "789");
  CHECK(piece.skipped_bytes == 5);
}

TEST_CASE("what was given up at the end of a stream is told once that has ended") {
  const OutputFolder attempt;
  attempt.write("head", "");
  attempt.skip(4, 100);  // past the file's end: a full disk
  OutputFeed feed = attempt.feed();
  feed.grew(100, 0, false);
  CHECK(piece_of(feed).data == "head");
  CHECK(nothing(feed));
  feed.grew(100, 0, true);
  CHECK_FALSE(feed.drained());
  const wire::Output piece = piece_of(feed);
  CHECK(piece.data.empty());
  CHECK(piece.skipped_bytes == 96);
  CHECK(piece.at.offset == 100);
  CHECK(feed.drained());
}

TEST_CASE("a file that is shorter than the keeper said is an error that says so") {
  const OutputFolder attempt;
  attempt.write("abc", "");
  OutputFeed feed = attempt.feed();
  feed.grew(10, 0, true);
  CHECK(piece_of(feed).data == "abc");
  const auto next = feed.next(100);
  REQUIRE_FALSE(next.ok());
  CHECK(next.error().code == Code::io);
  CHECK(next.error().message.find("ends at byte 3") != std::string::npos);
}

TEST_CASE("a folder that was discarded is an error, also when its files are still open") {
  const OutputFolder attempt;
  attempt.write("abcdef", "");
  OutputFeed feed = attempt.feed();
  feed.grew(6, 0, true);
  CHECK(piece_of(feed, 3).data == "abc");
  std::filesystem::rename(attempt.path, attempt.above / ".gone-1.7-0");
  const auto next = feed.next(100);
  REQUIRE_FALSE(next.ok());
  CHECK(next.error().code == Code::not_found);

  OutputFeed late = attempt.feed();
  late.grew(6, 0, true);
  const auto first = late.next(100);
  REQUIRE_FALSE(first.ok());
  CHECK(first.error().code == Code::not_found);
}
