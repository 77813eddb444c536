#include "gpl/client/session.h"

#include <doctest/doctest.h>

#include "fake_peer.h"

using gpl::Code;
using gpl::JobId;
using gpl::client::Session;
using gpl::client::Voice;
namespace wire = gpl::wire;

namespace {

const Voice silent(true);

void done(FakePeer& peer, const wire::ClientMessage& message) {
  peer.say(message.question, wire::Done{});
}

}  // namespace

TEST_CASE("a question is answered under its number") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    self.say(message.question + 7, wire::Submitted{JobId{99}});  // nobody asked this
    self.say(message.question, wire::Submitted{JobId{12}});
  });
  const auto session = connect(folder / "sock", silent);
  const auto answer = session->ask_for<wire::Submitted>(wire::RerunJob{{}, JobId{3}});
  REQUIRE(answer.ok());
  CHECK(answer.value().job == JobId{12});
}

TEST_CASE("a refusal is an error with its words, the nearest miss and the way out") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    wire::Refused refused;
    refused.message = "no peer can run this: rocm: none on lab1";
    refused.explanation.emplace();
    refused.explanation->nearest = "lab2 fits if jax >=0.4.30";
    self.say(message.question, refused);
  });
  const auto session = connect(folder / "sock", silent);
  const auto answer = session->ask_for<wire::Submitted>(wire::RerunJob{{}, JobId{3}});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error() ==
        gpl::Error{Code::unsupported,
                   "no peer can run this: rocm: none on lab1\nnearest: lab2 fits if jax >=0.4.30\n"
                   "to queue it until a machine joins that can: --allow-pending"});
}

TEST_CASE("an answer of another kind is an error, not a wait without end") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", done);
  const auto session = connect(folder / "sock", silent);
  CHECK(session->ask_for<wire::Submitted>(wire::AskHealth{}).error().code == Code::io);
}

TEST_CASE("where nobody listens it is told at once") {
  const TemporaryFolder folder;
  const auto session = Session::connect(place_of(folder / "sock"), silent);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == Code::not_found);
}

TEST_CASE("of several sockets the first that answers is taken") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "two", done);
  gpl::client::PeerPlace place = place_of(folder / "one");
  place.sockets.push_back(folder / "two");
  const auto session = Session::connect(place, silent);
  REQUIRE(session.ok());
  CHECK(session.value()->do_it(wire::AskHealth{}).ok());
}

TEST_CASE("a peer that refuses the caller is denied with its words") {
  const TemporaryFolder folder;
  wire::Refused refused;
  refused.message = "you are not in the group gpl";
  FakePeer peer(folder / "sock", done, refused);
  const auto session = Session::connect(place_of(folder / "sock"), silent);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error() == gpl::Error{Code::denied, "you are not in the group gpl"});
}

TEST_CASE("a peer of another protocol is named with its version") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", done, wire::Hello{7, 9, "9.1"});
  const auto session = Session::connect(place_of(folder / "sock"), silent);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == Code::unsupported);
  CHECK(session.error().message.find("9.1") != std::string::npos);
}

TEST_CASE("what is not answered when the connection is lost is asked again") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    if (self.connections() == 1) return self.hang_up();
    self.say(message.question, wire::Submitted{JobId{4}});
  });
  const auto session = connect(folder / "sock", silent);
  const wire::RerunJob question{{1, 2}, JobId{3}};
  const auto answer = session->ask_for<wire::Submitted>(question);
  REQUIRE(answer.ok());
  CHECK(session->connection() == 2);
  CHECK(peer.asked_of<wire::RerunJob>() == std::vector<wire::RerunJob>{question, question});
}

TEST_CASE("after a reconnect a question may go on from where it was") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    if (self.connections() > 1) return self.say(message.question, wire::Done{});
    self.say(message.question, wire::JobEnded{JobId{1}, {}, gpl::Exited{0}});
    self.hang_up();
  });
  const auto session = connect(folder / "sock", silent);
  std::vector<JobId> ended;
  bool over = false;
  session->ask(
      wire::WaitFor{{JobId{1}, JobId{2}}},
      [&](wire::Answer&& answer) {
        if (const auto* job = std::get_if<wire::JobEnded>(&answer)) ended.push_back(job->job);
        over = std::holds_alternative<wire::Done>(answer);
      },
      [] { return wire::Question(wire::WaitFor{{JobId{2}}}); });
  REQUIRE(session->run_until([&] { return over; }).ok());
  CHECK(ended == std::vector<JobId>{JobId{1}});
  CHECK(peer.asked_of<wire::WaitFor>() ==
        std::vector<wire::WaitFor>{{{JobId{1}, JobId{2}}}, {{JobId{2}}}});
}

TEST_CASE("what was answered is not asked again, nor what was forgotten") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::HoldJob>(message.body)) return;
    self.say(message.question, wire::Done{});
    const bool first_release =
        self.connections() == 1 && std::holds_alternative<wire::ReleaseJob>(message.body);
    if (first_release) self.hang_up();
  });
  const auto session = connect(folder / "sock", silent);
  CHECK(session->do_it(wire::CancelJob{JobId{1}, {}}).ok());
  session->forget(session->ask(wire::HoldJob{JobId{2}}, [](wire::Answer&&) { CHECK(false); }));
  CHECK(session->do_it(wire::ReleaseJob{JobId{3}}).ok());
  REQUIRE(session->run_until([&] { return session->connection() == 2; }).ok());
  CHECK(session->do_it(wire::ReleaseJob{JobId{4}}).ok());
  CHECK(peer.asked().size() == 4);
}

TEST_CASE("what told is told may ask and forget within") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", done);
  const auto session = connect(folder / "sock", silent);
  bool over = false;
  session->ask(wire::AskHealth{}, [&](wire::Answer&&) {
    session->ask(wire::AskHealth{}, [&](wire::Answer&&) { over = true; });
  });
  CHECK(session->run_until([&] { return over; }).ok());
}

TEST_CASE("a question larger than a frame is refused here") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", done);
  const auto session = connect(folder / "sock", silent);
  wire::SubmitJob question;
  question.job.spec.command = {std::string(wire::frame_limit_bytes, 'x')};
  const auto answer = session->ask_for<wire::Submitted>(question);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().message.find("asks too much at once") != std::string::npos);
}

TEST_CASE("a peer that is gone for good ends the wait with the job's name") {
  const TemporaryFolder folder;
  auto peer = std::make_unique<FakePeer>(
      folder / "sock", [](FakePeer& self, const wire::ClientMessage&) { self.hang_up(); });
  gpl::client::PeerPlace place = place_of(folder / "sock");
  place.patience_again = gpl::milliseconds(60);
  auto session = Session::connect(place, silent);
  REQUIRE(session.ok());
  session.value()->set_job(JobId{12});
  peer.reset();
  const auto answer = session.value()->do_it(wire::AskHealth{});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == Code::not_found);
  CHECK(answer.error().message.find("gpl attach 12") != std::string::npos);
}
