#include "gpl/peer/keeper_calls.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

using namespace gpl;
using namespace gpl::peer;

namespace {

const Fence attempt{1, {4}};

struct Scene {
  std::vector<wire::PeerToKeeper> sent;
  KeeperCalls calls{[this](const wire::PeerToKeeper& message) { sent.push_back(message); }};
  std::string grown;
  std::optional<Outcome> ended;

  std::uint64_t exec() {
    return calls.exec(attempt, {"ls"},
                      {[this](const wire::from_keeper::ExecGrew& grew) { grown += grew.data; },
                       [this](const Outcome& outcome) { ended = outcome; }});
  }
};

}  // namespace

TEST_CASE("a command in an attempt is told about until it ends") {
  Scene scene;
  const auto exec = scene.exec();
  scene.calls.take(wire::from_keeper::ExecGrew{exec, wire::OutputStream::out, "a"});
  scene.calls.take(wire::from_keeper::ExecGrew{exec + 1, wire::OutputStream::out, "another's"});
  scene.calls.take(wire::from_keeper::ExecEnded{exec, Exited{3}});
  scene.calls.take(wire::from_keeper::ExecGrew{exec, wire::OutputStream::out, "late"});
  CHECK(scene.grown == "a");
  CHECK(scene.ended == Outcome{Exited{3}});
}

TEST_CASE("a command that nobody waits for any more is ended") {
  Scene scene;
  const auto exec = scene.exec();
  scene.sent.clear();
  scene.calls.drop_exec(exec);
  CHECK(scene.sent == std::vector<wire::PeerToKeeper>{wire::to_keeper::ExecSignal{exec, 0}});
  scene.calls.drop_exec(exec);
  CHECK(scene.sent.size() == 1);
}

TEST_CASE("commands are lost with the keeper") {
  Scene scene;
  scene.exec();
  scene.calls.keeper_lost();
  REQUIRE(scene.ended.has_value());
  CHECK(std::holds_alternative<Lost>(*scene.ended));
}

TEST_CASE("who gives input last is told how much was taken") {
  Scene scene;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  scene.calls.input({attempt, 0, "ab", false}, [&](std::uint64_t offset) { first = offset; });
  scene.calls.input({attempt, 2, "cd", true}, [&](std::uint64_t offset) { second = offset; });
  scene.calls.take(wire::from_keeper::InputTaken{attempt, 4});
  CHECK(first == 0);
  CHECK(second == 4);
  scene.calls.drop_input(attempt);
  scene.calls.take(wire::from_keeper::InputTaken{attempt, 9});
  CHECK(second == 4);
}
