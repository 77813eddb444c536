#include "gpl/artifact/tree_snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stored.h"

using namespace gpl;
using namespace store_tests;

namespace {

/// A sink that loses what it was given, when told to.
class ForgetfulSink : public MemorySink {
 public:
  void forget(const Digest& id) { chunks.erase(id); }
};

class FullSink : public MemorySink {
 public:
  Status put(const Chunk&) override { return Error{Code::io, "the store is full"}; }
};

std::vector<std::string> paths(const Manifest& manifest) {
  std::vector<std::string> all;
  for (const TreeEntry& entry : manifest.entries) all.push_back(entry.path);
  return all;
}

}  // namespace

TEST_CASE("a tree is taken with content, modes, links and empty folders") {
  const TemporaryFolder root;
  MemorySink sink;
  root.write("dir/run.sh", "#!/bin/sh\n", 04755);
  std::filesystem::create_directory(root / "empty");
  selection_tests::link("/no/such/place", root / "link");
  const timespec times[] = {{1, 0}, {1'234'567'890, 987'654'321}};
  REQUIRE(::utimensat(AT_FDCWD, (root / "dir/run.sh").c_str(), times, 0) == 0);
  const TreeSnapshot snapshot = taken(root.path(), sink);
  const Manifest& manifest = snapshot.manifest;
  CHECK(paths(manifest) == std::vector<std::string>{"dir", "dir/run.sh", "empty", "link"});
  const TreeEntry& script = entry_at(manifest, "dir/run.sh");
  CHECK(sink.content(script) == "#!/bin/sh\n");
  CHECK(script.mode == 0755U);
  CHECK(script.mtime_ns == 1'234'567'890'987'654'321);
  CHECK(entry_at(manifest, "link").link_target == "/no/such/place");
  CHECK(entry_at(manifest, "empty").type == EntryType::directory);
  CHECK(snapshot.notes.empty());
  CHECK(snapshot.files_read == 1);
  CHECK(encode_manifest(manifest).ok());
}

TEST_CASE("large files are cut every 4 MiB, and what is the same twice is handed over once") {
  const TemporaryFolder root;
  MemorySink sink;
  const std::string piece = noise(chunk_size_bytes, 1);
  root.write("a", piece + piece + "tail");
  root.write("b", "tail");
  const TreeSnapshot snapshot = taken(root.path(), sink);
  const TreeEntry& file = entry_at(snapshot.manifest, "a");
  CHECK(file.size_bytes == 2 * chunk_size_bytes + 4);
  REQUIRE(file.chunks.size() == 3);
  CHECK(file.chunks[0] == file.chunks[1]);
  CHECK(sink.content(file) == piece + piece + "tail");
  CHECK(sink.puts == 2);
}

TEST_CASE("holes are not read, and are chunks of zeros") {
  const TemporaryFolder root;
  MemorySink sink;
  root.write("sparse", "begin");
  constexpr off_t size = off_t{1} << 36U;  // it would take a minute to read
  REQUIRE(::truncate((root / "sparse").c_str(), size + 3) == 0);
  const TreeSnapshot snapshot = taken(root.path(), sink);
  const TreeEntry& file = entry_at(snapshot.manifest, "sparse");
  CHECK(file.size_bytes == static_cast<std::uint64_t>(size) + 3);
  REQUIRE(file.chunks.size() == chunk_count(file.size_bytes));
  CHECK(file.chunks[1] == zero_chunk_id());
  CHECK(file.chunks.back() == digest_of(std::string(3, '\0')));
  CHECK(sink.chunks.at(file.chunks[0]).substr(0, 6) == std::string("begin\0", 6));
  CHECK(sink.chunks.count(zero_chunk_id()) == 1);
  CHECK(sink.puts == 3);
}

TEST_CASE("an unchanged tree is not read again") {
  const TemporaryFolder root;
  const TemporaryFolder folder;
  MemorySink sink;
  for (int i = 0; i < 100; ++i)
    root.write("dir" + std::to_string(i % 7) + "/" + std::to_string(i), std::to_string(i));
  StatCache cache = StatCache::load(folder.path(), root.path());
  const TreeSnapshot cold = taken(root.path(), sink, &cache);
  CHECK(cold.files_read == 100);
  must(cache.save(later()));
  StatCache warm_cache = StatCache::load(folder.path(), root.path());
  sink.questions = sink.puts = 0;
  const TreeSnapshot warm = taken(root.path(), sink, &warm_cache);
  CHECK(warm.files_read == 0);
  CHECK(warm.manifest == cold.manifest);
  CHECK(sink.puts == 0);
  CHECK(sink.questions < 5);
}

TEST_CASE("a file of the same size whose time was set back is read again") {
  const TemporaryFolder root;
  const TemporaryFolder folder;
  MemorySink sink;
  const timespec times[] = {{0, UTIME_OMIT}, {1'577'836'800, 0}};
  const auto write = [&](const std::string& content) {
    root.write("m.py", content);
    REQUIRE(::utimensat(AT_FDCWD, (root / "m.py").c_str(), times, 0) == 0);
  };
  write("v1");
  StatCache cache = StatCache::load(folder.path(), root.path());
  taken(root.path(), sink, &cache);
  must(cache.save(later()));
  write("v2");
  StatCache warm = StatCache::load(folder.path(), root.path());
  const TreeSnapshot snapshot = taken(root.path(), sink, &warm);
  CHECK(snapshot.files_read == 1);
  CHECK(sink.content(entry_at(snapshot.manifest, "m.py")) == "v2");
}

TEST_CASE("content that the sink lost is handed over again, of the files that have it") {
  const TemporaryFolder root;
  const TemporaryFolder folder;
  ForgetfulSink sink;
  for (int i = 0; i < 10; ++i) root.write(std::to_string(i), "content " + std::to_string(i));
  StatCache cache = StatCache::load(folder.path(), root.path());
  const TreeSnapshot cold = taken(root.path(), sink, &cache);
  must(cache.save(later()));
  sink.forget(digest_of("content 3"));
  StatCache warm_cache = StatCache::load(folder.path(), root.path());
  const TreeSnapshot warm = taken(root.path(), sink, &warm_cache);
  CHECK(warm.files_read == 1);
  CHECK(warm.manifest == cold.manifest);
  CHECK(sink.chunks.count(digest_of("content 3")) == 1);
}

TEST_CASE("what has gone since it was listed is left out without a word") {
  const TemporaryFolder root;
  MemorySink sink;
  root.write("a", "a");
  root.write("b", "b");
  const std::vector<Entry> entries = all_of(root.path());
  std::filesystem::remove(root / "a");
  const auto snapshot = must(snapshot_tree(root.path(), entries, nullptr, sink, later(), nullptr));
  CHECK(paths(snapshot.manifest) == std::vector<std::string>{"b"});
  CHECK(snapshot.notes.empty());
}

TEST_CASE("what became a FIFO is noted and not waited for") {
  const TemporaryFolder root;
  MemorySink sink;
  root.write("a", "a");
  const std::vector<Entry> entries = all_of(root.path());
  std::filesystem::remove(root / "a");
  REQUIRE(::mkfifo((root / "a").c_str(), 0600) == 0);
  const auto snapshot = must(snapshot_tree(root.path(), entries, nullptr, sink, later(), nullptr));
  CHECK(snapshot.manifest.entries.empty());
  CHECK(snapshot.notes == std::vector<Note>{{Note::Kind::left_out, "a", "is no longer a file"}});
}

TEST_CASE("a file that was written to since it was listed is taken as it is, and noted") {
  const TemporaryFolder root;
  const TemporaryFolder folder;
  MemorySink sink;
  root.write("log", "one\n");
  StatCache cache = StatCache::load(folder.path(), root.path());
  const std::vector<Entry> entries = all_of(root.path());
  root.write("log", "one\ntwo\n");
  const auto snapshot = must(snapshot_tree(root.path(), entries, &cache, sink, later(), nullptr));
  CHECK(sink.content(entry_at(snapshot.manifest, "log")) == "one\ntwo\n");
  CHECK(snapshot.notes ==
        std::vector<Note>{{Note::Kind::changed, "log", "was written to while it was taken"}});
}

TEST_CASE("a file that is written to while it is read is a state that passes for one, and noted") {
  const TemporaryFolder root;
  const std::string first = noise(4 * chunk_size_bytes, 1);
  root.write("log", first);
  root.write("z", noise(4 * chunk_size_bytes, 2));
  class Cutter : public MemorySink {
   public:
    explicit Cutter(std::string path) : path_(std::move(path)) {}
    Status put(const Chunk& chunk) override {
      REQUIRE(::truncate(path_.c_str(), 10) == 0);
      return MemorySink::put(chunk);
    }

   private:
    std::string path_;
  } sink(root / "log");
  const TreeSnapshot snapshot = taken(root.path(), sink);
  const TreeEntry& log = entry_at(snapshot.manifest, "log");
  CHECK(encode_manifest(snapshot.manifest).ok());
  CHECK(sink.content(log) == first.substr(0, log.size_bytes));
  CHECK(snapshot.notes ==
        std::vector<Note>{{Note::Kind::changed, "log", "was written to while it was taken"}});
}

TEST_CASE("an entry may have its content elsewhere") {
  const TemporaryFolder root;
  const TemporaryFolder elsewhere;
  MemorySink sink;
  elsewhere.write("data", "from elsewhere");
  std::vector<Entry> entries = all_of(elsewhere.path());
  entries[0].path = "here";
  entries[0].source = elsewhere / "data";
  const auto snapshot = must(snapshot_tree(root.path(), entries, nullptr, sink, later(), nullptr));
  CHECK(sink.content(entry_at(snapshot.manifest, "here")) == "from elsewhere");
}

TEST_CASE("a sink that fails ends the snapshot with its words") {
  const TemporaryFolder root;
  FullSink sink;
  root.write("a", "a");
  const auto snapshot =
      snapshot_tree(root.path(), all_of(root.path()), nullptr, sink, later(), nullptr);
  REQUIRE_FALSE(snapshot.ok());
  CHECK(snapshot.error() == Error{Code::io, "the store is full"});
}

TEST_CASE("an interruption ends a snapshot with its own code") {
  const TemporaryFolder root;
  MemorySink sink;
  root.write("a", noise(2 * chunk_size_bytes, 1));
  int asked = 0;
  const auto snapshot = snapshot_tree(root.path(), all_of(root.path()), nullptr, sink, later(),
                                      [&] { return ++asked > 2; });
  REQUIRE_FALSE(snapshot.ok());
  CHECK(snapshot.error().code == Code::busy);
}
