// What taking a tree into a store and making it again costs, beside what cp, git and b2sum need for
// the same. Ratios count: all run on the same disk, one after the other.

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "gpl/artifact/chunk_store.h"
#include "gpl/artifact/selection.h"
#include "gpl/artifact/tree_materialise.h"
#include "gpl/artifact/tree_snapshot.h"
#include "gpl/core/prng.h"
#include "gpl/posix/clock.h"

using namespace gpl;
using namespace gpl::artifact;

namespace {

constexpr int file_count = 10'000;
constexpr std::size_t large_bytes = std::size_t{1} << 30U;

template <class T>
T must(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "tree_store: %s\n", result.error().message.c_str());
  std::exit(1);
}

/// What something took: time on the clock, and of processors, in seconds.
struct Cost {
  double wall_s = 0;
  double cpu_s = 0;
};

double cpu_seconds() {
  double sum_s = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      sum_s += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  }
  return sum_s;
}

Cost cost_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_s = cpu_seconds();
  work();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {wall.count(), cpu_seconds() - cpu_s};
}

Cost shell(const std::string& command) {
  return cost_of([&] {
    if (std::system(command.c_str()) == 0) return;
    std::fprintf(stderr, "tree_store: failed: %s\n", command.c_str());
    std::exit(1);
  });
}

void row(const char* what, const Cost& cost, const char* other, const Cost& other_cost) {
  std::printf("%-30s %8.1f ms (processor %7.1f)  %5.2f (%5.2f) x %s\n", what, cost.wall_s * 1000,
              cost.cpu_s * 1000, cost.wall_s / other_cost.wall_s, cost.cpu_s / other_cost.cpu_s,
              other);
}

std::string noise(std::size_t size, Prng& prng) {
  std::string bytes;
  while (bytes.size() < size) {
    const std::uint64_t word = prng.next();
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  bytes.resize(size);
  return bytes;
}

/// Text like a program's: it compresses about four times.
std::string text(std::size_t size, Prng& prng) {
  static const char* const words[] = {"return", "const", "for (", "value", "std::", "\n  ",
                                      " = ",    "size",  "{",     "};",    "0x",    "index"};
  std::string bytes;
  while (bytes.size() < size) {
    bytes += words[prng.below(std::size(words))];
    if (prng.one_in(3)) bytes += std::to_string(prng.below(1000));
  }
  bytes.resize(size);
  return bytes;
}

struct Place {
  std::string base;
  std::string operator/(const std::string& name) const { return base + "/" + name; }
};

std::vector<Entry> all_of(const std::string& root) {
  SelectionOptions options;
  options.always = {"."};
  options.max_files = 1'000'000;
  return must(select(root, options)).entries;
}

struct Taken {
  Digest id;
  Manifest manifest;
  std::uint64_t files_read = 0;
  unsigned syncs = 0;
};

Taken take(const ChunkStore& store, const std::string& root, const std::string& caches) {
  StatCache cache = StatCache::load(caches, root);
  Intake intake = must(store.intake());
  TreeSnapshot snapshot =
      must(snapshot_tree(root, all_of(root), &cache, intake, posix::wall_clock(), nullptr));
  const Digest id = must(intake.put_tree(snapshot.manifest));
  const Committed committed = must(intake.commit());
  must(cache.save(posix::wall_clock()));
  return {id, std::move(snapshot.manifest), snapshot.files_read, committed.syncs};
}

void make(const ChunkStore& store, const Manifest& manifest, const std::string& destination) {
  std::filesystem::create_directory(destination);
  must(materialise_tree(manifest, store, destination, nullptr));
}

void small_files(const Place& place) {
  const std::string root = place / "small";
  Prng prng(1);
  for (int i = 0; i < file_count; ++i) {
    const std::string folder = root + "/dir" + std::to_string(i / 50);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/file" + std::to_string(i) + ".cc") << text(prng.below(9000), prng);
  }
  ::sync();
  ::usleep(200'000);  // so that no file is racy for the caches, ours and git's
  const Cost cp = shell("cp -r " + root + " " + (place / "cp") + " && sync -f " + place.base);
  const std::string git = "git -C " + root + " ";
  shell(git + "init -q");
  const Cost git_cold = shell(git + "-c core.fsync=loose-object add .");
  const Cost git_warm = shell(git + "add .");
  // Not removed: for a while after that ext4 is slow to make files.
  shell("mv " + root + "/.git " + (place / "git"));
  ::sync();
  const ChunkStore store = must(ChunkStore::open(place / "store"));
  Taken taken;
  const Cost cold = cost_of([&] { taken = take(store, root, place / "caches"); });
  std::printf("%d files of 0-9 KB: %u syncs cold, ", file_count, taken.syncs);
  const Cost settled = cost_of([&] { taken = take(store, root, place / "caches"); });
  const Cost warm = cost_of([&] { taken = take(store, root, place / "caches"); });
  std::printf("%u warm with %llu files read\n", taken.syncs,
              static_cast<unsigned long long>(taken.files_read));
  row("  taken cold", cold, "git add, synced", git_cold);
  row("  taken cold", cold, "cp -r, synced", cp);
  row("  taken a second time", settled, "git add again", git_warm);
  row("  taken warm", warm, "git add again", git_warm);
  row("  of which choosing the files", cost_of([&] { all_of(root); }), "git add again", git_warm);
  row("  made", cost_of([&] { make(store, taken.manifest, place / "made"); }), "cp -r, synced", cp);
  shell("diff -r " + root + " " + (place / "made"));
}

void large_file(const Place& place, const char* kind, const std::function<std::string()>& piece) {
  const std::string root = place / ("large-" + std::string(kind));
  std::filesystem::create_directory(root);
  {
    std::ofstream file(root + "/large", std::ios::binary);
    for (std::size_t done = 0; done < large_bytes; done += chunk_size_bytes) file << piece();
  }
  ::sync();
  const Cost cp = shell("cp -r " + root + " " + (place / "cp-large") + " && sync -f " + place.base);
  const Cost b2sum = shell("b2sum -l 256 " + root + "/large >/dev/null");
  const ChunkStore store = must(ChunkStore::open(place / "store"));
  const std::uint64_t before = must(store.usage()).bytes;
  Taken taken;
  const Cost cold = cost_of([&] { taken = take(store, root, place / "caches"); });
  std::printf("1 GiB of %s: %u syncs, %.0f MB on disk\n", kind, taken.syncs,
              static_cast<double>(must(store.usage()).bytes - before) / 1e6);
  row("  taken", cold, "cp -r, synced", cp);
  row("  taken", cold, "b2sum -l 256", b2sum);
  const Cost made = cost_of([&] { make(store, taken.manifest, place / "made-large"); });
  row("  made", made, "cp -r, synced", cp);
  shell("diff -r " + root + " " + (place / "made-large"));
  for (const char* gone : {"cp-large", "made-large"}) std::filesystem::remove_all(place / gone);
  std::filesystem::remove_all(root);
}

void many_entries() {
  Manifest manifest;
  for (int i = 0; i < 100'000; ++i) {
    TreeEntry entry;
    const std::string number = std::to_string(1'000'000 + i);
    if (i % 100 == 0) {
      entry.path = "folder" + number.substr(0, 5);
      entry.type = EntryType::directory;
    } else {
      entry.path = "folder" + number.substr(0, 5) + "/file" + number + ".cc";
      entry.size_bytes = 100;
      entry.chunks.push_back(digest_of(number));
    }
    manifest.entries.push_back(std::move(entry));
  }
  std::string bytes;
  const Cost encode = cost_of([&] { bytes = must(encode_manifest(manifest)); });
  const Cost id = cost_of([&] { digest_of(bytes); });
  const Cost decode = cost_of([&] { must(decode_manifest(bytes)); });
  std::printf("a manifest of 100,000 entries, %.1f MB, in processor time: ",
              static_cast<double>(bytes.size()) / 1e6);
  std::printf("encode %.1f ms, id %.1f ms, decode %.1f ms\n", encode.cpu_s * 1000, id.cpu_s * 1000,
              decode.cpu_s * 1000);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::string base = (std::filesystem::temp_directory_path() / "gpl_tree_store.XXXXXX").string();
  if (::mkdtemp(base.data()) == nullptr) return 1;
  const Place place{base};
  Prng prng(2);
  many_entries();
  small_files(place);
  large_file(place, "noise", [&] { return noise(chunk_size_bytes, prng); });
  large_file(place, "text", [&] { return text(chunk_size_bytes, prng); });
  std::filesystem::remove_all(base);
  return 0;
}
