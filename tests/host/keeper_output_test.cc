// What a keeper keeps of output that is too much, and where a disk is full.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "keeper_scene.h"

using namespace gpl;
namespace to = gpl::wire::to_keeper;
namespace from = gpl::wire::from_keeper;

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

// Lines of 16 bytes that say where they are.
std::string numbered(std::uint64_t lines) {
  return "seq -f %015.0f 0 " + std::to_string(lines - 1);
}
std::string line_at(std::uint64_t offset) {
  std::string digits = std::to_string(offset / 16);
  return std::string(15 - digits.size(), '0') + digits + "\n";
}
// Every byte of [from, to) is what the job wrote there.
bool is_whole(const std::string& output, std::uint64_t from, std::uint64_t to) {
  if (output.size() < to) return false;
  for (std::uint64_t at = from; at < to; ++at) {
    if (output[at] != line_at(at)[at % 16]) return false;
  }
  return true;
}

std::uint64_t on_disk(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512
                                            : 0;
}

/// Follows an attempt's output as a peer does: reads what has grown, and tells that it has it.
class Follower {
 public:
  Follower(KeeperScene& scene, std::uint64_t attempt) : scene_(scene), attempt_(attempt) {
    scene.send(to::Watch{KeeperScene::fence(attempt), true});
  }
  void take() {
    const auto* grew = scene_.find<from::Grew>(KeeperScene::fence(attempt_));
    if (grew == nullptr || grew->out_bytes == got_.size()) return;
    const gpl::posix::Fd file(
        ::open((scene_.attempt_path(attempt_) + "/stdout").c_str(), O_RDONLY | O_CLOEXEC));
    std::string chunk(grew->out_bytes - got_.size(), '\0');
    const ssize_t read =
        ::pread(file.get(), chunk.data(), chunk.size(), static_cast<off_t>(got_.size()));
    if (read <= 0) return;
    got_.append(chunk, 0, static_cast<std::size_t>(read));
    scene_.send(to::Follow{KeeperScene::fence(attempt_), true, got_.size(), 0});
  }
  const std::string& got() const { return got_; }

 private:
  KeeperScene& scene_;
  std::uint64_t attempt_;
  std::string got_;
};

/// A small file system in memory, for root.
class SmallDisk {
 public:
  explicit SmallDisk(const char* options, const char* type = "tmpfs") {
    mounted_ = ::mount("gpl-test", folder_.path().c_str(), type, 0, options) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  std::string path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("output that nobody follows keeps its head and its tail, each at its place") {
  KeeperScene scene;
  scene.options.output_cap_bytes = mib;
  scene.start_keeper();
  scene.connect();
  scene.start(1, numbered(400'000));
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  const std::uint64_t all = 400'000 * 16;
  const std::string output = scene.output(1);
  CHECK(output.size() == all);
  const host::Stretch skipped = scene.skipped(1).of[0];
  CHECK(skipped.from == mib / 2);
  CHECK(all - skipped.to >= mib / 4);
  CHECK(is_whole(output, 0, skipped.from));
  CHECK(is_whole(output, skipped.to, all));
  CHECK(on_disk(scene.attempt_path(1) + "/stdout") <= mib + 8 * kib);
  CHECK(scene.skipped(1).of[1].empty());
}

TEST_CASE("both streams share the cap, and a short one is not cut for a long one") {
  KeeperScene scene;
  scene.options.output_cap_bytes = mib;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "echo begin >&2; " + numbered(200'000) + "; echo end >&2");
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  CHECK(scene.output(1, "stderr") == "begin\nend\n");
  CHECK(scene.skipped(1).of[1].empty());
  CHECK_FALSE(scene.skipped(1).of[0].empty());
}

TEST_CASE("output within the cap is whole") {
  KeeperScene scene;
  scene.options.output_cap_bytes = mib;
  scene.start_keeper();
  scene.connect();
  scene.start(1, numbered(60'000));
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  CHECK(is_whole(scene.output(1), 0, 960'000));
  CHECK(scene.skipped(1) == host::SkippedOutput{});
}

TEST_CASE("a job whose output is followed waits at the cap, and loses nothing") {
  KeeperScene scene;
  scene.options.output_cap_bytes = 256 * kib;
  scene.followed = true;
  scene.start_keeper();
  scene.connect();
  scene.start(1, numbered(200'000) + "; exit 3");
  REQUIRE(scene.runs(1));
  const std::string file = scene.attempt_path(1) + "/stdout";
  REQUIRE(eventually([&] { return scene.output(1).size() == 256 * kib; }));
  scene.start(2, "true");  // goes its way through the same loop
  CHECK(scene.until([&] { return scene.ended.contains(scene.fence(2)); }));
  CHECK(scene.output(1).size() == 256 * kib);
  Follower follower(scene, 1);
  CHECK(scene.until([&] {
    follower.take();
    CHECK(on_disk(file) <= 256 * kib + 72 * kib);  // what the pipe held is taken at the end
    return follower.got().size() == 200'000 * 16;
  }));
  CHECK(scene.outcome(1) == Outcome{Exited{3}});
  CHECK(is_whole(follower.got(), 0, 200'000 * 16));
}

TEST_CASE("a peer that is gone holds up a followed job; when nobody follows it goes on") {
  KeeperScene scene;
  scene.options.output_cap_bytes = 256 * kib;
  scene.followed = true;
  scene.start_keeper();
  scene.connect();
  scene.start(1, numbered(100'000));
  REQUIRE(scene.runs(1));
  scene.disconnect();
  REQUIRE(eventually([&] { return scene.output(1).size() == 256 * kib; }));
  scene.connect();
  CHECK(scene.output(1).size() == 256 * kib);
  scene.send(to::Follow{scene.fence(1), false, 0, 0});
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  const std::string output = scene.output(1);
  const host::Stretch skipped = scene.skipped(1).of[0];
  CHECK(is_whole(output, 0, skipped.from));
  CHECK(is_whole(output, skipped.to, 100'000 * 16));
}

TEST_CASE("on a full disk followed output reaches its follower, and the exit is kept") {
  SmallDisk disk("size=2m");
  if (!disk.mounted()) return;  // only root may mount
  KeeperScene scene(disk.path());
  scene.followed = true;
  scene.start_keeper();
  scene.connect();
  scene.start(1, numbered(500'000) + "; exit 5");
  REQUIRE(scene.runs(1));
  Follower follower(scene, 1);
  CHECK(scene.until([&] {
    follower.take();
    return follower.got().size() == 500'000 * 16;
  }));
  CHECK(is_whole(follower.got(), 0, 500'000 * 16));
  CHECK(scene.outcome(1) == Outcome{Exited{5}});
  CHECK(scene.count<from::KeeperNote>() <= 1);  // when the job had to wait for the follower
}

TEST_CASE("on a full disk a followed job waits for space, and is not lost") {
  SmallDisk disk("size=2m");
  if (!disk.mounted()) return;
  KeeperScene scene(disk.path());
  scene.followed = true;
  scene.start_keeper();
  scene.connect();
  scene.start(1, "echo begin; while [ ! -e go ]; do sleep 0.02; done; " + numbered(20'000));
  REQUIRE(scene.runs(1));
  REQUIRE(eventually([&] { return scene.output(1) == "begin\n"; }));
  const std::string filler = disk.path() + "/filler";
  {
    const gpl::posix::Fd file(::open(filler.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    while (gpl::posix::write_all(file.get(), std::string(4096, 'x')).ok()) {
    }
  }
  const gpl::posix::Fd go(
      ::open((scene.work_path(1) + "/go").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(go.valid());
  CHECK(scene.until([&] { return scene.count<from::KeeperNote>() == 1; }));
  CHECK_FALSE(scene.ended.contains(scene.fence(1)));
  ::unlink(filler.c_str());
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  CHECK(scene.output(1).size() == 6 + 20'000 * 16);
  CHECK(scene.skipped(1) == host::SkippedOutput{});
}

TEST_CASE("on a full disk a job that nobody follows goes on, and its output says what is missing") {
  SmallDisk disk("size=2m");
  if (!disk.mounted()) return;
  KeeperScene scene(disk.path());
  scene.start_keeper();
  scene.connect();
  scene.start(1, numbered(500'000) + "; exit 5");
  CHECK(scene.outcome(1) == Outcome{Exited{5}});
  CHECK(scene.count<from::KeeperNote>() == 1);
  const host::Stretch skipped = scene.skipped(1).of[0];
  CHECK(skipped.from > 256 * kib);
  const std::string output = scene.output(1);
  CHECK(output.size() == 500'000 * 16);
  CHECK(skipped.to < output.size());
  CHECK(is_whole(output, 0, skipped.from));
  CHECK(is_whole(output, skipped.to, output.size()));
  scene.start(2, "true");  // it lives, and has room again
  const Outcome next = scene.outcome(2);
  const bool lives = next == Outcome{Exited{0}} || std::holds_alternative<FailedToStart>(next);
  CHECK(lives);
}

TEST_CASE("where a file system makes no holes, head and tail are kept all the same") {
  SmallDisk disk("", "ramfs");
  if (!disk.mounted()) return;
  KeeperScene scene(disk.path());
  scene.options.output_cap_bytes = mib;
  scene.start_keeper();
  scene.connect();
  scene.start(1, numbered(400'000));
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  const std::string output = scene.output(1);
  const host::Stretch skipped = scene.skipped(1).of[0];
  CHECK(output.size() == 400'000 * 16);
  CHECK(skipped.from == mib / 2);
  CHECK(output.size() - skipped.to <= mib / 2);
  CHECK(is_whole(output, 0, skipped.from));
  CHECK(is_whole(output, skipped.to, output.size()));
}

TEST_CASE("where a file system makes no holes, followed output is whole for its follower") {
  SmallDisk disk("", "ramfs");
  if (!disk.mounted()) return;
  KeeperScene scene(disk.path());
  scene.options.output_cap_bytes = 256 * kib;
  scene.followed = true;
  scene.start_keeper();
  scene.connect();
  scene.start(1, numbered(200'000));
  REQUIRE(scene.runs(1));
  Follower follower(scene, 1);
  CHECK(scene.until([&] {
    follower.take();
    return follower.got().size() == 200'000 * 16;
  }));
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  CHECK(is_whole(follower.got(), 0, 200'000 * 16));
}
