#include "gpl/peer/client_relays.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "far_peer.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::FarPeer;
using gpl::peer::test::FarPeers;
using wire::OutputStream;

namespace {

constexpr JobId job{5};

/// One client's relays, and the other peers, whose answers the test gives.
struct Scene {
  std::unique_ptr<net::Loop> loop = make_loop();
  FarPeers peers{*loop};
  FarPeer& lab2 = peers.at(12);
  FarSessions far{*loop, peers.connect(), "1.0"};
  std::vector<std::pair<ClientRelays::Question, wire::Answer>> told;
  std::vector<wire::Follow> broken_off;
  std::optional<ClientRelays> relays{std::in_place, far,
                                     [this](ClientRelays::Question question, wire::Answer answer) {
                                       told.emplace_back(question, std::move(answer));
                                     }};

  template <class Condition>
  void until(Condition holds) {
    run_until(*loop, holds);
  }
  void ask(ClientRelays::Question question, wire::Question body) {
    relays->ask(question, PeerId{12}, "lab2", std::move(body));
  }
  void follow(ClientRelays::Question question, wire::Follow follow) {
    relays->follow(question, PeerId{12}, std::move(follow),
                   [this](wire::Follow rest) { broken_off.push_back(std::move(rest)); });
  }
  template <class T>
  std::uint32_t asked(std::size_t count = 1) {
    until([&] { return lab2.asked<T>().size() >= count; });
    return lab2.asked<T>().back().first;
  }
  void until_told(std::size_t count) {
    until([&] { return told.size() >= count; });
  }
};

wire::Follow follow_of(std::vector<wire::Position> from = {}) {
  wire::Follow follow;
  follow.job = job;
  follow.from = std::move(from);
  return follow;
}
wire::Position at(std::uint64_t attempt, std::uint64_t offset,
                  OutputStream stream = OutputStream::out) {
  return {TaskId{0}, AttemptId{attempt}, stream, offset};
}

}  // namespace

TEST_CASE("a question is handed on, its answer comes back, and that was all") {
  Scene scene;
  scene.ask(7, wire::SignalTask{job, TaskId{0}, 15});
  CHECK(scene.relays->has(7));
  const std::uint32_t number = scene.asked<wire::SignalTask>();
  CHECK(scene.lab2.asked<wire::SignalTask>()[0].second == wire::SignalTask{job, TaskId{0}, 15});
  scene.lab2.say(number, wire::Done{});
  scene.until_told(1);
  CHECK(scene.told[0].first == 7);
  CHECK(std::holds_alternative<wire::Done>(scene.told[0].second));
  CHECK_FALSE(scene.relays->has(7));
}

TEST_CASE("a peer that cannot be reached refuses in words that name it") {
  Scene scene;
  scene.lab2.reachable = false;
  scene.ask(7, wire::SignalTask{job, TaskId{0}, 15});
  CHECK(scene.told.empty());  // never from within
  scene.until_told(1);
  const auto& refused = std::get<wire::Refused>(scene.told[0].second);
  CHECK(refused.exit_code == 125);
  CHECK(refused.message.find("lab2") != std::string::npos);
  CHECK_FALSE(scene.relays->has(7));
}

TEST_CASE("output, ends of tasks and taken input are not the last answer") {
  Scene scene;
  scene.ask(7, wire::ExecInTask{job, TaskId{0}, {"true"}});
  const std::uint32_t number = scene.asked<wire::ExecInTask>();
  scene.lab2.say(number, wire::Output{at(0, 0), "hi", 0});
  scene.lab2.say(number, wire::InputTaken{3});
  scene.lab2.say(number, wire::TaskEnded{job, TaskId{0}, AttemptId{1}, Exited{0}, "lab2"});
  scene.until_told(3);
  CHECK(scene.relays->has(7));
  scene.lab2.say(number, wire::ExecEnded{Exited{0}});
  scene.until_told(4);
  CHECK_FALSE(scene.relays->has(7));
}

TEST_CASE("what is said about an open question goes where that went, with its number there") {
  Scene scene;
  CHECK_FALSE(scene.relays->say(7, wire::Taken{7, 10}));
  scene.ask(7, wire::ExecInTask{job, TaskId{0}, {"true"}});
  const std::uint32_t number = scene.asked<wire::ExecInTask>();
  CHECK(scene.relays->say(7, wire::Taken{7, 10}));
  CHECK(scene.relays->say(7, wire::SignalExec{7, 2}));
  scene.until([&] { return !scene.lab2.asked<wire::SignalExec>().empty(); });
  CHECK(scene.lab2.asked<wire::Taken>()[0].second == wire::Taken{number, 10});
  CHECK(scene.lab2.asked<wire::SignalExec>()[0].second == wire::SignalExec{number, 2});
  CHECK_FALSE(scene.relays->say(8, wire::Taken{8, 10}));
}

TEST_CASE("output that is broken off is given back with the positions after what has come") {
  Scene scene;
  scene.follow(7, follow_of({at(1, 4)}));
  const std::uint32_t number = scene.asked<wire::Follow>();
  CHECK(scene.lab2.asked<wire::Follow>()[0].second.from == std::vector{at(1, 4)});
  scene.lab2.say(number, wire::Output{at(1, 4), "abc", 0});
  scene.lab2.say(number, wire::Output{at(1, 0, OutputStream::err), "er", 0});
  scene.lab2.say(number, wire::Output{at(1, 7), "d", 0});
  scene.lab2.say(number, wire::Output{at(2, 10), "z", 10});
  scene.until_told(4);
  scene.lab2.hang_up();
  scene.until([&] { return !scene.broken_off.empty(); });
  wire::Follow rest = follow_of({at(1, 8), at(1, 2, OutputStream::err), at(2, 11)});
  CHECK(scene.broken_off == std::vector{rest});
  CHECK_FALSE(scene.relays->has(7));
  CHECK(scene.told.size() == 4);  // and no refusal
}

TEST_CASE("a follow ends with how the job ended, or with a refusal, which is handed on") {
  Scene scene;
  scene.follow(7, follow_of());
  const std::uint32_t number = scene.asked<wire::Follow>();
  SUBCASE("ended") {
    scene.lab2.say(number, wire::TaskEnded{job, TaskId{0}, AttemptId{1}, Exited{3}, "lab2"});
    scene.lab2.say(number, wire::JobEnded{job, TaskId{0}, Exited{3}});
    scene.until_told(2);
    CHECK(std::get<wire::JobEnded>(scene.told[1].second) ==
          wire::JobEnded{job, TaskId{0}, Exited{3}});
  }
  SUBCASE("refused") {
    scene.lab2.say(number, wire::Refused{125, "no", {}});
    scene.until_told(1);
    CHECK(std::get<wire::Refused>(scene.told[0].second).message == "no");
  }
  SUBCASE("not live") {
    scene.lab2.say(number, wire::Done{});
    scene.until_told(1);
    CHECK(std::holds_alternative<wire::Done>(scene.told[0].second));
  }
  CHECK_FALSE(scene.relays->has(7));
  scene.lab2.hang_up();
  run_ready(*scene.loop);
  CHECK(scene.broken_off.empty());
}

TEST_CASE("who is told that output is broken off may ask another peer at once") {
  Scene scene;
  scene.lab2.reachable = false;
  wire::Follow rest;
  scene.relays->follow(7, PeerId{12}, follow_of(), [&](wire::Follow follow) {
    scene.relays->follow(7, PeerId{13}, std::move(follow), [](const wire::Follow&) {});
  });
  FarPeer& lab3 = scene.peers.at(13);
  scene.until([&] { return !lab3.asked<wire::Follow>().empty(); });
  CHECK(scene.relays->has(7));
  lab3.say(lab3.asked<wire::Follow>()[0].first, wire::JobEnded{job, {}, Exited{0}});
  scene.until_told(1);
  CHECK_FALSE(scene.relays->has(7));
}

TEST_CASE("a number that is used again for another question mixes up nothing") {
  Scene scene;
  scene.follow(7, follow_of());
  const std::uint32_t first = scene.asked<wire::Follow>();
  scene.ask(7, wire::SignalTask{job, TaskId{0}, 15});
  const std::uint32_t second = scene.asked<wire::SignalTask>();
  scene.lab2.say(second, wire::Done{});
  scene.until_told(1);
  CHECK_FALSE(scene.relays->has(7));
  scene.lab2.say(first, wire::Output{at(1, 0), "late", 0});
  scene.lab2.say(first, wire::JobEnded{job, {}, Exited{0}});
  scene.ask(8, wire::SignalTask{job, TaskId{0}, 15});
  scene.lab2.say(scene.asked<wire::SignalTask>(2), wire::Done{});
  scene.until([&] { return !scene.relays->has(8); });
  CHECK(scene.told.size() == 2);  // the later one took the earlier one's place
}

TEST_CASE("who has lost interest in what is followed has its number free again") {
  Scene scene;
  scene.follow(7, follow_of());
  const std::uint32_t number = scene.asked<wire::Follow>();
  CHECK(scene.relays->say(7, wire::SignalExec{7, 0}));
  CHECK_FALSE(scene.relays->has(7));
  scene.until([&] { return !scene.lab2.asked<wire::SignalExec>().empty(); });
  CHECK(scene.lab2.asked<wire::SignalExec>()[0].second == wire::SignalExec{number, 0});
  CHECK(scene.told.empty());
}

TEST_CASE("with the client its questions elsewhere end") {
  Scene scene;
  scene.follow(7, follow_of());
  const std::uint32_t number = scene.asked<wire::Follow>();
  scene.relays.reset();
  scene.until([&] { return !scene.lab2.asked<wire::SignalExec>().empty(); });
  CHECK(scene.lab2.asked<wire::SignalExec>()[0].second == wire::SignalExec{number, 0});
  scene.lab2.say(number, wire::Output{at(1, 0), "late", 0});
  run_ready(*scene.loop);
  CHECK(scene.told.empty());
  CHECK(scene.broken_off.empty());
}
