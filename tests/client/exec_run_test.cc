#include "gpl/client/exec_run.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "fake_peer.h"
#include "gpl/client/ask_each.h"

using gpl::AttemptId;
using gpl::Code;
using gpl::JobId;
using gpl::TaskId;
using gpl::client::Voice;
using gpl::wire::OutputStream;
namespace wire = gpl::wire;

namespace {

const Voice silent(true);

void write(FakePeer& peer, std::uint32_t question, OutputStream stream, std::uint64_t offset,
           std::string data) {
  peer.say(question, wire::Output{{TaskId{}, AttemptId{}, stream, offset}, std::move(data), 0});
}

/// One `gpl exec`, its output in files.
struct Scene {
  TemporaryFolder folder;
  gpl::posix::Fd out{::open((folder / "out").c_str(), O_RDWR | O_CREAT, 0600)};
  gpl::posix::Fd err{::open((folder / "err").c_str(), O_RDWR | O_CREAT, 0600)};
  FakePeer peer;
  std::unique_ptr<gpl::client::Session> session;

  explicit Scene(FakePeer::Answering answering)
      : peer(folder / "sock", std::move(answering)), session(connect(folder / "sock", silent)) {}

  gpl::Result<int> run() {
    const wire::ExecInTask question{JobId{12}, std::nullopt, {"nvidia-smi", "-L"}};
    return gpl::client::exec_in_task(*session, question, {out.get(), err.get(), false}, silent);
  }
};

bool is_exec(const wire::ClientMessage& message) {
  return std::holds_alternative<wire::ExecInTask>(message.body);
}

}  // namespace

TEST_CASE("a command in a job carries both streams and gives its exit code") {
  Scene scene([](FakePeer& self, const wire::ClientMessage& message) {
    if (!is_exec(message)) return;
    write(self, message.question, OutputStream::out, 0, "GPU 0\n");
    write(self, message.question, OutputStream::err, 0, "warning\n");
    write(self, message.question, OutputStream::out, 6, "GPU 1\n");
    self.say(message.question, wire::ExecEnded{gpl::Exited{3}});
  });
  const auto code = scene.run();
  REQUIRE(code.ok());
  CHECK(code.value() == 3);
  CHECK(scene.folder.read("out") == "GPU 0\nGPU 1\n");
  CHECK(scene.folder.read("err") == "warning\n");
  CHECK(scene.peer.asked_of<wire::ExecInTask>().front().command ==
        std::vector<std::string>{"nvidia-smi", "-L"});
}

TEST_CASE("what was handed on of a command's output is told under its question") {
  Scene scene([](FakePeer& self, const wire::ClientMessage& message) {
    if (is_exec(message)) write(self, message.question, OutputStream::out, 0, "12345");
    if (const auto* taken = std::get_if<wire::Taken>(&message.body))
      self.say(message.question, wire::ExecEnded{gpl::Exited{static_cast<int>(taken->bytes)}});
  });
  const auto code = scene.run();
  REQUIRE(code.ok());
  CHECK(code.value() == 5);
}

TEST_CASE("a signal that ended the command is 128 and its number") {
  Scene scene([](FakePeer& self, const wire::ClientMessage& message) {
    self.say(message.question, wire::ExecEnded{gpl::Signalled{SIGKILL, false}});
  });
  CHECK(scene.run().value() == 137);
}

TEST_CASE("a command that is refused says why") {
  Scene scene([](FakePeer& self, const wire::ClientMessage& message) {
    wire::Refused refused;
    refused.message = "job 12 does not run";
    self.say(message.question, std::move(refused));
  });
  const auto code = scene.run();
  REQUIRE_FALSE(code.ok());
  CHECK(code.error().message == "job 12 does not run");
}

TEST_CASE("a signal goes to the command, not to this process") {
  Scene scene([](FakePeer& self, const wire::ClientMessage& message) {
    if (is_exec(message)) ::kill(::getpid(), SIGTERM);
    if (const auto* signal = std::get_if<wire::SignalExec>(&message.body))
      self.say(signal->question, wire::ExecEnded{gpl::Exited{signal->signal}});
  });
  const auto code = scene.run();
  REQUIRE(code.ok());
  CHECK(code.value() == SIGTERM);
}

TEST_CASE("a second interrupt leaves the command") {
  Scene scene([](FakePeer&, const wire::ClientMessage& message) {
    // Two at once would be one.
    if (is_exec(message) || std::holds_alternative<wire::SignalExec>(message.body))
      ::kill(::getpid(), SIGINT);
  });
  CHECK(scene.run().value() == 130);
  CHECK(scene.peer.asked_of<wire::SignalExec>().size() == 1);
}

TEST_CASE("a connection that is lost ends the command, and it is not run once more") {
  Scene scene([](FakePeer& self, const wire::ClientMessage& message) {
    if (is_exec(message)) return self.hang_up();
    self.say(message.question, wire::Done{});
  });
  const auto code = scene.run();
  REQUIRE_FALSE(code.ok());
  CHECK(code.error().message.find("the connection to the peer is lost") == 0);
  // The session connects again by itself, and what it asks next is all that it asks.
  CHECK(scene.session->do_it(wire::ResumePeer{""}).ok());
  CHECK(scene.peer.asked_of<wire::ExecInTask>().size() == 1);
}

TEST_CASE("the output of an ended command is whole although the connection is gone") {
  const std::string much(1000, 'x');
  Scene scene([&](FakePeer& self, const wire::ClientMessage& message) {
    if (!is_exec(message)) return;
    write(self, message.question, OutputStream::out, 0, much);
    self.say(message.question, wire::ExecEnded{gpl::Exited{0}});
    self.hang_up();
  });
  CHECK(scene.run().value() == 0);
  CHECK(scene.folder.read("out") == much);
}

TEST_CASE("many questions get one answer each, told by their place") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    const auto* hold = std::get_if<wire::HoldJob>(&message.body);
    REQUIRE(hold != nullptr);
    self.say(message.question, wire::Submitted{hold->job});
  });
  const auto session = connect(folder / "sock", silent);
  std::vector<wire::Question> questions;
  for (std::uint64_t i = 0; i < 1000; ++i) questions.push_back(wire::HoldJob{JobId{i}});
  std::vector<int> answers(1000);
  const gpl::Status asked = gpl::client::ask_each(
      *session, questions, [&](std::size_t place, const wire::Answer& answer) {
        CHECK(std::get<wire::Submitted>(answer).job == JobId{place});
        ++answers[place];
      });
  CHECK(asked.ok());
  CHECK(answers == std::vector<int>(1000, 1));
}
