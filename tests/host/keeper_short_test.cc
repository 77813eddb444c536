// What makes short attempts quick: less is asked, told, written, made and removed.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "keeper_scene.h"

using namespace gpl;
namespace to = gpl::wire::to_keeper;
namespace from = gpl::wire::from_keeper;

TEST_CASE("an attempt that was prepared ahead begins without asking") {
  KeeperScene scene;
  scene.prepares = false;
  scene.start_keeper();
  scene.connect();
  scene.send(to::Prepared{scene.fence(1), {{"TOKEN", "x"}}, false});
  scene.send(to::Prepared{scene.fence(9), {}, false});  // of one that never comes
  scene.start(1, "echo $TOKEN");
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  CHECK(scene.output(1) == "x\n");
  CHECK(scene.count<from::Prepare>() == 0);
}

TEST_CASE("what a peer prepared ahead is not the next peer's word") {
  KeeperScene scene;
  scene.prepares = false;
  scene.start_keeper();
  scene.connect();
  scene.send(to::Prepared{scene.fence(1), {}, false});
  scene.connect();
  scene.start(1, "true");
  CHECK(scene.until([&] { return scene.find<from::Prepare>(scene.fence(1)) != nullptr; }));
}

TEST_CASE("how much an attempt has written is told with its end, unasked") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "echo one; echo three >&2");
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  REQUIRE(scene.until([&] { return scene.find<from::Grew>(scene.fence(1)) != nullptr; }));
  CHECK(*scene.find<from::Grew>(scene.fence(1)) == from::Grew{scene.fence(1), 4, 6, true});
}

TEST_CASE("an attempt's begin is told to the leader, though not at once") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "sleep 1000");
  REQUIRE(scene.runs(1));
  CHECK(scene.until([&] { return scene.live[scene.fence(1)]; }));
}

TEST_CASE("attempts that end together are all kept and told") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  constexpr std::uint64_t count = 20;
  for (std::uint64_t i = 1; i <= count; ++i)
    scene.start(i, "while [ ! -e ../../go ]; do sleep 0.01; done; exit " + std::to_string(i));
  for (std::uint64_t i = 1; i <= count; ++i) REQUIRE(scene.runs(i));
  std::ofstream(scene.state() + "/attempts/go");
  for (std::uint64_t i = 1; i <= count; ++i) {
    CHECK(scene.outcome(i) == Outcome{Exited{static_cast<int>(i)}});
    CHECK(scene.kept(i).has_value());
  }
}

TEST_CASE("a folder that was left as new serves the next attempt, a temporary folder does not") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "echo $TMPDIR");
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  const std::string temp = scene.output(1);
  CHECK(eventually([&] { return ::access(temp.substr(0, temp.size() - 1).c_str(), F_OK) != 0; }));
  struct stat first;
  REQUIRE(::stat(scene.attempt_path(1).c_str(), &first) == 0);
  // Its guard, which has the folder locked, ends a moment after it has told all.
  REQUIRE(eventually([&] {
    const posix::Fd folder(::open(scene.attempt_path(1).c_str(), O_RDONLY | O_CLOEXEC));
    return ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
  }));
  scene.send(to::Discard{scene.fence(1)});
  REQUIRE(eventually([&] { return ::access(scene.attempt_path(1).c_str(), F_OK) != 0; }));
  scene.start(2, "ls -A; ls -A $TMPDIR; echo $TMPDIR");
  CHECK(scene.outcome(2) == Outcome{Exited{0}});
  struct stat second;
  REQUIRE(::stat(scene.attempt_path(2).c_str(), &second) == 0);
  CHECK(second.st_ino == first.st_ino);
  CHECK(scene.output(2) != temp);
  CHECK(scene.output(2).find('\n') == scene.output(2).size() - 1);
}
