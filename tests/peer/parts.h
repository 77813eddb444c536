#pragma once

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../net/run_until.h"
#include "../temporary_folder.h"
#include "gpl/artifact/chunk_store.h"
#include "gpl/artifact/manifest.h"
#include "gpl/core/attempt.h"
#include "gpl/core/job_description.h"
#include "gpl/peer/pool.h"

/// What the parts of a peer that touch files stand on: a loop, a pool, a store, attempts.
struct Parts {
  TemporaryFolder folder;
  std::unique_ptr<gpl::net::Loop> loop = make_loop();
  gpl::artifact::ChunkStore store = open_store(folder / "store");
  std::optional<gpl::peer::Pool> pool{std::in_place, *loop};
  std::string attempts = folder / "attempts";

  static gpl::artifact::ChunkStore open_store(const std::string& path) {
    auto store = gpl::artifact::ChunkStore::open(path);
    REQUIRE(store.ok());
    return std::move(store).value();
  }

  static gpl::Fence fence(std::uint64_t number) { return {1, gpl::AttemptId{number}}; }
  /// As the keeper makes it.
  gpl::Fence make_attempt(std::uint64_t number) const {
    std::filesystem::create_directories(attempts + "/1." + std::to_string(number) + "/work");
    return fence(number);
  }
  /// "attempts/1.7/NAME", to be used with `folder`.
  static std::string in_attempt(std::uint64_t number, const std::string& name) {
    return "attempts/1." + std::to_string(number) + "/" + name;
  }
  bool exists(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(folder / name));
  }

  template <class Condition>
  void until(Condition holds) const {
    run_until(*loop, holds);
  }
};

/// A tree's file or folder, of 2001.
inline gpl::artifact::TreeEntry tree_folder(const std::string& path, std::uint32_t mode = 0755) {
  gpl::artifact::TreeEntry entry;
  entry.path = path;
  entry.type = gpl::artifact::EntryType::directory;
  entry.mode = mode;
  return entry;
}
inline gpl::artifact::TreeEntry tree_file(const std::string& path, const std::string& bytes) {
  gpl::artifact::TreeEntry entry;
  entry.path = path;
  entry.mode = 0644;
  entry.mtime_ns = std::int64_t{1'000'000'000} * 1'000'000'000;
  entry.size_bytes = bytes.size();
  if (!bytes.empty()) entry.chunks.push_back(gpl::artifact::digest_of(bytes));
  return entry;
}

inline gpl::ContentId id_of(const std::string& bytes) {
  return gpl::ContentId(gpl::artifact::digest_of(bytes).bytes());
}
inline std::string encoded(const gpl::artifact::Manifest& manifest) {
  auto bytes = gpl::artifact::encode_manifest(manifest);
  REQUIRE(bytes.ok());
  return bytes.value();
}

/// Brings a tree into the store. `contents`: of its files.
inline gpl::ContentId put_tree(const gpl::artifact::ChunkStore& store,
                               const gpl::artifact::Manifest& manifest,
                               const std::vector<std::string>& contents) {
  auto intake = store.intake();
  REQUIRE(intake.ok());
  for (const std::string& bytes : contents) {
    REQUIRE(intake.value().put(gpl::artifact::Chunk::of(bytes)).ok());
  }
  const auto tree = intake.value().put_tree(manifest);
  REQUIRE(tree.ok());
  REQUIRE(intake.value().commit().ok());
  return gpl::ContentId(tree.value().bytes());
}

template <class Files>
std::vector<std::string> paths_of(const Files& files) {
  std::vector<std::string> paths;
  for (const auto& file : files) paths.push_back(file.path);
  return paths;
}
