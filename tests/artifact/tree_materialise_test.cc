#include "gpl/artifact/tree_materialise.h"

#include <fcntl.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include <sys/resource.h>

#include "../forked.h"
#include "stored.h"

using namespace gpl;
using namespace store_tests;

namespace {

struct stat status_of(const std::string& path) {
  struct stat status = {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

/// Takes a tree into a store.
Manifest stored(const ChunkStore& store, const std::string& root) {
  Intake intake = must(store.intake());
  TreeSnapshot snapshot = taken(root, intake);
  must(intake.put_tree(snapshot.manifest));
  must(intake.commit());
  return std::move(snapshot.manifest);
}

std::string refusal(const Manifest& manifest, const ChunkStore& store,
                    const TemporaryFolder& destination, Code code) {
  const auto made = materialise_tree(manifest, store, destination.path(), nullptr);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().code == code);
  CHECK(destination.empty());
  return made.error().message;
}

/// All that a tree is, as text, by looking at the disk alone.
std::string description(const std::string& root) {
  std::vector<std::string> lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    const struct stat status = status_of(path);
    std::string line = path.substr(root.size()) + '\0';
    if (S_ISLNK(status.st_mode)) {
      line += "link " + std::filesystem::read_symlink(path).string();
    } else {
      line += std::to_string(status.st_mode);
      if (S_ISREG(status.st_mode)) {
        std::ifstream file(path, std::ios::binary);
        line += " " + std::to_string(posix::to_ns(status.st_mtim)) + " " +
                std::string(std::istreambuf_iterator<char>(file), {});
      }
    }
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string any_name(Prng& prng) {
  std::string name;
  for (std::uint64_t bytes = prng.between(1, 5); bytes > 0; --bytes)
    name += "ab-.\xff\n \\*"[prng.below(9)];
  return name == "." || name == ".." ? "c" : name;
}

/// Fills a folder from a seed: any names, nesting, all types, odd modes and times.
void grow(Prng& prng, const std::string& folder, int depth) {
  std::set<std::string> used;
  for (std::uint64_t left = prng.below(7); left > 0; --left) {
    const std::string name = any_name(prng);
    if (!used.insert(name).second) continue;
    const std::string path = folder + "/" + name;
    const std::uint64_t type = prng.below(depth < 3 ? 4 : 3);
    if (type == 3) {
      REQUIRE(::mkdir(path.c_str(), 0700) == 0);
      grow(prng, path, depth + 1);
      REQUIRE(::chmod(path.c_str(), 0700U | static_cast<mode_t>(prng.below(0100))) == 0);
    } else if (type == 2) {
      selection_tests::link(any_name(prng), path);
    } else {
      std::ofstream(path, std::ios::binary) << noise(prng.below(9000), prng.below(20));
      REQUIRE(::chmod(path.c_str(), 0600U | static_cast<mode_t>(prng.below(0200))) == 0);
      const timespec times[] = {{0, UTIME_OMIT}, {static_cast<time_t>(prng.below(1U << 31U)), 5}};
      REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    }
  }
}

}  // namespace

TEST_CASE("any tree is the same after it was taken and made again") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  CHECK(rc::check([&](std::uint64_t seed) {
    const TemporaryFolder root;
    const TemporaryFolder destination;
    Prng prng(seed);
    grow(prng, root.path(), 0);
    const Manifest manifest = stored(store, root.path());
    const auto made = materialise_tree(manifest, store, destination.path(), nullptr);
    RC_ASSERT(made.ok());
    RC_ASSERT(description(destination.path()) == description(root.path()));
    std::vector<Entry> listed = all_of(destination.path());
    RC_ASSERT(made.value().size() == listed.size());
    for (std::size_t i = 0; i < listed.size(); ++i) {
      if (listed[i].type == EntryType::directory) listed[i].mtime_ns = made.value()[i].mtime_ns;
      RC_ASSERT(made.value()[i] == listed[i]);
    }
  }));
}

TEST_CASE("trees have the same id exactly when they are the same") {
  const auto id_of = [](const std::string& root) {
    MemorySink sink;
    return digest_of(must(encode_manifest(taken(root, sink).manifest)));
  };
  CHECK(rc::check([&](std::uint64_t seed, std::uint64_t other_seed) {
    const TemporaryFolder one;
    const TemporaryFolder other;
    Prng prng(seed % 8);
    Prng other_prng(other_seed % 8);
    grow(prng, one.path(), 0);
    grow(other_prng, other.path(), 0);
    const bool same = description(one.path()) == description(other.path());
    RC_CLASSIFY(same);
    RC_ASSERT((id_of(one.path()) == id_of(other.path())) == same);
  }));
}

TEST_CASE("a large file is made of all its chunks, compressed and not, holes as holes") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const TemporaryFolder root;
  const TemporaryFolder destination;
  const std::string head = noise(chunk_size_bytes, 1) + std::string(chunk_size_bytes, 'a');
  root.write("large", head);
  REQUIRE(::truncate((root / "large").c_str(), off_t{1} << 33U) == 0);
  const posix::Fd fd(::open((root / "large").c_str(), O_WRONLY));
  REQUIRE(::pwrite(fd.get(), "end", 3, (off_t{1} << 33U) - 3) == 3);
  must(materialise_tree(stored(store, root.path()), store, destination.path(), nullptr));
  const struct stat status = status_of(destination / "large");
  CHECK(status.st_size == off_t{1} << 33U);
  CHECK(status.st_blocks * 512 < off_t{20} << 20U);
  const posix::Fd copy(::open((destination / "large").c_str(), O_RDONLY));
  std::string begin(head.size(), '\0');
  REQUIRE(::read(copy.get(), begin.data(), begin.size()) == static_cast<ssize_t>(begin.size()));
  CHECK(begin == head);
  char end[4] = {};
  REQUIRE(::pread(copy.get(), end, 4, (off_t{1} << 33U) - 4) == 4);
  CHECK(std::string(end, 4) == std::string("\0end", 4));
}

TEST_CASE("a file that ends in a hole is as long as it was") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("hole", "");
  REQUIRE(::truncate((root / "hole").c_str(), 3 * static_cast<off_t>(chunk_size_bytes)) == 0);
  must(materialise_tree(stored(store, root.path()), store, destination.path(), nullptr));
  CHECK(status_of(destination / "hole").st_size == 3 * static_cast<off_t>(chunk_size_bytes));
  CHECK(status_of(destination / "hole").st_blocks == 0);
}

TEST_CASE("modes and times arrive whatever the umask, read-only folders too") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("ro/run.sh", "x", 0777);
  const timespec times[] = {{1, 0}, {-5, 987'654'321}};
  REQUIRE(::utimensat(AT_FDCWD, (root / "ro/run.sh").c_str(), times, 0) == 0);
  REQUIRE(::chmod((root / "ro").c_str(), 0555) == 0);
  const Manifest manifest = stored(store, root.path());
  const mode_t before = ::umask(077);
  must(materialise_tree(manifest, store, destination.path(), nullptr));
  ::umask(before);
  CHECK((status_of(destination / "ro").st_mode & 0777U) == 0555U);
  const struct stat status = status_of(destination / "ro/run.sh");
  CHECK((status.st_mode & 0777U) == 0777U);
  CHECK(status.st_mtim.tv_sec == -5);
  CHECK(status.st_mtim.tv_nsec == 987'654'321);
}

TEST_CASE("content that is not there, or damaged, ends it and leaves nothing") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("a/b", "a good file");
  root.write("z", "the bad file");
  const Manifest manifest = stored(store, root.path());
  const std::string object = folder / ("store/objects/" + digest_of("the bad file").hex());
  SUBCASE("damaged") {
    REQUIRE(::truncate(object.c_str(), 3) == 0);
    const std::string words = refusal(manifest, store, destination, Code::not_found);
    CHECK(words.find("cannot make the private copy of z: ") == 0);
    CHECK(words.find("is damaged") != std::string::npos);
  }
  SUBCASE("gone") {
    REQUIRE(std::filesystem::remove(object));
    refusal(manifest, store, destination, Code::not_found);
  }
}

TEST_CASE("a manifest that lies about sizes, or leads outside, makes nothing") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const TemporaryFolder destination;
  TreeEntry entry;
  entry.path = "a";
  entry.size_bytes = 3;
  entry.chunks.push_back(put(store, "four"));
  refusal({{entry}}, store, destination, Code::invalid);
  entry.chunks = {zero_chunk_id()};
  put(store, std::string(chunk_size_bytes, '\0'));
  refusal({{entry}}, store, destination, Code::invalid);
  TreeEntry link;
  link.path = "link";
  link.type = EntryType::symlink;
  link.link_target = folder.path();
  entry.path = "link/a";
  refusal({{link, entry}}, store, destination, Code::invalid);
  entry.path = "../a";
  refusal({{entry}}, store, destination, Code::invalid);
  CHECK(names(folder.path()) == std::vector<std::string>{"store"});
}

TEST_CASE("a destination that cannot take it is told, and left empty") {
  const TemporaryFolder folder;
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("a", "small");
  root.write("b", noise(100'000, 1));
  const ChunkStore store = opened(folder / "store");
  const Manifest manifest = stored(store, root.path());
  const int result = forked([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10'000, 10'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const auto made = materialise_tree(manifest, store, destination.path(), nullptr);
    if (made.ok() || made.error().code != Code::io) return 2;
    return made.error().message ==
                   "cannot make the private copy of b: cannot be written: File too large"
               ? 0
               : 3;
  });
  CHECK(result == 0);
  CHECK(destination.empty());
}

TEST_CASE("an interruption ends it with its own code and leaves nothing") {
  const TemporaryFolder folder;
  const ChunkStore store = opened(folder / "store");
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("a", "a");
  root.write("b", "b");
  int asked = 0;
  const auto made = materialise_tree(stored(store, root.path()), store, destination.path(),
                                     [&] { return ++asked > 3; });
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().code == Code::busy);
  CHECK(destination.empty());
}
