#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/prng.h"
#include "gpl/store/disk.h"

/// A Disk in memory that knows what a real one would still have after a power loss. A value: copy
/// it to try several crashes from one moment.
class MemoryDisk : public gpl::store::Disk {
 public:
  static constexpr std::uint64_t sector_bytes = 512;

  /// Says whether a sector that was not synced is on disk after the crash.
  using Kept = std::function<bool(const std::string& name, std::uint64_t sector)>;
  /// Called before each operation: an error is what `perform` returns, having done nothing.
  std::function<gpl::Status(const gpl::store::Operation&)> before;

  gpl::Result<std::vector<std::string>> list() override {
    std::vector<std::string> names;
    for (const auto& [name, file] : files_) names.push_back(name);
    return names;
  }

  gpl::Result<std::uint64_t> size(std::string_view name) override {
    const auto file = files_.find(name);
    if (file == files_.end()) return missing(name);
    return std::uint64_t{file->second.seen.size()};
  }

  gpl::Result<std::string> read(std::string_view name, std::uint64_t offset,
                                std::size_t limit_bytes) override {
    const auto file = files_.find(name);
    if (file == files_.end()) return missing(name);
    if (offset >= file->second.seen.size()) return std::string();
    return file->second.seen.substr(offset, limit_bytes);
  }

  gpl::Status perform(const gpl::store::Operation& operation) override {
    if (before) {
      if (gpl::Status may = before(operation); !may) return may;
    }
    return std::visit([this](const auto& what) { return perform_one(what); }, operation);
  }

  /// The machine loses its power: of what was not synced, what `kept` says is left.
  void lose_power(const Kept& kept) {
    for (auto file = files_.begin(); file != files_.end();) {
      if (!file->second.linked && !kept(file->first, 0)) {
        file = files_.erase(file);
        continue;
      }
      const std::string left = left_on_disk(file->first, file->second, kept);
      file->second = File{left, left, {}, true};
      ++file;
    }
  }
  /// The same, by the toss of a coin for each sector.
  void lose_power(gpl::Prng& prng) {
    lose_power([&prng](const std::string&, std::uint64_t) { return prng.one_in(2); });
  }

  /// The process was killed, or the machine lost its power, while this was under way: a part of it
  /// has happened. (The machine: call `lose_power` next.)
  void half_perform(const gpl::store::Operation& operation, gpl::Prng& prng) {
    if (const auto* write = std::get_if<gpl::store::Write>(&operation)) {
      gpl::store::Write part = *write;
      part.bytes.resize(prng.between(0, part.bytes.size()));
      if (!part.bytes.empty()) static_cast<void>(perform_one(part));
    } else if (const auto* create = std::get_if<gpl::store::Create>(&operation)) {
      if (prng.one_in(2)) return;
      File& file = files_[create->name] = File{};
      file.seen.assign(prng.between(0, create->size_bytes), '\0');
      mark_dirty(file, 0, file.seen.size());
    } else if (prng.one_in(2)) {
      std::visit([this](const auto& what) { static_cast<void>(perform_one(what)); }, operation);
    }
  }

  /// What a failed sync leaves: some sectors made it, and the system believes that all did, until
  /// they are written again. They are still seen as long as the machine runs.
  void fail_sync(const std::string& name, gpl::Prng& prng) {
    const auto file = files_.find(name);
    if (file == files_.end()) return;
    file->second.on_disk = left_on_disk(
        name, file->second, [&prng](const std::string&, std::uint64_t) { return prng.one_in(2); });
    file->second.dirty.clear();
  }

  bool has(std::string_view name) const { return files_.contains(name); }
  const std::string& bytes(const std::string& name) const { return files_.at(name).seen; }
  /// Puts a file there that is wholly on disk, behind everyone's back.
  void put(const std::string& name, std::string bytes) {
    files_[name] = File{bytes, bytes, {}, true};
  }
  void drop(const std::string& name) { files_.erase(name); }
  /// The sectors of a file that were written and not synced.
  std::vector<std::uint64_t> unsynced(const std::string& name) const {
    const std::set<std::uint64_t>& dirty = files_.at(name).dirty;
    return {dirty.begin(), dirty.end()};
  }
  friend bool operator==(const MemoryDisk& a, const MemoryDisk& b) { return a.files_ == b.files_; }

 private:
  struct File {
    std::string seen;     // what a reader gets while the machine runs
    std::string on_disk;  // what a power loss leaves at least
    std::set<std::uint64_t> dirty;
    bool linked = false;  // its name is on disk
    friend bool operator==(const File&, const File&) = default;
  };

  static gpl::Error missing(std::string_view name) {
    return {gpl::Code::not_found, "cannot open " + std::string(name) + ": No such file"};
  }

  static void mark_dirty(File& file, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t at = from / sector_bytes; at * sector_bytes < to; ++at)
      file.dirty.insert(at);
  }

  /// What is on disk when these of the dirty sectors get there.
  static std::string left_on_disk(const std::string& name, const File& file, const Kept& kept) {
    std::string left = file.on_disk;
    for (const std::uint64_t sector : file.dirty) {
      const std::uint64_t begin = sector * sector_bytes;
      if (begin >= file.seen.size() || !kept(name, sector)) continue;
      const std::uint64_t bytes = std::min<std::uint64_t>(sector_bytes, file.seen.size() - begin);
      if (left.size() < begin + bytes) left.resize(begin + bytes, '\0');
      left.replace(begin, bytes, file.seen, begin, bytes);
    }
    return left;
  }

  gpl::Status perform_one(const gpl::store::Create& what) {
    put(what.name, std::string(what.size_bytes, '\0'));
    return gpl::success();
  }
  gpl::Status perform_one(const gpl::store::Write& what) {
    File& file = files_[what.name];
    const std::uint64_t end = what.offset + what.bytes.size();
    const std::uint64_t grown_from = std::min<std::uint64_t>(what.offset, file.seen.size());
    if (file.seen.size() < end) file.seen.resize(end, '\0');
    file.seen.replace(what.offset, what.bytes.size(), what.bytes);
    mark_dirty(file, grown_from, end);
    return gpl::success();
  }
  gpl::Status perform_one(const gpl::store::Sync& what) {
    const auto file = files_.find(what.name);
    if (file == files_.end()) return missing(what.name);
    // Only what is dirty is written: after a failed sync that is not all.
    file->second.on_disk = left_on_disk(what.name, file->second,
                                        [](const std::string&, std::uint64_t) { return true; });
    file->second.dirty.clear();
    return gpl::success();
  }
  gpl::Status perform_one(const gpl::store::Rename& what) {
    auto node = files_.extract(what.from);
    if (node.empty()) return missing(what.from);
    files_.erase(what.to);
    node.key() = what.to;
    node.mapped().linked = true;
    files_.insert(std::move(node));
    return gpl::success();
  }
  gpl::Status perform_one(const gpl::store::Remove& what) {
    files_.erase(what.name);
    return gpl::success();
  }

  std::map<std::string, File, std::less<>> files_;
};
