#include "gpl/artifact/stat_cache.h"

#include "stored.h"

using namespace gpl;
using namespace store_tests;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr Instant read_at{1'700'000'000'000};

FileState state_of(std::uint64_t inode, std::int64_t changed_ms_before_read = 1'000'000) {
  FileState state;
  state.device = 5;
  state.inode = inode;
  state.size_bytes = 10;
  state.mtime_ns = (read_at.since_epoch_ms - 1'000'000) * 1'000'000 + 1;
  state.ctime_ns = (read_at.since_epoch_ms - changed_ms_before_read) * 1'000'000 + 1;
  return state;
}

std::vector<Digest> chunks_of(const std::string& content) { return {digest_of(content)}; }

/// What a cache knows after it was saved with one file in this state.
bool remembers(const FileState& state) {
  const TemporaryFolder folder;
  StatCache cache = StatCache::load(folder / "cache", "/root");
  cache.record(state, chunks_of("x"), read_at);
  must(cache.save(read_at));
  return StatCache::load(folder / "cache", "/root").find(state) != nullptr;
}

}  // namespace

TEST_CASE("a cache knows a file in the state in which it was recorded, and in no other") {
  const TemporaryFolder folder;
  StatCache cache = StatCache::load(folder / "cache", "/root");
  for (std::uint64_t inode : {9U, 7U, 8U})
    cache.record(state_of(inode), chunks_of(std::to_string(inode)), read_at);
  must(cache.save(read_at));
  StatCache again = StatCache::load(folder / "cache", "/root");
  REQUIRE(again.find(state_of(7)) != nullptr);
  CHECK(*again.find(state_of(7)) == chunks_of("7"));
  CHECK(*again.find(state_of(9)) == chunks_of("9"));
  CHECK(again.find(state_of(6)) == nullptr);
  for (std::int64_t FileState::*field : {&FileState::mtime_ns, &FileState::ctime_ns}) {
    FileState other = state_of(7);
    ++(other.*field);
    CHECK(again.find(other) == nullptr);
  }
  for (std::uint64_t FileState::*field : {&FileState::device, &FileState::size_bytes}) {
    FileState other = state_of(7);
    ++(other.*field);
    CHECK(again.find(other) == nullptr);
  }
}

TEST_CASE("a file that changed within a tick before it was read is not remembered") {
  CHECK(remembers(state_of(1, 200)));
  CHECK_FALSE(remembers(state_of(1, 50)));
  CHECK_FALSE(remembers(state_of(1, 0)));
  CHECK_FALSE(remembers(state_of(1, -5000)));
  FileState future = state_of(1);
  future.mtime_ns = read_at.since_epoch_ms * 1'000'000;
  CHECK_FALSE(remembers(future));
}

TEST_CASE("on a file system that knows only seconds a tick is two of them") {
  FileState state = state_of(1);
  state.ctime_ns = (read_at.since_epoch_ms / 1000 - 1) * second_ns;
  CHECK_FALSE(remembers(state));
  state.ctime_ns = (read_at.since_epoch_ms / 1000 - 3) * second_ns;
  CHECK(remembers(state));
}

TEST_CASE("each tree has a cache of its own") {
  const TemporaryFolder folder;
  StatCache cache = StatCache::load(folder / "cache", "/one");
  cache.record(state_of(1), chunks_of("x"), read_at);
  must(cache.save(read_at));
  CHECK(StatCache::load(folder / "cache", "/other").find(state_of(1)) == nullptr);
  CHECK(names(folder / "cache").size() == 1);
}

TEST_CASE("a damaged cache knows nothing, and is replaced by the next that is saved") {
  const TemporaryFolder folder;
  StatCache cache = StatCache::load(folder / "cache", "/root");
  cache.record(state_of(1), chunks_of("x"), read_at);
  must(cache.save(read_at));
  const std::string name = "cache/" + names(folder / "cache").front();
  const std::string bytes = folder.read(name);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    folder.write(name, damaged);
    CHECK(StatCache::load(folder / "cache", "/root").find(state_of(1)) == nullptr);
    folder.write(name, bytes.substr(0, at));
    CHECK(StatCache::load(folder / "cache", "/root").find(state_of(1)) == nullptr);
  }
  StatCache next = StatCache::load(folder / "cache", "/root");
  next.record(state_of(2), chunks_of("y"), read_at);
  must(next.save(read_at));
  CHECK(StatCache::load(folder / "cache", "/root").find(state_of(2)) != nullptr);
}

TEST_CASE("what was not asked for again is forgotten, and an unchanged cache is not written") {
  const TemporaryFolder folder;
  StatCache cache = StatCache::load(folder / "cache", "/root");
  cache.record(state_of(1), chunks_of("x"), read_at);
  cache.record(state_of(2), chunks_of("y"), read_at);
  must(cache.save(read_at));
  const std::string path = folder / ("cache/" + names(folder / "cache").front());
  struct stat before = {};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  const auto inode_now = [&] {
    struct stat now = {};
    REQUIRE(::stat(path.c_str(), &now) == 0);
    return now.st_ino;
  };
  StatCache same = StatCache::load(folder / "cache", "/root");
  CHECK(same.find(state_of(1)) != nullptr);
  CHECK(same.find(state_of(2)) != nullptr);
  must(same.save(read_at));
  CHECK(inode_now() == before.st_ino);
  StatCache fewer = StatCache::load(folder / "cache", "/root");
  CHECK(fewer.find(state_of(2)) != nullptr);
  must(fewer.save(read_at));
  StatCache last = StatCache::load(folder / "cache", "/root");
  CHECK(last.find(state_of(1)) == nullptr);
  CHECK(last.find(state_of(2)) != nullptr);
}

TEST_CASE("two paths of one file are one row") {
  const TemporaryFolder folder;
  StatCache cache = StatCache::load(folder / "cache", "/root");
  cache.record(state_of(1), chunks_of("x"), read_at);
  cache.record(state_of(1), chunks_of("x"), read_at);
  must(cache.save(read_at));
  CHECK(StatCache::load(folder / "cache", "/root").find(state_of(1)) != nullptr);
}

TEST_CASE("a new tree's cache pushes out those that were not written for a month") {
  const TemporaryFolder folder;
  folder.write("cache/old", "x");
  folder.write("cache/new", "x");
  const timespec times[] = {{0, UTIME_OMIT}, {1'600'000'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (folder / "cache/old").c_str(), times, 0) == 0);
  StatCache cache = StatCache::load(folder / "cache", "/root");
  cache.record(state_of(1), chunks_of("x"), read_at);
  must(cache.save(read_at));
  CHECK_FALSE(std::filesystem::exists(folder / "cache/old"));
  CHECK(std::filesystem::exists(folder / "cache/new"));
}
