// A keeper that is killed at each of its steps, one after the other.
#include <doctest/doctest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <string>

#include "keeper_scene.h"

using namespace gpl;
namespace to = gpl::wire::to_keeper;
namespace from = gpl::wire::from_keeper;

namespace {

/// After these something is on disk, has begun, or has been told.
const std::set<std::uint64_t> steps = {
    SYS_openat,    SYS_mkdirat,   SYS_renameat2, SYS_unlinkat, SYS_pwrite64, SYS_write,
    SYS_ftruncate, SYS_fdatasync, SYS_fsync,     SYS_clone,    SYS_sendmsg,
#ifdef SYS_mkdir
    SYS_mkdir,     SYS_rmdir,     SYS_renameat,  SYS_fork,     SYS_vfork,
#endif
};

/// Follows a child from one system call to the next, and kills it before the n-th of `steps`.
class KillBefore {
 public:
  KillBefore(pid_t pid, int n) : pid_(pid), left_(n) {
    follows_ = call(PTRACE_SEIZE, PTRACE_O_TRACESYSGOOD) && call(PTRACE_INTERRUPT, 0);
  }
  bool follows() const { return follows_; }
  bool killed() const { return killed_; }

  /// Takes what it does, as long as it does something.
  void step() {
    auto last = std::chrono::steady_clock::now();
    while (!killed_ && std::chrono::steady_clock::now() - last < std::chrono::microseconds(300)) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) != pid_ || !WIFSTOPPED(status)) continue;
      last = std::chrono::steady_clock::now();
      if (WSTOPSIG(status) == (SIGTRAP | 0x80) && is_step() && --left_ == 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        killed_ = true;
        return;
      }
      call(PTRACE_SYSCALL, 0);
    }
  }

 private:
  bool call(__ptrace_request request, unsigned long data) const {
    return ::ptrace(request, pid_, nullptr, data) == 0;
  }
  bool is_step() const {
    __ptrace_syscall_info info = {};
    const long got = ::ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof info, &info);
    return got > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY && steps.contains(info.entry.nr);
  }

  pid_t pid_;
  int left_;
  bool follows_ = false;
  bool killed_ = false;
};

/// One attempt's life under a keeper that is killed before its n-th step. False: it did not come
/// to that.
bool live_through(int n) {
  CAPTURE(n);
  KeeperScene scene;
  TemporaryFolder outside;
  const Fence fence = KeeperScene::fence(1);
  const std::string script = "echo ran >>" + outside.path() + "/runs; echo $TMPDIR >" +
                             outside.path() + "/temp; echo begun; exit 4";
  scene.start_keeper();
  scene.connect();
  KillBefore fate(scene.keeper(), n);
  REQUIRE(fate.follows());
  scene.start(1, script);
  const auto until = [&](auto condition) {
    return scene.until([&] {
      fate.step();
      return fate.killed() || condition();
    });
  };
  REQUIRE(until(
      [&] { return scene.find<from::Ended>(fence) != nullptr && scene.ended.contains(fence); }));
  const bool told_leader = scene.ended.contains(fence);
  const bool told_peer = scene.find<from::Ended>(fence) != nullptr;
  if (told_peer) CHECK(scene.find<from::Ended>(fence)->outcome == Outcome{Exited{4}});
  const bool settled = !fate.killed();
  if (settled) {
    scene.order(to_worker::Acknowledge{fence});
    scene.send(to::Discard{fence});
    REQUIRE(until([&] { return ::access(scene.attempt_path(1).c_str(), F_OK) != 0; }));
  }
  const bool killed = fate.killed();
  scene.kill_keeper();
  scene.start_keeper();
  scene.ended.clear();
  scene.connect();
  REQUIRE(scene.until([&] { return scene.count<from::Listed>() == 1; }));
  if (!settled) {
    // A leader orders anew what a keeper of the same boot does not know.
    const bool known = scene.live.contains(fence) || scene.ended.contains(fence);
    if (!known && !told_leader) scene.start(1, script);
    const Outcome outcome = scene.outcome(1);
    const bool lost = outcome == Outcome{Lost{"its keeper was killed"}};
    CHECK((lost || outcome == Outcome{Exited{4}}));
    if (told_leader || told_peer) CHECK_FALSE(lost);
    if (!lost) CHECK(outside.read("runs") == "ran\n");
    if (!lost) CHECK(scene.output(1) == "begun\n");
  } else if (scene.ended.contains(fence)) {
    CHECK(scene.ended.at(fence).outcome == Outcome{Exited{4}});
  }
  CHECK(outside.read("runs").size() <= std::string("ran\n").size());  // never twice
  CHECK(eventually([&] { return processes_with(scene.mark).empty(); }));
  scene.send(to::Retire{});
  CHECK(scene.keeper_exit() == 0);
  std::string temp = outside.read("temp");
  if (!temp.empty()) temp.pop_back();
  CHECK(eventually([&] { return temp.empty() || ::access(temp.c_str(), F_OK) != 0; }));
  return killed;
}

}  // namespace

TEST_CASE("a keeper that is killed at any point has told nothing that is not so after it") {
  int n = 1;
  while (live_through(n)) ++n;
  CHECK(n > 20);
  MESSAGE("killed at ", n - 1, " points");
}
