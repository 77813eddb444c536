#pragma once

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../temporary_folder.h"
#include "gpl/artifact/chunk_store.h"
#include "gpl/artifact/tree_snapshot.h"
#include "gpl/core/prng.h"
#include "gpl/posix/clock.h"
#include "selected.h"

/// What the tests of stores and trees share.
namespace store_tests {

using namespace gpl::artifact;
using gpl::Code;
using gpl::Prng;
using gpl::Result;
using gpl::Status;

template <class T>
T must(Result<T> result) {
  REQUIRE_MESSAGE(result.ok(), (result.ok() ? "" : result.error().message));
  return std::move(result).value();
}

inline ChunkStore opened(const std::string& folder) { return must(ChunkStore::open(folder)); }

/// Content that zstd cannot make smaller.
inline std::string noise(std::size_t size, std::uint64_t seed) {
  Prng prng(seed);
  std::string bytes;
  while (bytes.size() < size) {
    const std::uint64_t word = prng.next();
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  bytes.resize(size);
  return bytes;
}

/// Puts chunks in an intake of their own.
inline std::vector<Digest> put_all(const ChunkStore& store,
                                   const std::vector<std::string>& contents) {
  Intake intake = must(store.intake());
  std::vector<Digest> ids;
  for (const std::string& content : contents) {
    const Chunk chunk = Chunk::of(content);
    must(intake.put(chunk));
    ids.push_back(chunk.id());
  }
  must(intake.commit());
  return ids;
}
inline Digest put(const ChunkStore& store, const std::string& content) {
  return put_all(store, {content}).front();
}

inline bool has(const ChunkStore& store, const Digest& id) { return store.chunk(id).ok(); }

/// Names in a folder, sorted.
inline std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    all.push_back(entry.path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}

/// Everything below the folder, whatever the rules for staging say.
inline std::vector<Entry> all_of(const std::string& root) {
  return selection_tests::selected(root, selection_tests::options({"."})).entries;
}

/// Long after everything that a test has written: nothing is racy.
inline gpl::Instant later() { return gpl::posix::wall_clock() + gpl::seconds(10); }

inline TreeSnapshot taken(const std::string& root, ChunkSink& sink, StatCache* cache = nullptr) {
  return must(snapshot_tree(root, all_of(root), cache, sink, later(), nullptr));
}

/// A sink that remembers what is put into it.
class MemorySink : public ChunkSink {
 public:
  Result<std::vector<Digest>> missing(const std::vector<Digest>& ids) override {
    ++questions;
    std::vector<Digest> absent;
    for (const Digest& id : ids) {
      const bool is_asked = std::find(absent.begin(), absent.end(), id) != absent.end();
      if (chunks.count(id) == 0 && !is_asked) absent.push_back(id);
    }
    return absent;
  }
  Status put(const Chunk& chunk) override {
    ++puts;
    chunks.emplace(chunk.id(), chunk.bytes());
    return gpl::success();
  }
  std::string content(const TreeEntry& entry) const {
    std::string bytes;
    for (const Digest& id : entry.chunks) bytes += chunks.at(id);
    return bytes;
  }

  std::map<Digest, std::string> chunks;
  int questions = 0;
  int puts = 0;
};

inline const TreeEntry& entry_at(const Manifest& manifest, const std::string& path) {
  for (const TreeEntry& entry : manifest.entries) {
    if (entry.path == path) return entry;
  }
  FAIL("no such entry: " << path);
  return manifest.entries.front();
}

}  // namespace store_tests
