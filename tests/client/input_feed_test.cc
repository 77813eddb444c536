#include "gpl/client/input_feed.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "fake_peer.h"

using gpl::JobId;
using gpl::client::InputFeed;
using gpl::client::Voice;
namespace wire = gpl::wire;

namespace {

const Voice silent(true);

/// A job that takes its input in order, as far as `limit` with each message.
struct Job {
  std::string taken;
  bool ended = false;
  bool in_order = true;

  void take(FakePeer& peer, const wire::ClientMessage& message, std::size_t limit) {
    const auto* input = std::get_if<wire::SendInput>(&message.body);
    if (input == nullptr) return;
    if (input->offset > taken.size()) in_order = false;
    if (!in_order) return;
    const std::string fresh =
        input->data.substr(std::min<std::size_t>(taken.size() - input->offset, input->data.size()));
    taken += fresh.substr(0, limit);
    ended = ended || (input->end && fresh.size() <= limit);
    peer.say(message.question, wire::InputTaken{taken.size()});
  }
};

}  // namespace

TEST_CASE("a file on standard input reaches the job whole, with its end") {
  const TemporaryFolder folder;
  Job job;
  FakePeer peer(folder / "sock", [&](FakePeer& self, const wire::ClientMessage& message) {
    job.take(self, message, std::string::npos);
    if (job.ended) self.say(1, wire::Done{});
  });
  const auto session = connect(folder / "sock", silent);
  bool over = false;
  session->ask(wire::AskHealth{}, [&](wire::Answer&&) { over = true; });
  const std::string all(1'000'000, 'x');
  const gpl::posix::Fd source(::open(folder.write("in", all).c_str(), O_RDONLY));
  const InputFeed feed(*session, source.get(), JobId{12});
  REQUIRE(session->run_until([&] { return over; }).ok());
  CHECK(job.taken == all);
  CHECK(job.in_order);
}

TEST_CASE("what the job had not taken when the connection was lost is sent again, and no more") {
  const TemporaryFolder folder;
  Job job;
  FakePeer peer(folder / "sock", [&](FakePeer& self, const wire::ClientMessage& message) {
    const bool first = self.connections() == 1;
    const bool is_input = std::holds_alternative<wire::SendInput>(message.body);
    if (first && !job.taken.empty()) return;
    job.take(self, message, first ? 3 : std::string::npos);
    if (first && is_input) self.hang_up();
    if (job.ended) self.say(1, wire::Done{});
  });
  const auto session = connect(folder / "sock", silent);
  bool over = false;
  session->ask(wire::AskHealth{}, [&](wire::Answer&&) { over = true; });
  const gpl::posix::Fd source(::open(folder.write("in", "abcdef").c_str(), O_RDONLY));
  const InputFeed feed(*session, source.get(), JobId{12});
  REQUIRE(session->run_until([&] { return over; }).ok());
  CHECK(job.taken == "abcdef");
  const auto sent = peer.asked_of<wire::SendInput>();
  REQUIRE_FALSE(sent.empty());
  CHECK(sent.back() == wire::SendInput{JobId{12}, 3, "def", true});
}

TEST_CASE("no more is read than the job may be sent") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    const auto* input = std::get_if<wire::SendInput>(&message.body);
    if (input == nullptr) return;
    if (input->offset == 0) self.say(message.question, wire::InputTaken{0});  // and no more
    if (input->offset + input->data.size() >= 256 * 1024) self.say(1, wire::Done{});
  });
  const auto session = connect(folder / "sock", silent);
  bool over = false;
  session->ask(wire::AskHealth{}, [&](wire::Answer&&) { over = true; });
  const gpl::posix::Fd source(
      ::open(folder.write("in", std::string(1'000'000, 'x')).c_str(), O_RDONLY));
  const InputFeed feed(*session, source.get(), JobId{12});
  REQUIRE(session->run_until([&] { return over; }).ok());
  CHECK(::lseek(source.get(), 0, SEEK_CUR) == 256 * 1024);
}

TEST_CASE("a job that has not begun is offered its input again") {
  const TemporaryFolder folder;
  Job job;
  int refusals = 0;
  FakePeer peer(folder / "sock", [&](FakePeer& self, const wire::ClientMessage& message) {
    if (!std::holds_alternative<wire::SendInput>(message.body)) return;
    if (refusals++ == 0) return self.say(message.question, wire::Refused{});
    job.take(self, message, std::string::npos);
    if (job.ended) self.say(1, wire::Done{});
  });
  const auto session = connect(folder / "sock", silent);
  bool over = false;
  session->ask(wire::AskHealth{}, [&](wire::Answer&&) { over = true; });
  const gpl::posix::Fd source(::open(folder.write("in", "abc").c_str(), O_RDONLY));
  const InputFeed feed(*session, source.get(), JobId{12});
  REQUIRE(session->run_until([&] { return over; }).ok());
  CHECK(job.taken == "abc");
  CHECK(job.in_order);
}
