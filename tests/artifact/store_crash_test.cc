#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "../forked.h"
#include "gpl/artifact/chunk_store.h"
#include "stored.h"

using namespace gpl;
using namespace store_tests;

namespace {

constexpr Duration ever = seconds(std::int64_t{365} * 86'400);

std::string content(int number) { return "content " + std::to_string(number); }

/// A child that goes on until it is killed. It writes a byte whenever it has got somewhere.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) {
    posix::Pipe pipe = must(posix::make_pipe());
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::alarm(60);
      body([&] { (void)!::write(pipe.write.get(), "x", 1); });
      ::_exit(0);
    }
    steps_ = std::move(pipe.read);
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void await_steps(int count) {
    char byte;
    for (; count > 0; --count) REQUIRE(::read(steps_.get(), &byte, 1) == 1);
  }
  void kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  posix::Fd steps_;
};

/// Reads everything that has a name: nothing may be half there.
std::size_t whole_objects(const ChunkStore& store, const std::string& folder) {
  std::size_t whole = 0;
  for (const std::string& name : names(folder + "/objects")) {
    const auto id = Digest::from_hex(name.substr(0, 64));
    REQUIRE(id);
    CHECK(has(store, *id));
    ++whole;
  }
  CHECK(must(store.usage()).damaged_objects == 0);
  return whole;
}

/// Puts a file system of 1 MiB over a folder, for this process alone; false where nobody may.
bool mount_small_disk(const std::string& folder) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  if (user != 0) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
}

}  // namespace

TEST_CASE("a process that is killed amid its puts leaves no half chunk and loses none committed") {
  for (int round = 0; round < 5; ++round) {
    const TemporaryFolder folder;
    const std::string path = folder / "store";
    const ChunkStore store = opened(path);
    const int commits = 1 + round;
    Child child([&](auto step) {
      Result<Intake> intake = store.intake();
      for (int i = 0; intake.ok(); ++i) {
        if (!intake.value().put(Chunk::of(content(i) + noise(20'000, 1))).ok()) return;
        if (i % 3 != 2) continue;
        if (!intake.value().commit().ok()) return;
        step();
      }
    });
    child.await_steps(commits);
    child.kill();
    for (int i = 0; i < 3 * commits; ++i)
      CHECK(has(store, digest_of(content(i) + noise(20'000, 1))));
    CHECK(whole_objects(store, path) >= static_cast<std::size_t>(3 * commits));
    must(store.collect({~std::uint64_t{0}, ever}, posix::wall_clock()));
    CHECK(names(path + "/intakes").empty());
  }
}

TEST_CASE("two processes that put the same chunks do not disturb each other") {
  const TemporaryFolder folder;
  const std::string path = folder / "store";
  const auto put_thirty = [&](auto step) {
    Result<ChunkStore> store = ChunkStore::open(path);  // of two at once that make it
    if (!store.ok()) return;
    for (int i = 0; i < 30; ++i) {
      Result<Intake> intake = store.value().intake();
      if (!intake.ok() || !intake.value().put(Chunk::of(content(i))).ok()) return;
      if (!intake.value().commit().ok() || !store.value().chunk(digest_of(content(i))).ok()) return;
      step();
    }
  };
  Child one(put_thirty);
  Child two(put_thirty);
  one.await_steps(30);
  two.await_steps(30);
  CHECK(whole_objects(opened(path), path) == 30);
}

TEST_CASE("collections beside puts take nothing from them") {
  const TemporaryFolder folder;
  const std::string path = folder / "store";
  const ChunkStore store = opened(path);
  Child collector([&](auto step) {
    while (store.collect({0, ever}, posix::wall_clock()).ok()) step();
  });
  collector.await_steps(1);
  for (int i = 0; i < 24; ++i) {
    Intake intake = must(store.intake());
    Manifest manifest;
    // The first was put before by another intake, and may be there still, or not.
    for (const std::string& bytes : {content(i / 2), content(1000 + i)}) {
      const Chunk chunk = Chunk::of(bytes);
      if (!must(intake.missing({chunk.id()})).empty()) must(intake.put(chunk));
      TreeEntry entry;
      entry.path = std::to_string(manifest.entries.size());
      entry.size_bytes = bytes.size();
      entry.chunks.push_back(chunk.id());
      manifest.entries.push_back(std::move(entry));
      must(intake.commit());
    }
    const Digest tree = must(intake.put_tree(manifest));
    must(intake.commit());
    must(store.pin({tree, "job-" + std::to_string(i)}, posix::Durability::none));
    if (i % 2 == 1) must(store.unpin({tree, "job-" + std::to_string(i)}));
  }
  collector.kill();
  for (const Pin& pin : must(store.pins())) CHECK(must(store.is_whole(pin.id)));
  CHECK(must(store.pins()).size() == 12);
}

TEST_CASE("a chunk that does not fit is refused, and nothing of it stays") {
  const TemporaryFolder folder;
  const std::string path = folder / "store";
  const ChunkStore store = opened(path);
  const int result = forked([&] {
    Result<Intake> intake = store.intake();
    if (!intake.ok() || !intake.value().put(Chunk::of("fits")).ok()) return 1;
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10'000, 10'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    const Status put = intake.value().put(Chunk::of(noise(20'000, 1)));
    if (put.ok() || put.error().code != Code::io) return 3;
    if (names(path + "/intakes/1") != std::vector<std::string>{digest_of("fits").hex(), "keep"})
      return 4;
    // What fits goes on to fit.
    return intake.value().commit().ok() ? 0 : 5;
  });
  CHECK(result == 0);
  CHECK(whole_objects(store, path) == 1);
}

TEST_CASE("a full disk is told, harms nothing that was there, and recovers") {
  const TemporaryFolder folder;
  constexpr int no_mounts = 77;
  const int result = forked([&] {
    if (!mount_small_disk(folder.path())) return no_mounts;
    Result<ChunkStore> store = ChunkStore::open(folder / "store");
    if (!store.ok()) return 1;
    const Digest before = put(store.value(), "before");
    std::string words;
    {
      Result<Intake> intake = store.value().intake();
      for (std::uint64_t i = 0; intake.ok() && i < 20; ++i) {
        const Status put = intake.value().put(Chunk::of(noise(100'000, i)));
        if (put.ok()) continue;
        words = put.error().message;
        break;
      }
      if (words.find("No space left on device; free some space") == std::string::npos) return 2;
    }
    if (!store.value().chunk(before).ok()) return 3;
    if (names(folder / "store/objects").size() != 1 || !names(folder / "store/intakes").empty())
      return 4;
    return store.value().chunk(put(store.value(), noise(100'000, 1))).ok() ? 0 : 5;
  });
  if (result == no_mounts) {
    MESSAGE("no small file system could be mounted here: not tried");
  } else {
    CHECK(result == 0);
  }
}
