#include "gpl/peer/keeper_link.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../net/run_until.h"
#include "../temporary_folder.h"
#include "fake_keeper.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::FakeKeeper;

namespace {

struct Scene {
  TemporaryFolder state;
  std::unique_ptr<net::Loop> loop = make_loop();
  std::vector<bool> changes;
  std::vector<wire::KeeperToPeer> messages;
  std::vector<std::string> notes;
  std::optional<KeeperLink> link;

  explicit Scene(const std::string& program = "/bin/false") {
    link.emplace(*loop, state.path(), program,
                 KeeperLink::Told{
                     [this](wire::KeeperToPeer message) { messages.push_back(std::move(message)); },
                     [this](bool connected) { changes.push_back(connected); },
                     [this](const std::string& note) { notes.push_back(note); }});
  }
  template <class Condition>
  void until(Condition holds) {
    run_until(*loop, holds);
  }
};

const wire::to_keeper::Signal word{{1, {4}}, 15};

}  // namespace

TEST_CASE("a keeper that runs is found, greeted, and talked with") {
  Scene scene;
  FakeKeeper keeper(*scene.loop, scene.state.path());
  CHECK_FALSE(scene.link->connected());
  scene.link->send(word);  // nobody is there: dropped
  scene.link->start();
  scene.until([&] { return scene.link->connected() && keeper.connected(); });
  CHECK(scene.changes == std::vector<bool>{true});
  REQUIRE(scene.link->hello().has_value());
  CHECK(scene.link->hello()->instance == keeper.hello.instance);

  keeper.say(wire::from_keeper::Listed{});
  scene.until([&] { return !scene.messages.empty(); });
  CHECK(scene.messages ==
        std::vector<wire::KeeperToPeer>{wire::KeeperToPeer{wire::from_keeper::Listed{}}});
  scene.link->send(word);
  scene.until([&] { return !keeper.heard<wire::to_keeper::Signal>().empty(); });
  CHECK(keeper.heard<wire::to_keeper::Signal>() == std::vector{word});
  CHECK(scene.notes.empty());
  CHECK_FALSE(std::filesystem::exists(scene.state / "keeper.log"));  // none was started
}

TEST_CASE("a keeper that is lost is found again") {
  Scene scene;
  FakeKeeper keeper(*scene.loop, scene.state.path());
  scene.link->start();
  scene.until([&] { return scene.link->connected(); });
  keeper.hang_up();
  scene.until([&] { return scene.changes.size() == 3; });
  CHECK(scene.changes == std::vector<bool>{true, false, true});
  CHECK(keeper.connections() == 2);
  REQUIRE(scene.notes.size() == 1);
  CHECK(scene.notes[0].starts_with("the keeper is gone"));
}

TEST_CASE("when nobody answers the program is started as a keeper, and then connected") {
  TemporaryFolder place;
  const std::string program =
      place.write("program", "#!/bin/sh\necho \"$@\" > \"$2/words\"\n", 0755);
  Scene scene(program);
  scene.link->start();
  scene.until([&] { return !scene.state.read("words").empty(); });
  CHECK(scene.state.read("words") == "keeper " + scene.state.path() + "\n");
  FakeKeeper keeper(*scene.loop, scene.state.path());
  scene.until([&] { return scene.link->connected(); });
  CHECK(keeper.connections() == 1);
}

TEST_CASE("a socket that a dead keeper left does not hide that there is none") {
  TemporaryFolder place;
  const std::string program = place.write("program", "#!/bin/sh\n: > \"$2/began\"\n", 0755);
  Scene scene(program);
  {
    const int left = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = scene.state / "keeper.sock";
    std::copy(path.begin(), path.end(), address.sun_path);
    REQUIRE(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    ::close(left);
  }
  scene.link->start();
  scene.until([&] { return std::filesystem::exists(scene.state / "began"); });
  CHECK_FALSE(scene.link->connected());
}

TEST_CASE("a program that cannot be started is tried again, and the peer goes on") {
  Scene scene("/nonexistent/gpl");
  scene.link->start();
  scene.until([&] { return !scene.notes.empty(); });
  CHECK(scene.notes[0].starts_with("the keeper does not answer"));
  FakeKeeper keeper(*scene.loop, scene.state.path());
  scene.until([&] { return scene.link->connected(); });
}

TEST_CASE("a keeper of an unknown protocol is left alone, and its words are not taken") {
  Scene scene;
  FakeKeeper keeper(*scene.loop, scene.state.path());
  keeper.hello.oldest_protocol = keeper.hello.newest_protocol = wire::keeper_protocol + 1;
  keeper.hello.version = "99.0";
  keeper.greeted = [&] { keeper.say(wire::from_keeper::Listed{}); };
  scene.link->start();
  scene.until([&] { return keeper.connections() == 3; });
  CHECK(scene.messages.empty());
  CHECK(scene.changes.empty());
  CHECK_FALSE(scene.link->connected());
  REQUIRE(scene.notes.size() == 1);  // said once, however often it is tried
  CHECK(scene.notes[0].find("99.0") != std::string::npos);
}

TEST_CASE("a keeper that takes the place of one of an unknown protocol is taken") {
  Scene scene;
  FakeKeeper keeper(*scene.loop, scene.state.path());
  keeper.hello.oldest_protocol = keeper.hello.newest_protocol = wire::keeper_protocol + 1;
  scene.link->start();
  scene.until([&] { return !scene.notes.empty(); });
  keeper.hello.oldest_protocol = keeper.hello.newest_protocol = wire::keeper_protocol;
  scene.until([&] { return scene.link->connected(); });
  CHECK(scene.changes == std::vector<bool>{true});
}

TEST_CASE("what is no message ends the connection, not the peer") {
  Scene scene;
  FakeKeeper keeper(*scene.loop, scene.state.path());
  scene.link->start();
  scene.until([&] { return scene.link->connected() && keeper.connected(); });
  keeper.say_bytes("\x7f nonsense");
  scene.until([&] { return scene.changes.size() == 3; });
  CHECK(scene.changes == std::vector<bool>{true, false, true});
  CHECK(scene.notes.front().starts_with("the keeper said what is no message"));
}

TEST_CASE("a keeper that was retired is not looked for again") {
  Scene scene;
  {
    FakeKeeper keeper(*scene.loop, scene.state.path());
    scene.link->start();
    scene.until([&] { return scene.link->connected() && keeper.connected(); });
    scene.link->retire();
    scene.until([&] { return !keeper.heard<wire::to_keeper::Retire>().empty(); });
  }
  scene.until([&] { return scene.changes.size() == 2; });
  run_ready(*scene.loop);
  CHECK_FALSE(scene.loop->run_one(milliseconds(50)));  // nothing is tried any more
  CHECK(scene.notes.empty());
  CHECK_FALSE(std::filesystem::exists(scene.state / "keeper.log"));
}
