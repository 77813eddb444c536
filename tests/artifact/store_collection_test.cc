#include <sys/stat.h>

#include "../forked.h"
#include "gpl/artifact/chunk_store.h"
#include "stored.h"

using namespace gpl;
using namespace store_tests;

namespace {

constexpr Duration ever = seconds(std::int64_t{365} * 86'400);
constexpr std::uint64_t plenty = std::uint64_t{1} << 40U;

/// Makes it look as if an object was last used so long ago.
void age(const TemporaryFolder& folder, const std::string& name, std::int64_t hours) {
  const std::int64_t then = posix::wall_clock().since_epoch_ms / 1000 - hours * 3600;
  const timespec times[] = {{then, 0}, {then, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (folder / ("store/" + name)).c_str(), times, 0) == 0);
}
void age(const TemporaryFolder& folder, const Digest& id, std::int64_t hours) {
  age(folder, "objects/" + id.hex(), hours);
}

bool is_there(const TemporaryFolder& folder, const Digest& id) {
  return std::filesystem::exists(folder / ("store/objects/" + id.hex()));
}

Collected collected(const ChunkStore& store, std::uint64_t max_bytes, Duration max_age = ever) {
  return must(store.collect({max_bytes, max_age}, posix::wall_clock()));
}

Digest put_tree(const ChunkStore& store, const std::string& content) {
  Intake intake = must(store.intake());
  TreeEntry entry;
  entry.path = "file";
  entry.size_bytes = content.size();
  entry.chunks.push_back(digest_of(content));
  must(intake.put(Chunk::of(content)));
  const Digest id = must(intake.put_tree({{entry}}));
  must(intake.commit());
  return id;
}

}  // namespace

TEST_CASE("below the limits nothing is collected") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  put_all(store, {"a", "b"});
  const Collected done = collected(store, plenty);
  CHECK(done.removed_objects == 0);
  CHECK(done.needed_bytes == 0);
  CHECK(done.kept_bytes == must(store.usage()).bytes);
}

TEST_CASE("over the limit what was not used for longest goes first, and no more than must") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const auto ids = put_all(store, {noise(8192, 1), noise(8192, 2), noise(8192, 3)});
  age(folder, ids[0], 2);
  age(folder, ids[1], 3);
  age(folder, ids[2], 1);
  const Collected done = collected(store, std::uint64_t{3} * 8192 - 1);
  CHECK(done.removed_objects == 1);
  CHECK(done.removed_bytes == 8192);
  CHECK(done.kept_bytes == 2 * 8192);
  CHECK_FALSE(is_there(folder, ids[1]));
  CHECK(is_there(folder, ids[0]));
  CHECK(is_there(folder, ids[2]));
}

TEST_CASE("being read, or asked about, is use") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const auto ids = put_all(store, {"read", "asked about", "neither"});
  for (const Digest& id : ids) age(folder, id, 5);
  CHECK(has(store, ids[0]));
  {
    Intake intake = must(store.intake());
    CHECK(must(intake.missing({ids[1]})).empty());
  }
  CHECK(collected(store, plenty, seconds(3600)).removed_objects == 1);
  CHECK_FALSE(is_there(folder, ids[2]));
}

TEST_CASE("what is too old goes, whatever the size") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const auto ids = put_all(store, {"a", "b"});
  age(folder, ids[0], 49);
  CHECK(collected(store, plenty, seconds(48 * 3600)).removed_objects == 1);
  CHECK(is_there(folder, ids[1]));
}

TEST_CASE("a pinned tree keeps its manifest and its chunks, until the last owner lets go") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const Digest needed = put_tree(store, "needed");
  const Digest other = put_tree(store, "other");
  must(store.pin({needed, "job-1"}, posix::Durability::none));
  must(store.pin({needed, "job-2"}, posix::Durability::none));
  const Collected done = collected(store, 0);
  CHECK(done.removed_objects == 2);
  CHECK(done.kept_bytes == done.needed_bytes);
  CHECK(must(store.is_whole(needed)));
  CHECK_FALSE(must(store.is_whole(other)));
  must(store.unpin({needed, "job-1"}));
  CHECK(collected(store, 0).removed_objects == 0);
  must(store.unpin({needed, "job-2"}));
  CHECK(collected(store, 0).removed_objects == 2);
}

TEST_CASE("a single chunk can be pinned") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const auto ids = put_all(store, {"a", "b"});
  must(store.pin({ids[0], "argv-of-3"}, posix::Durability::none));
  CHECK(collected(store, 0).removed_objects == 1);
  CHECK(is_there(folder, ids[0]));
}

TEST_CASE("what an intake was told to be there, or has put, is not collected while it lives") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const auto ids = put_all(store, {"asked about", "nobody's"});
  const Digest tree = put_tree(store, "of a tree");
  {
    Intake intake = must(store.intake());
    CHECK(must(intake.missing({ids[0]})).empty());
    must(intake.put(Chunk::of("put")));
    must(intake.commit());
    must(intake.put(Chunk::of("staged")));
    CHECK(must(intake.put_tree(must(store.tree(tree)))) == tree);
    CHECK(collected(store, 0).removed_objects == 2);
    CHECK(is_there(folder, ids[0]));
    CHECK(is_there(folder, digest_of("put")));
    CHECK(store.tree(tree).ok());
    must(intake.commit());
    CHECK(is_there(folder, digest_of("staged")));
  }
  CHECK(collected(store, 0).removed_objects == 4);
}

TEST_CASE("what a dead process was taking in is removed, a living one's is not") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  Intake living = must(store.intake());
  must(living.put(Chunk::of("living")));
  const int died = forked([&] {
    Result<Intake> dying = store.intake();
    if (!dying.ok() || !dying.value().put(Chunk::of("dying")).ok()) return 1;
    ::kill(::getpid(), SIGKILL);
    return 2;
  });
  CHECK(died == 128 + SIGKILL);
  CHECK(names(folder / "store/intakes") == std::vector<std::string>{"1", "2"});
  collected(store, plenty);
  CHECK(names(folder / "store/intakes") == std::vector<std::string>{"1"});
  must(living.commit());
  CHECK(has(store, digest_of("living")));
}

TEST_CASE("an intake's folder without its file is one that did not come to be") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  std::filesystem::create_directory(folder / "store/intakes/7");
  collected(store, plenty);
  CHECK(names(folder / "store/intakes").empty());
}

TEST_CASE("damaged objects are removed after a week") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  folder.write("store/damaged/new", "x");
  folder.write("store/damaged/old", "x");
  age(folder, "damaged/old", 24 * 7 + 1);
  collected(store, plenty);
  CHECK(names(folder / "store/damaged") == std::vector<std::string>{"new"});
}

TEST_CASE("files that are not the store's are left alone") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  folder.write("store/objects/notes.txt", "x");
  folder.write("store/pins/notes.txt", "x");
  age(folder, "objects/notes.txt", 1'000'000);
  CHECK(collected(store, 0).removed_objects == 0);
  CHECK(must(store.pins()).empty());
}

TEST_CASE("a pin whose tree is damaged or not there holds up nothing") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const Digest tree = put_tree(store, "content");
  must(store.pin({tree, "job-1"}, posix::Durability::none));
  must(store.pin({digest_of("nowhere"), "job-2"}, posix::Durability::none));
  REQUIRE(::truncate((folder / ("store/objects/" + tree.hex() + ".t")).c_str(), 3) == 0);
  CHECK(collected(store, 0).removed_objects == 1);
  CHECK(must(store.usage()).damaged_objects == 1);
}

TEST_CASE("a manifest that cannot be read stops the collection before anything is removed") {
  const TemporaryFolder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  const int result = forked([&] {
    if (!become_ordinary_user()) return 1;
    Result<ChunkStore> store = ChunkStore::open(folder / "store");
    if (!store.ok()) return 2;
    const Digest tree = put_tree(store.value(), "content");
    const std::string manifest = folder / ("store/objects/" + tree.hex() + ".t");
    if (!store.value().pin({tree, "job-1"}, posix::Durability::none).ok()) return 3;
    if (::chmod(manifest.c_str(), 0) != 0) return 4;
    const auto done = store.value().collect({0, ever}, posix::wall_clock());
    if (done.ok() || done.error().code != Code::denied) return 5;
    return is_there(folder, digest_of("content")) ? 0 : 6;
  });
  CHECK(result == 0);
}
