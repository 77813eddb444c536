#include "gpl/artifact/chunk_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "gpl/artifact/exchange.h"
#include "stored.h"

using namespace gpl;
using namespace store_tests;

namespace {

Manifest tree_of(const std::vector<std::string>& contents) {
  Manifest manifest;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    TreeEntry entry;
    entry.path = std::to_string(i);
    entry.size_bytes = contents[i].size();
    entry.chunks.push_back(digest_of(contents[i]));
    manifest.entries.push_back(std::move(entry));
  }
  return manifest;
}

/// Writes over a byte of an object's file, as a bad disk would.
void damage(const TemporaryFolder& folder, const std::string& name, off_t at = 10) {
  const posix::Fd fd(::open((folder / ("store/objects/" + name)).c_str(), O_RDWR));
  char byte = 0;
  REQUIRE(::pread(fd.get(), &byte, 1, at) == 1);
  byte = static_cast<char>(byte ^ 1);
  REQUIRE(::pwrite(fd.get(), &byte, 1, at) == 1);
}

struct stat status_of(const std::string& path) {
  struct stat status = {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

}  // namespace

TEST_CASE("what was put is read back, compressed or not") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const std::string text(1'000'000, 'a');
  const std::string random = noise(chunk_size_bytes, 1);
  const auto ids = put_all(store, {text, random, "b"});
  CHECK(must(store.chunk(ids[0])).chunk.bytes() == text);
  CHECK(must(store.chunk(ids[1])).chunk.bytes() == random);
  CHECK(must(store.chunk(ids[2])).chunk.bytes() == "b");
  std::vector<std::string> expected{ids[0].hex() + ".z", ids[1].hex(), ids[2].hex()};
  std::sort(expected.begin(), expected.end());
  CHECK(names(folder / "store/objects") == expected);
}

TEST_CASE("a chunk that lies there as it is can be cloned, a compressed one cannot") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const auto ids = put_all(store, {std::string(1'000'000, 'a'), "raw"});
  CHECK_FALSE(must(store.chunk(ids[0])).raw.valid());
  const StoredChunk raw = must(store.chunk(ids[1]));
  char bytes[8] = {};
  CHECK(::pread(raw.raw.get(), bytes, sizeof bytes, 0) == 3);
  CHECK(std::string(bytes) == "raw");
}

TEST_CASE("a store is its owner's alone") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0);
  const ChunkStore store = opened(folder / "a/store");
  const Digest id = put(store, "x");
  ::umask(before);
  CHECK((status_of(folder / "a/store").st_mode & 0777U) == 0700U);
  for (const char* inner : {"objects", "pins", "intakes", "damaged"})
    CHECK((status_of(folder / ("a/store/" + std::string(inner))).st_mode & 0777U) == 0700U);
  CHECK((status_of(folder / ("a/store/objects/" + id.hex())).st_mode & 0777U) == 0600U);
}

TEST_CASE("a chunk has its name only from the commit on") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  Intake intake = must(store.intake());
  const Chunk chunk = Chunk::of("content");
  must(intake.put(chunk));
  CHECK_FALSE(has(store, chunk.id()));
  CHECK(names(folder / "store/objects").empty());
  CHECK(must(intake.missing({chunk.id()})).empty());
  CHECK(must(intake.commit()).objects == 1);
  CHECK(has(store, chunk.id()));
  CHECK(must(intake.commit()).objects == 0);
}

TEST_CASE("an intake that ends without a commit leaves nothing") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  {
    Intake intake = must(store.intake());
    must(intake.put(Chunk::of("content")));
    CHECK(names(folder / "store/intakes") == std::vector<std::string>{"1"});
  }
  CHECK(names(folder / "store/intakes").empty());
  CHECK(must(store.usage()).objects == 0);
}

TEST_CASE("missing tells each chunk once, in order, and not what is there") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const Digest there = put(store, "there");
  const Digest one = digest_of("1");
  const Digest two = digest_of("2");
  Intake intake = must(store.intake());
  CHECK(must(intake.missing({two, there, one, two, one})) == std::vector<Digest>{two, one});
}

TEST_CASE("a few files are synced one by one, many at once") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  Intake intake = must(store.intake());
  for (int i = 0; i < 3; ++i) must(intake.put(Chunk::of("few" + std::to_string(i))));
  CHECK(must(intake.commit()).syncs == 4);
  for (int i = 0; i < 1000; ++i) must(intake.put(Chunk::of("many" + std::to_string(i))));
  const Committed committed = must(intake.commit());
  CHECK(committed.objects == 1000);
  CHECK(committed.syncs == 2);
}

TEST_CASE("a commit that brings nothing costs no sync once the names are old, until others come") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  put(store, "content");
  Intake intake = must(store.intake());
  // For a tick of the clock a later change might not show.
  const Instant deadline = posix::awake_clock() + seconds(20);
  unsigned syncs = 1;
  while (syncs != 0 && posix::awake_clock() < deadline) syncs = must(intake.commit()).syncs;
  CHECK(syncs == 0);
  put(opened(folder / "store"), "of another process");
  CHECK(must(intake.commit()).syncs == 1);
}

TEST_CASE("a tree is kept with its manifest, and is whole when all its chunks are there") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const Manifest manifest = tree_of({"one", "two", "one"});
  Intake intake = must(store.intake());
  const Digest id = must(intake.put_tree(manifest));
  CHECK(id == digest_of(must(encode_manifest(manifest))));
  CHECK_FALSE(must(store.is_whole(id)));
  must(intake.put(Chunk::of("one")));
  must(intake.commit());
  CHECK_FALSE(must(store.is_whole(id)));
  CHECK(must(missing(manifest, intake)) == std::vector<Digest>{digest_of("two")});
  must(intake.put(Chunk::of("two")));
  must(intake.commit());
  CHECK(must(store.is_whole(id)));
  CHECK(must(store.tree(id)) == manifest);
  CHECK(must(store.encoded_tree(id)) == must(encode_manifest(manifest)));
  CHECK(must(intake.put_tree(manifest)) == id);
  CHECK(must(intake.commit()).objects == 0);
}

TEST_CASE("a file that holds a manifest is not taken for the tree") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const Manifest manifest = tree_of({"one"});
  const std::string encoded = must(encode_manifest(manifest));
  Intake intake = must(store.intake());
  must(intake.put(Chunk::of(encoded)));
  const Digest id = must(intake.put_tree(manifest));
  must(intake.commit());
  CHECK(must(store.usage()).objects == 2);
  CHECK(must(store.tree(id)) == manifest);
  CHECK(must(store.chunk(id)).chunk.bytes() == encoded);
}

TEST_CASE("a damaged chunk is told, moved aside, and counts as missing") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const auto ids = put_all(store, {noise(10'000, 1), std::string(1'000'000, 'a')});
  for (const std::string& name : names(folder / "store/objects")) damage(folder, name);
  for (const Digest& id : ids) {
    const auto chunk = store.chunk(id);
    REQUIRE_FALSE(chunk.ok());
    CHECK(chunk.error().code == Code::not_found);
    CHECK(chunk.error().message.find("is damaged") != std::string::npos);
    const auto again = store.chunk(id);
    REQUIRE_FALSE(again.ok());
    CHECK(again.error().message.find("is not in the store") != std::string::npos);
  }
  const StoreUsage usage = must(store.usage());
  CHECK(usage.objects == 0);
  CHECK(usage.damaged_objects == 2);
  Intake intake = must(store.intake());
  CHECK(must(intake.missing(ids)) == ids);
}

TEST_CASE("a chunk that was cut short or became something else is damaged") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const auto ids =
      put_all(store, {noise(10'000, 1), "to be empty", "to be large", "to be a folder"});
  const auto path = [&](std::size_t i) { return folder / ("store/objects/" + ids[i].hex()); };
  REQUIRE(::truncate(path(0).c_str(), 5'000) == 0);
  REQUIRE(::truncate(path(1).c_str(), 0) == 0);
  REQUIRE(::truncate(path(2).c_str(), off_t{1} << 40U) == 0);
  REQUIRE(std::filesystem::remove(path(3)));
  REQUIRE(std::filesystem::create_directory(path(3)));
  for (const Digest& id : ids) CHECK_FALSE(has(store, id));
  CHECK(must(store.usage()).damaged_objects == 4);
}

TEST_CASE("a damaged chunk is healed by putting it again") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const std::string content = noise(10'000, 1);
  const Digest id = put(store, content);
  damage(folder, id.hex());
  SUBCASE("after it was found out") { CHECK_FALSE(has(store, id)); }
  SUBCASE("before") {}
  put(store, content);
  CHECK(has(store, id));
}

TEST_CASE("a damaged manifest counts as missing") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  Intake intake = must(store.intake());
  const Digest id = must(intake.put_tree(tree_of({"one"})));
  must(intake.commit());
  damage(folder, id.hex() + ".t");
  CHECK_FALSE(must(store.is_whole(id)));
  const auto tree = store.tree(id);
  REQUIRE_FALSE(tree.ok());
  CHECK(tree.error().code == Code::not_found);
  CHECK(must(store.usage()).damaged_objects == 1);
}

TEST_CASE("a store of another version is refused, not touched") {
  const TemporaryFolder folder;
  folder.write("store/format", "gpl-store 2\n");
  const auto store = ChunkStore::open(folder / "store");
  REQUIRE_FALSE(store.ok());
  CHECK(store.error().code == Code::unsupported);
  CHECK(names(folder / "store") == std::vector<std::string>{"format"});
}

TEST_CASE("a store is opened again with all that is in it") {
  const TemporaryFolder folder;
  const Digest id = put(opened(folder / "store"), "content");
  CHECK(has(opened(folder / "store"), id));
}

TEST_CASE("usage adds up what the files take") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  put_all(store, {noise(100'000, 1), noise(50'000, 2)});
  const StoreUsage usage = must(store.usage());
  CHECK(usage.objects == 2);
  CHECK(usage.bytes >= 150'000);
  CHECK(usage.bytes < 200'000);
  CHECK(usage.damaged_objects == 0);
  CHECK(usage.damaged_bytes == 0);
}

TEST_CASE("pins are kept by owner, and making or dropping one twice is the same") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const Pin one{digest_of("tree"), "job-12"};
  const Pin two{digest_of("tree"), "result_5.17"};
  must(store.pin(two, posix::Durability::synced));
  must(store.pin(one, posix::Durability::none));
  must(store.pin(one, posix::Durability::synced));
  CHECK(must(store.pins()) == std::vector<Pin>{one, two});
  CHECK(must(opened(folder / "store").pins()) == std::vector<Pin>{one, two});
  must(store.unpin(one));
  must(store.unpin(one));
  CHECK(must(store.pins()) == std::vector<Pin>{two});
}

TEST_CASE("an owner that could be a path is refused") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  for (const std::string& owner :
       {std::string(), std::string("a/b"), std::string("a\0b", 3), std::string(101, 'a')}) {
    const Status pinned = store.pin({digest_of("tree"), owner}, posix::Durability::none);
    REQUIRE_FALSE(pinned.ok());
    CHECK(pinned.error().code == Code::invalid);
    CHECK_FALSE(store.unpin({digest_of("tree"), owner}).ok());
  }
  CHECK(must(store.pins()).empty());
}
