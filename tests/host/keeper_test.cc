// A real keeper in a process of its own, driven over its socket.
#include "gpl/host/keeper.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "keeper_scene.h"

using namespace gpl;
using namespace gpl::wire;
namespace to = gpl::wire::to_keeper;
namespace from = gpl::wire::from_keeper;

TEST_CASE("a keeper runs an attempt, keeps what it wrote, and tells how it ended") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "echo out; echo err >&2; exit 3");
  CHECK(scene.outcome(1) == Outcome{Exited{3}});
  CHECK(scene.output(1) == "out\n");
  CHECK(scene.output(1, "stderr") == "err\n");
  CHECK(scene.ended[scene.fence(1)].started_at);
  const auto* ended = scene.find<from::Ended>(scene.fence(1));
  REQUIRE(ended != nullptr);
  CHECK(ended->job == JobId{1});
  CHECK(scene.count<from::Prepare>() == 1);
  CHECK(scene.count<from::Running>() == 1);
  CHECK(scene.count<from::Ended>() == 1);
}

TEST_CASE("an attempt has a temporary folder of its own, which goes with it") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "touch $TMPDIR/x; echo $TMPDIR; pwd");
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  const std::string output = scene.output(1);
  const std::string temp = output.substr(0, output.find('\n'));
  CHECK(temp.find("/gpl-") != std::string::npos);
  CHECK(eventually([&] { return ::access(temp.c_str(), F_OK) != 0; }));
  CHECK(output == temp + "\n" + scene.attempt_path(1) + "/work\n");
}

TEST_CASE("a command that is not there, or a folder, ends as one that never started") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  auto order = scene.order_of(1, "");
  order.description.spec.command = {"no-such-command"};
  scene.order(order);
  const Outcome missing = scene.outcome(1);
  REQUIRE(std::holds_alternative<FailedToStart>(missing));
  CHECK(std::get<FailedToStart>(missing).exit == 127);
  order = scene.order_of(2, "true");
  order.description.spec.staging = StagingMode::none;
  order.description.spec.folder = "/no/such/folder";
  scene.order(order);
  const Outcome nowhere = scene.outcome(2);
  REQUIRE(std::holds_alternative<FailedToStart>(nowhere));
  CHECK(std::get<FailedToStart>(nowhere).exit == 125);
  CHECK(std::get<FailedToStart>(nowhere).message.find("/no/such/folder") != std::string::npos);
}

TEST_CASE("what a peer could not prepare ends so") {
  KeeperScene scene;
  scene.prepares = false;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "true");
  REQUIRE(scene.until([&] { return scene.find<from::Prepare>(scene.fence(1)) != nullptr; }));
  scene.send(to::NotPrepared{scene.fence(1), {0, 125, "no tree"}});
  CHECK(scene.outcome(1) == Outcome{FailedToStart{0, 125, "no tree"}});
}

TEST_CASE("secrets are in the environment, and nowhere on disk") {
  KeeperScene scene;
  scene.prepares = false;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "printf %s $TOKEN | tr a-z b-za");
  REQUIRE(scene.until([&] { return scene.find<from::Prepare>(scene.fence(1)) != nullptr; }));
  scene.send(to::Prepared{scene.fence(1), {{"TOKEN", "hush-hush"}}, false});
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  CHECK(scene.output(1) == "ivti-ivti");
  for (const auto& each : std::filesystem::recursive_directory_iterator(scene.state())) {
    if (!each.is_regular_file()) continue;
    std::ifstream file(each.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    CHECK(bytes.find("hush-hush") == std::string::npos);
  }
}

TEST_CASE("a peer that comes back finds what runs and what has ended meanwhile") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done; exit 7");
  scene.start(2, "sleep 1000");
  REQUIRE(scene.runs(1));
  REQUIRE(scene.runs(2));
  const std::string instance = scene.keeper_hello.instance;
  scene.disconnect();
  REQUIRE(eventually([&] { return scene.kept(1).has_value(); }));
  scene.ended.clear();
  scene.connect();
  CHECK(scene.keeper_hello.instance == instance);
  CHECK(scene.outcome(1) == Outcome{Exited{7}});
  CHECK(scene.output(1) == "1\n2\n3\n4\n5\n6\n");
  CHECK(scene.count<from::Listed>() == 1);
  CHECK(scene.runs(2));
  CHECK(scene.live.at(scene.fence(2)));
  scene.order(to_worker::Acknowledge{scene.fence(1)});
  REQUIRE(eventually([&] { return scene.acknowledged(1); }));
  scene.ended.clear();
  scene.connect();
  CHECK(scene.until([&] { return scene.find<from::Ended>(scene.fence(1)) != nullptr; }));
  CHECK(scene.ended.empty());
  scene.send(to::Discard{scene.fence(1)});
  CHECK(eventually([&] { return ::access(scene.attempt_path(1).c_str(), F_OK) != 0; }));
  scene.connect();
  CHECK(scene.runs(2));
  CHECK(scene.find<from::Ended>(scene.fence(1)) == nullptr);
}

TEST_CASE("an attempt that waits to be prepared is asked for again") {
  KeeperScene scene;
  scene.prepares = false;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "echo done");
  REQUIRE(scene.until([&] { return scene.find<from::Prepare>(scene.fence(1)) != nullptr; }));
  scene.prepares = true;
  scene.connect();
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
}

TEST_CASE("a job that ignores SIGTERM is cancelled by SIGKILL, grandchildren too") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1,
              "trap '' TERM; sh -c 'sleep 1000 & sleep 1000' & echo up; while :; do sleep 1; done");
  REQUIRE(scene.runs(1));
  REQUIRE(eventually([&] { return scene.output(1) == "up\n"; }));
  scene.order(to_worker::End{scene.fence(1)});
  CHECK(scene.outcome(1) == Outcome{Cancelled{9}});
  CHECK(processes_with(scene.mark).empty());
}

TEST_CASE("the time limit ends an attempt, and is told apart") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  auto order = scene.order_of(1, "sleep 1000");
  order.description.spec.time_limit = milliseconds(200);
  scene.order(order);
  CHECK(scene.outcome(1) == Outcome{TimedOut{15}});
}

TEST_CASE("a signal reaches the job") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "trap 'echo got; exit 5' USR1; echo up; while :; do sleep 0.02; done");
  REQUIRE(scene.runs(1));
  REQUIRE(eventually([&] { return scene.output(1) == "up\n"; }));
  scene.send(to::Signal{scene.fence(1), SIGUSR1});
  CHECK(scene.outcome(1) == Outcome{Exited{5}});
  CHECK(scene.output(1) == "up\ngot\n");
}

TEST_CASE("a watched attempt's growth is told, and its end") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "echo one; read line; echo two >&2");
  auto order = scene.order_of(2, "echo one; read line; echo two >&2; echo $line");
  order.description.spec.pass_stdin = true;
  scene.order(order);
  REQUIRE(scene.runs(2));
  scene.send(to::Watch{scene.fence(2), true});
  REQUIRE(scene.until([&] {
    const auto* grew = scene.find<from::Grew>(scene.fence(2));
    return grew != nullptr && grew->out_bytes == 4;
  }));
  CHECK_FALSE(scene.find<from::Grew>(scene.fence(2))->ended);
  scene.send(to::Input{scene.fence(2), 0, "li", false});
  scene.send(to::Input{scene.fence(2), 0, "line\n", true});  // told twice in part
  CHECK(scene.outcome(2) == Outcome{Exited{0}});
  REQUIRE(scene.until([&] { return scene.find<from::Grew>(scene.fence(2))->ended; }));
  const from::Grew last = *scene.find<from::Grew>(scene.fence(2));
  CHECK(last.out_bytes == 9);
  CHECK(last.err_bytes == 4);
  CHECK(scene.output(2) == "one\nline\n");
  REQUIRE(scene.find<from::InputTaken>(scene.fence(2)) != nullptr);
  CHECK(scene.find<from::InputTaken>(scene.fence(2))->offset == 5);
}

TEST_CASE("much input arrives whole, and a job that closes its input takes all") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  auto order = scene.order_of(1, "cat");
  order.description.spec.pass_stdin = true;
  scene.order(order);
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string part(50'000, static_cast<char>('a' + i));
    scene.send(to::Input{scene.fence(1), all.size(), part, i == 19});
    all += part;
  }
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  CHECK((scene.output(1) == all));
  order = scene.order_of(2, "exec <&-; echo closed; sleep 1000");
  order.description.spec.pass_stdin = true;
  scene.order(order);
  REQUIRE(scene.runs(2));
  REQUIRE(eventually([&] { return scene.output(2) == "closed\n"; }));
  scene.send(to::Input{scene.fence(2), 0, all, false});
  CHECK(scene.until([&] {
    const auto* taken = scene.find<from::InputTaken>(scene.fence(2));
    return taken != nullptr && taken->offset == all.size();
  }));
}

TEST_CASE("a command runs within an attempt, and ends with it") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "sleep 1000");
  REQUIRE(scene.runs(1));
  scene.send(to::Exec{scene.fence(1), 1, {"/bin/sh", "-c", "pwd; echo $GPL_JOB_ID >&2; exit 4"}});
  scene.send(to::Exec{scene.fence(1),
                      2,
                      {"/bin/sh", "-c", "trap '' TERM; sleep 1000 & echo up; wait; sleep 1000"}});
  scene.send(to::Exec{scene.fence(9), 3, {"true"}});
  std::string out;
  std::string err;
  std::map<std::uint64_t, Outcome> ended;
  const auto gather = [&] {
    for (const auto& each : std::exchange(scene.said, {})) {
      if (const auto* grew = std::get_if<from::ExecGrew>(&each); grew != nullptr) {
        (grew->stream == OutputStream::out ? out : err) += std::to_string(grew->exec) + grew->data;
      }
      if (const auto* end = std::get_if<from::ExecEnded>(&each)) ended[end->exec] = end->outcome;
    }
  };
  CHECK(scene.until([&] {
    gather();
    return ended.size() == 2 && out.find("up") != std::string::npos;
  }));
  CHECK(ended[1] == Outcome{Exited{4}});
  CHECK(std::holds_alternative<FailedToStart>(ended[3]));
  CHECK(out.find("1" + scene.attempt_path(1) + "/work\n") != std::string::npos);
  CHECK(err == "11\n");
  scene.order(to_worker::End{scene.fence(1)});
  CHECK(scene.until([&] {
    gather();
    return ended.size() == 3 && scene.ended.contains(scene.fence(1));
  }));
  CHECK(ended[2] == Outcome{Signalled{9}});
  CHECK(processes_with(scene.mark).empty());
}

TEST_CASE("no more of a command's output is on its way than its window") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "sleep 1000");
  REQUIRE(scene.runs(1));
  scene.send(to::Exec{scene.fence(1), 1, {"/bin/sh", "-c", "head -c 1000000 /dev/zero"}});
  std::uint64_t bytes = 0;
  bool ended = false;
  const auto gather = [&] {
    for (const auto& each : std::exchange(scene.said, {})) {
      if (const auto* grew = std::get_if<from::ExecGrew>(&each)) bytes += grew->data.size();
      ended = ended || std::holds_alternative<from::ExecEnded>(each);
    }
  };
  CHECK(scene.until([&] {
    gather();
    return bytes == to::exec_window_bytes;
  }));
  scene.start(2, "true");  // goes its way through the same loop
  CHECK(scene.until([&] { return scene.ended.contains(scene.fence(2)); }));
  gather();
  CHECK(bytes == to::exec_window_bytes);
  std::uint64_t taken = 0;
  CHECK(scene.until([&] {
    gather();
    if (bytes > taken) scene.send(to::ExecTaken{1, bytes - std::exchange(taken, bytes)});
    return ended;
  }));
  CHECK(bytes == 1'000'000);
}

TEST_CASE("when its peer hangs up, its commands within attempts are ended") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "exec sleep 1000");
  REQUIRE(scene.runs(1));
  scene.send(to::Exec{scene.fence(1), 1, {"/bin/sh", "-c", "sleep 1000; true"}});
  CHECK(eventually([&] { return processes_with(scene.mark).size() > 1; }));
  scene.disconnect();
  CHECK(eventually([&] { return processes_with(scene.mark).size() == 1; }));
}

TEST_CASE("a keeper is retired when no attempt is live, and leaves no socket") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "sleep 0.2");
  REQUIRE(scene.runs(1));
  scene.send(to::Retire{});
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  CHECK(scene.keeper_exit() == 0);
  CHECK(::access((scene.state() + "/keeper.sock").c_str(), F_OK) != 0);
}

TEST_CASE("SIGTERM ends a keeper's attempts, and then itself; INT and HUP do nothing") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "trap 'exit 0' TERM; while :; do sleep 0.02; done");
  REQUIRE(scene.runs(1));
  ::kill(scene.keeper(), SIGINT);
  ::kill(scene.keeper(), SIGHUP);
  scene.start(2, "echo lives");
  CHECK(scene.outcome(2) == Outcome{Exited{0}});
  ::kill(scene.keeper(), SIGTERM);
  CHECK(std::holds_alternative<Lost>(scene.outcome(1)));
  CHECK(scene.keeper_exit() == 0);
}

TEST_CASE("a state folder has one keeper") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  const pid_t second = ::fork();
  if (second == 0) {
    const Status status = gpl::host::run_keeper(scene.options);
    ::_exit(status.ok() ? 0 : status.error().code == Code::busy ? 42 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(second, &status, 0) == second);
  CHECK(WEXITSTATUS(status) == 42);
  scene.connect();
}

TEST_CASE("its socket is its user's alone, and of a long state folder in /tmp") {
  TemporaryFolder folder;
  KeeperScene scene(folder / std::string(100, 'x'));
  scene.start_keeper();
  scene.connect();
  const auto path = gpl::host::socket_path(scene.state(), "keeper.sock");
  REQUIRE(path.ok());
  CHECK(path.value().starts_with("/tmp/gpl-" + std::to_string(::geteuid()) + "/"));
  struct stat status;
  REQUIRE(::stat(path.value().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);
  scene.send(to::Retire{});
  CHECK(scene.keeper_exit() == 0);
}

TEST_CASE("hostile bytes end their connection and nothing else") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "sleep 0.5; echo fine");
  REQUIRE(scene.runs(1));
  const std::string bad[] = {std::string("\xff\xff\xff\x7f", 4), std::string("\0\0\0\0", 4),
                             std::string("\3\0\0\0abc", 7), std::string("\1\0\0\0\xc1", 5)};
  for (const std::string& bytes : bad) {
    scene.connect_raw();
    scene.send_bytes(bytes);
    CHECK(scene.hung_up());
  }
  scene.connect_raw();  // says nothing
  scene.connect();
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  scene.send_bytes(std::string("\xff\xff\xff\x7f", 4));
  CHECK(scene.hung_up());
  scene.connect();
  CHECK(scene.find<from::Ended>(scene.fence(1)) != nullptr);
}

TEST_CASE("a peer of another protocol is told which one is spoken here") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.connect_raw();
  scene.send(KeeperHello{7, 9, "later", ""});
  CHECK(scene.hung_up());
  CHECK(scene.keeper_hello.newest_protocol == keeper_protocol);
  scene.connect();
}

TEST_CASE("a newer connection takes an older one's place") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  scene.connect();
  scene.start(1, "true");
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
}

TEST_CASE("no child stays a zombie") {
  KeeperScene scene;
  scene.start_keeper();
  scene.connect();
  for (std::uint64_t i = 1; i <= 20; ++i)
    scene.start(i, "(setsid sh -c 'exit 0' &) ; sh -c true &");
  for (std::uint64_t i = 1; i <= 20; ++i) CHECK(scene.outcome(i) == Outcome{Exited{0}});
  CHECK(eventually([&] {
    return proc_file(scene.keeper(), "task/" + std::to_string(scene.keeper()) + "/children")
        .empty();
  }));
}
