#include "gpl/client/job_wait.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "fake_peer.h"
#include "gpl/client/log_reading.h"

using gpl::JobId;
using gpl::Outcome;
using gpl::client::Voice;
using gpl::wire::OutputStream;
namespace wire = gpl::wire;

namespace {

const Voice silent(true);

}  // namespace

TEST_CASE("a wait gives every outcome, and the failing job of lowest number decides") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    self.say(message.question, wire::JobEnded{JobId{3}, {}, gpl::Exited{5}});
    self.say(message.question, wire::JobEnded{JobId{1}, {}, gpl::Exited{0}});
    self.say(message.question, wire::JobEnded{JobId{2}, {}, gpl::Signalled{9}});
    self.say(message.question, wire::Done{});
  });
  const auto session = connect(folder / "sock", silent);
  const auto outcomes =
      gpl::client::wait_for(*session, {JobId{1}, JobId{2}, JobId{3}}, std::nullopt);
  REQUIRE(outcomes.ok());
  CHECK(outcomes.value().at(JobId{3}) == Outcome(gpl::Exited{5}));
  CHECK(gpl::client::exit_status(outcomes.value()) == 137);
}

TEST_CASE("a wait with a limit gives what had ended by then") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    self.say(message.question, wire::JobEnded{JobId{1}, {}, gpl::Exited{0}});
  });
  const auto session = connect(folder / "sock", silent);
  const auto outcomes =
      gpl::client::wait_for(*session, {JobId{1}, JobId{2}}, gpl::milliseconds(50));
  REQUIRE(outcomes.ok());
  CHECK_FALSE(outcomes.value().contains(JobId{2}));
}

TEST_CASE("logs write what there is of one stream, and attach nobody") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    if (!std::holds_alternative<wire::Follow>(message.body)) return;
    const auto at = [](OutputStream stream) {
      return wire::Position{gpl::TaskId{0}, gpl::AttemptId{1}, stream, 0};
    };
    self.say(message.question, wire::Output{at(OutputStream::out), "out", 0});
    self.say(message.question, wire::Output{at(OutputStream::err), "err", 0});
    self.say(message.question, wire::Done{});
  });
  const auto session = connect(folder / "sock", silent);
  const gpl::posix::Fd out(::open((folder / "out").c_str(), O_RDWR | O_CREAT, 0600));
  gpl::client::LogWish wish;
  wish.job = JobId{4};
  wish.only = OutputStream::out;
  wish.targets = {out.get(), out.get(), false};
  const auto code = gpl::client::read_log(*session, wish, silent);
  REQUIRE(code.ok());
  CHECK(code.value() == 0);
  CHECK(folder.read("out") == "out");
  const auto follows = peer.asked_of<wire::Follow>();
  REQUIRE(follows.size() == 1);
  CHECK_FALSE(follows.front().live);
  CHECK_FALSE(follows.front().attached);
}
