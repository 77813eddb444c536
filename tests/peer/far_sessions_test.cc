#include "gpl/peer/far_sessions.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "far_peer.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::FarPeer;
using gpl::peer::test::FarPeers;

namespace {

constexpr PeerId lab2{2};

struct Scene {
  std::unique_ptr<net::Loop> loop = make_loop();
  FarPeers peers{*loop};
  FarPeer& peer = peers.at(2);
  std::optional<FarSessions> far{std::in_place, *loop, peers.connect(), "1.0", seconds(60)};
  std::vector<wire::Answer> answers;
  std::vector<Error> errors;

  FarSessions::Told told() {
    return [this](Result<wire::Answer> answer) {
      if (answer.ok()) {
        answers.push_back(std::move(answer).value());
      } else {
        errors.push_back(answer.error());
      }
    };
  }
  FarSessions::Number ask(wire::Question question) {
    return far->ask(lab2, std::move(question), told());
  }
  template <class Condition>
  void until(Condition holds) {
    run_until(*loop, holds);
  }
  /// The last question that it was asked has this number there.
  std::uint32_t heard(std::size_t count = 1) {
    until([&] { return peer.heard.size() >= count; });
    return peer.heard.back().question;
  }
};

wire::Output output(const std::string& data) {
  return {{TaskId{}, AttemptId{1}, wire::OutputStream::out, 0}, data, 0};
}

}  // namespace

TEST_CASE("questions wait for the hellos, and then share one connection, in order") {
  Scene scene;
  (void)scene.ask(wire::AskHealth{});
  (void)scene.ask(wire::AskJobNotes{JobId{7}});
  CHECK(scene.peer.dials == 0);
  scene.until([&] { return scene.peer.heard.size() == 2; });
  CHECK(scene.peer.dials == 1);
  CHECK(std::holds_alternative<wire::AskHealth>(scene.peer.heard[0].body));
  CHECK(scene.peer.heard[1].body == wire::Question(wire::AskJobNotes{JobId{7}}));
  CHECK(scene.peer.heard[0].question != scene.peer.heard[1].question);
}

TEST_CASE("an answer goes to its question, whatever the order, and what comes after it to nobody") {
  Scene scene;
  std::vector<std::string> order;
  (void)scene.far->ask(lab2, wire::AskHealth{}, [&](const Result<wire::Answer>& answer) {
    CHECK(std::holds_alternative<wire::Health>(answer.value()));
    order.emplace_back("health");
  });
  (void)scene.far->ask(lab2, wire::AskJobNotes{}, [&](const Result<wire::Answer>& answer) {
    CHECK(std::holds_alternative<wire::JobNotesAre>(answer.value()));
    order.emplace_back("notes");
  });
  scene.until([&] { return scene.peer.heard.size() == 2; });
  scene.peer.say(scene.peer.heard[1].question, wire::JobNotesAre{});
  scene.peer.say(scene.peer.heard[1].question, wire::JobNotesAre{});
  scene.peer.say(scene.peer.heard[0].question, wire::Health{});
  scene.until([&] { return order.size() >= 2; });
  run_ready(*scene.loop);
  CHECK(order == std::vector<std::string>{"notes", "health"});
}

TEST_CASE("a question that goes on is open until its last answer") {
  Scene scene;
  const auto number = scene.ask(wire::FollowAttempt{});
  const std::uint32_t question = scene.heard();
  scene.peer.say(question, output("a"));
  scene.peer.say(question, output("b"));
  scene.peer.say(question, wire::AttemptOver{});
  scene.peer.say(question, output("c"));
  scene.until([&] { return scene.answers.size() >= 3; });
  run_ready(*scene.loop);
  CHECK(scene.answers.size() == 3);
  CHECK(scene.far->queued_bytes(number) == 0);
}

TEST_CASE(
    "JobEnded is the last answer of who follows a job, and one of many of who waits for jobs") {
  Scene scene;
  (void)scene.ask(wire::Follow{});
  (void)scene.ask(wire::WaitFor{{JobId{1}, JobId{2}}});
  scene.until([&] { return scene.peer.heard.size() == 2; });
  const std::vector<wire::ClientMessage> heard = scene.peer.heard;
  for (const auto& message : heard) {
    scene.peer.say(message.question, wire::JobEnded{JobId{1}, {}, Exited{0}});
    scene.peer.say(message.question, wire::JobEnded{JobId{2}, {}, Exited{0}});
  }
  scene.peer.say(scene.peer.heard[1].question, wire::Done{});
  scene.until([&] { return scene.answers.size() >= 4; });
  CHECK(scene.answers.size() == 4);
}

TEST_CASE("what is said about a question carries the number that it has there") {
  Scene scene;
  (void)scene.ask(wire::AskHealth{});
  const auto number = scene.ask(wire::ExecInTask{JobId{1}, {}, {"sh"}});
  scene.far->say(number, wire::Taken{77, 5});
  scene.far->say(number, wire::SignalExec{77, 15});
  scene.until([&] { return scene.peer.heard.size() == 4; });
  const std::uint32_t question = scene.peer.heard[1].question;
  CHECK(scene.peer.heard[2] == wire::ClientMessage{question, wire::Taken{question, 5}});
  CHECK(scene.peer.heard[3] == wire::ClientMessage{question, wire::SignalExec{question, 15}});
}

TEST_CASE("what is forgotten is told no more, and where it would go on the other peer is told so") {
  Scene scene;
  scene.far->forget(scene.ask(wire::FollowAttempt{}));
  scene.far->forget(scene.ask(wire::AskHealth{}));
  (void)scene.ask(wire::AskJobNotes{});
  scene.until([&] { return scene.peer.heard.size() == 4; });
  const std::uint32_t question = scene.peer.heard[0].question;
  CHECK(scene.peer.heard[1] == wire::ClientMessage{question, wire::SignalExec{question, 0}});
  CHECK(std::holds_alternative<wire::AskHealth>(scene.peer.heard[2].body));
  CHECK(std::holds_alternative<wire::AskJobNotes>(scene.peer.heard[3].body));
  scene.peer.say(question, output("late"));
  scene.peer.say(scene.peer.heard[3].question, wire::JobNotesAre{});
  scene.until([&] { return !scene.answers.empty(); });
  CHECK(scene.answers.size() == 1);
}

TEST_CASE(
    "a peer that cannot be reached ends all questions to it, and is dialled anew by the next") {
  Scene scene;
  scene.peer.reachable = false;
  (void)scene.ask(wire::AskHealth{});
  (void)scene.ask(wire::AskJobNotes{});
  CHECK(scene.errors.empty());
  scene.until([&] { return scene.errors.size() == 2; });
  CHECK(scene.errors[0].code == Code::not_found);
  CHECK(scene.errors[0].message.find("no route") != std::string::npos);
  scene.peer.reachable = true;
  (void)scene.ask(wire::AskHealth{});
  scene.peer.answers = [&](std::uint32_t question, const wire::Question&) {
    scene.peer.say(question, wire::Health{});
  };
  scene.until([&] { return scene.answers.size() == 1; });
  CHECK(scene.peer.dials == 2);
}

TEST_CASE("a lost connection ends all open questions, of that peer alone") {
  Scene scene;
  (void)scene.ask(wire::FollowAttempt{});
  (void)scene.ask(wire::FollowAttempt{});
  (void)scene.far->ask(PeerId{3}, wire::FollowAttempt{}, scene.told());
  scene.until([&] { return scene.peer.heard.size() == 2 && scene.peers.at(3).heard.size() == 1; });
  scene.peer.hang_up();
  scene.until([&] { return scene.errors.size() >= 2; });
  run_ready(*scene.loop);
  CHECK(scene.errors.size() == 2);
  CHECK(scene.errors[0].code == Code::not_found);
  CHECK(scene.peers.at(3).is_connected());
}

TEST_CASE("who is told of a lost connection may ask anew, and forget what was to be told next") {
  Scene scene;
  FarSessions::Number second = 0;
  (void)scene.far->ask(lab2, wire::FollowAttempt{}, [&](const Result<wire::Answer>& answer) {
    CHECK_FALSE(answer.ok());
    scene.far->say(second, wire::Taken{0, 1});
    scene.far->forget(second);
    (void)scene.ask(wire::AskHealth{});
  });
  second = scene.ask(wire::FollowAttempt{});
  scene.heard(2);
  scene.peer.hang_up();
  scene.until([&] { return scene.peer.dials == 2 && scene.peer.heard.size() == 3; });
  CHECK(std::holds_alternative<wire::AskHealth>(scene.peer.heard[2].body));
  CHECK(scene.errors.empty());
}

TEST_CASE("a peer that shares no protocol is told of in words that name both versions") {
  Scene scene;
  scene.peer.protocol = wire::client_protocol + 1;
  (void)scene.ask(wire::AskHealth{});
  scene.until([&] { return scene.errors.size() == 1; });
  CHECK(scene.errors[0].message.find("it is gpl test") != std::string::npos);
  CHECK(scene.peer.heard.empty());
}

TEST_CASE(
    "a connection without a question is closed after a while, and one with a question is not") {
  Scene scene;
  scene.far.emplace(*scene.loop, scene.peers.connect(), "1.0", milliseconds(1));
  (void)scene.far->ask(PeerId{3}, wire::FollowAttempt{}, scene.told());
  (void)scene.ask(wire::AskHealth{});
  scene.peer.say(scene.heard(), wire::Health{});
  scene.until([&] { return !scene.answers.empty() && !scene.peer.is_connected(); });
  CHECK(scene.peers.at(3).is_connected());
  CHECK(scene.errors.empty());
  (void)scene.ask(wire::AskHealth{});
  scene.heard(2);
  CHECK(scene.peer.dials == 2);
}

TEST_CASE("a question that fits no frame is refused, from the loop") {
  Scene scene;
  wire::WaitFor large;
  large.jobs.resize(wire::frame_limit_bytes, JobId{1});
  (void)scene.ask(std::move(large));
  CHECK(scene.errors.empty());
  scene.until([&] { return scene.errors.size() == 1; });
  CHECK(scene.errors[0].code == Code::too_large);
}

TEST_CASE("what is told may end the sessions") {
  Scene scene;
  (void)scene.far->ask(lab2, wire::AskHealth{},
                       [&](const Result<wire::Answer>&) { scene.far.reset(); });
  (void)scene.ask(wire::FollowAttempt{});
  scene.heard(2);
  scene.peer.say(scene.peer.heard[0].question, wire::Health{});
  scene.until([&] { return !scene.far && !scene.peer.is_connected(); });
  CHECK(scene.answers.empty());
  CHECK(scene.errors.empty());
}

TEST_CASE("a peer that has lost its link answers nothing any more, though its connection stands") {
  Scene scene;
  (void)scene.ask(wire::FollowAttempt{});
  const std::uint32_t question = scene.heard();
  scene.far->lost(lab2);
  CHECK(scene.errors.empty());  // never from within
  scene.until([&] { return !scene.errors.empty(); });
  CHECK(scene.errors[0].code == Code::not_found);
  scene.peer.say(question, output("late"));
  run_ready(*scene.loop);
  CHECK(scene.answers.empty());
  (void)scene.ask(wire::AskHealth{});
  scene.until([&] { return scene.peer.heard.size() == 2; });
  CHECK(scene.peer.dials == 2);
  scene.far->lost(PeerId{9});  // nothing was asked of that one
}
