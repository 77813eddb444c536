// What is left of attempts when their keeper, or a guard, is killed.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "keeper_scene.h"

using namespace gpl;
namespace from = gpl::wire::from_keeper;

namespace {

const std::string daemonise =
    "(setsid sh -c 'trap \"\" TERM; (while :; do sleep 0.1; done) & wait' </dev/null >/dev/null "
    "2>&1 &); ";

std::vector<pid_t> guards_of(pid_t keeper) {
  std::ifstream file("/proc/" + std::to_string(keeper) + "/task/" + std::to_string(keeper) +
                     "/children");
  std::vector<pid_t> guards;
  for (pid_t pid = 0; file >> pid;) {
    if (proc_file(pid, "comm") == "gpl-guard\n") guards.push_back(pid);
  }
  return guards;
}

}  // namespace

TEST_CASE("a killed keeper's attempts end, daemons too, and the next keeper tells of the loss") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "echo begun; " + daemonise + "sleep 1000");
  REQUIRE(scene.runs(1));
  REQUIRE(eventually([&] { return scene.output(1) == "begun\n"; }));
  scene.start(2, "echo over; exit 6");
  CHECK(scene.outcome(2) == Outcome{Exited{6}});
  CHECK(processes_with(scene.mark).size() >= 4);
  scene.kill_keeper();
  CHECK(eventually([&] { return processes_with(scene.mark).empty(); }, std::chrono::seconds(5)));
  scene.ended.clear();
  scene.start_keeper();
  scene.connect();
  CHECK(scene.outcome(1) == Outcome{Lost{"its keeper was killed"}});
  CHECK(scene.outcome(2) == Outcome{Exited{6}});
  CHECK(scene.output(1) == "begun\n");
  REQUIRE(scene.until([&] { return scene.count<from::Listed>() == 1; }));
  CHECK(std::holds_alternative<from::Listed>(scene.said.back()));  // after both
  CHECK(scene.count<from::Ended>() == 2);
  CHECK(scene.find<from::Ended>(scene.fence(1))->job == JobId{1});
  CHECK(scene.ended[scene.fence(1)].started_at);
}

TEST_CASE("a new keeper waits until the guards of the one before have ended their attempts") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "trap '' TERM; while :; do sleep 0.1; done");
  REQUIRE(scene.runs(1));
  scene.kill_keeper();
  scene.start_keeper();
  scene.connect();
  CHECK(std::holds_alternative<Lost>(scene.outcome(1)));
  CHECK(processes_with(scene.mark).empty());
}

TEST_CASE("an outcome outlives two keepers, and is not told again once it was acknowledged") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "exit 9");
  CHECK(scene.outcome(1) == Outcome{Exited{9}});
  for (int i = 0; i < 2; ++i) {
    scene.kill_keeper();
    scene.start_keeper();
    scene.ended.clear();
    scene.connect();
    CHECK(scene.outcome(1) == Outcome{Exited{9}});
  }
  scene.order(to_worker::Acknowledge{scene.fence(1)});
  REQUIRE(scene.until([&] { return scene.acknowledged(1); }));
  scene.kill_keeper();
  scene.start_keeper();
  scene.ended.clear();
  scene.connect();
  CHECK(scene.until([&] { return scene.find<from::Ended>(scene.fence(1)) != nullptr; }));
  CHECK(scene.ended.empty());
}

TEST_CASE("of two attempts, a killed guard ends its own, daemons too, and the other goes on") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, daemonise + "echo up; sleep 1000");
  REQUIRE(scene.runs(1));
  REQUIRE(eventually([&] { return scene.output(1) == "up\n"; }));
  const std::vector<pid_t> first = guards_of(scene.keeper());
  REQUIRE(first.size() == 1);
  scene.start(2, daemonise + "echo up; while [ ! -e go ]; do sleep 0.05; done; exit 8");
  REQUIRE(scene.runs(2));
  REQUIRE(eventually([&] { return scene.output(2) == "up\n"; }));
  const std::size_t both = processes_with(scene.mark).size();
  REQUIRE(::kill(first.front(), SIGKILL) == 0);
  const Outcome lost = scene.outcome(1);
  REQUIRE(std::holds_alternative<Lost>(lost));
  CHECK(std::get<Lost>(lost).why == "its guard process was killed");
  const std::size_t left = processes_with(scene.mark).size();
  CHECK(left < both);
  CHECK(left >= 3);  // the other's shell and its daemons
  std::ofstream(scene.work_path(2) + "/go");
  CHECK(scene.outcome(2) == Outcome{Exited{8}});
  CHECK(processes_with(scene.mark).empty());
}

TEST_CASE("when all guards are killed at once, nothing of their attempts is left") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  for (std::uint64_t i = 1; i <= 4; ++i) scene.start(i, daemonise + "sleep 1000");
  for (std::uint64_t i = 1; i <= 4; ++i) REQUIRE(scene.runs(i));
  for (const pid_t guard : guards_of(scene.keeper())) ::kill(guard, SIGKILL);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    CHECK(std::holds_alternative<Lost>(scene.outcome(i)));
  }
  CHECK(processes_with(scene.mark).empty());
}

TEST_CASE("an attempt whose lease runs out is ended, with nobody there to say so") {
  KeeperScene scene;
  scene.options.worker.silence = seconds(1);
  scene.start_keeper();
  scene.connect();
  auto order = scene.order_of(1, "sleep 1000");
  order.description.on_loss = OnLoss::retry;
  order.description.lease = seconds(30);
  scene.order(order);
  REQUIRE(scene.runs(1));
  scene.disconnect();
  CHECK(eventually([&] { return processes_with(scene.mark).empty(); }, std::chrono::seconds(32)));
  scene.connect();
  CHECK(std::holds_alternative<Lost>(scene.outcome(1)));
}
