#include "sim/sim_disk.h"

#include <algorithm>
#include <utility>

#include "gpl/core/overloaded.h"

namespace gpl::sim {

namespace {

Error io_error(std::string_view what, std::string_view name, std::string_view why) {
  return {Code::io, std::string(what) + " " + std::string(name) + ": " + std::string(why)};
}
Error no_such_file(std::string_view what, std::string_view name) {
  return io_error(what, name, "No such file or directory");
}
constexpr std::string_view no_space = "No space left on device";

}  // namespace

Result<std::vector<std::string>> SimDisk::list() {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return names;
}

Result<std::uint64_t> SimDisk::size(std::string_view name) {
  const auto found = files_.find(name);
  if (found == files_.end()) return no_such_file("stat", name);
  return std::uint64_t{found->second.bytes.size()};
}

Result<std::string> SimDisk::read(std::string_view name, std::uint64_t offset,
                                  std::size_t limit_bytes) {
  const auto found = files_.find(name);
  if (found == files_.end()) return no_such_file("read", name);
  const std::string& bytes = found->second.bytes;
  if (offset >= bytes.size()) return std::string();
  return bytes.substr(offset, limit_bytes);
}

Status SimDisk::perform(const store::Operation& operation) {
  if (operations_left_) {
    if (*operations_left_ > 0 && --*operations_left_ == 0) interrupt(operation);
    if (power_lost()) return Error{Code::io, "the power is gone"};
  }
  return std::visit(Overloaded{[&](const store::Create& o) { return create(o); },
                               [&](const store::Write& o) { return write(o); },
                               [&](const store::Sync& o) { return sync(o); },
                               [&](const store::Rename& o) { return rename(o); },
                               [&](const store::Remove& o) {
                                 files_.erase(o.name);
                                 return success();
                               }},
                    operation);
}

Error SimDisk::fail(std::string_view what, std::string_view name, std::string_view why) {
  ++failures_;
  return io_error(what, name, why);
}

Status SimDisk::create(const store::Create& create) {
  if (full_) return fail("create", create.name, no_space);
  files_[create.name] = {std::string(create.size_bytes, '\0'), create.size_bytes, {}};
  return success();
}

Status SimDisk::write(store::Write write) {
  if (on_write) on_write(write);
  const auto found = files_.find(write.name);
  const std::uint64_t end = write.offset + write.bytes.size();
  // What is written ahead of use has its place on a full disk.
  if (full_ && (found == files_.end() || end > found->second.bytes.size()))
    return fail("write", write.name, no_space);
  File& file = found == files_.end() ? files_[write.name] : found->second;
  if (write.bytes.empty()) return success();
  for (auto sector = write.offset / sector_bytes; sector * sector_bytes < end; ++sector) {
    const auto start = sector * sector_bytes;
    if (file.unsynced.contains(sector)) continue;
    const auto synced = std::min<std::uint64_t>(file.synced_size, file.bytes.size());
    file.unsynced[sector] =
        start < synced ? file.bytes.substr(start, std::min(sector_bytes, synced - start)) : "";
  }
  if (file.bytes.size() < end) file.bytes.resize(end, '\0');
  file.bytes.replace(write.offset, write.bytes.size(), write.bytes);
  return success();
}

Status SimDisk::sync(const store::Sync& sync) {
  const auto found = files_.find(sync.name);
  if (found == files_.end()) return no_such_file("sync", sync.name);
  if (std::exchange(sync_fails_, false)) {
    // The kernel drops the pages that it could not write: what is read now is what is on disk.
    lose_unsynced(found->second);
    return fail("sync", sync.name, "Input/output error");
  }
  found->second.unsynced.clear();
  found->second.synced_size = found->second.bytes.size();
  return success();
}

Status SimDisk::rename(const store::Rename& rename) {
  const auto found = files_.find(rename.from);
  if (found == files_.end()) return no_such_file("rename", rename.from);
  File file = std::move(found->second);
  files_.erase(found);
  files_[rename.to] = std::move(file);
  return success();
}

void SimDisk::interrupt(const store::Operation& operation) {
  const auto part = [&](std::uint64_t whole) { return dice_.between(0, whole); };
  std::visit(Overloaded{[&](const store::Create& o) {
                          if (dice_.one_in(3)) return;
                          const auto size = dice_.one_in(2) ? o.size_bytes : part(o.size_bytes);
                          static_cast<void>(create({o.name, size}));
                        },
                        [&](const store::Write& o) {
                          const auto size = dice_.one_in(2) ? o.bytes.size() : part(o.bytes.size());
                          static_cast<void>(write({o.name, o.offset, o.bytes.substr(0, size)}));
                        },
                        [&](const store::Sync&) {},
                        [&](const store::Rename& o) {
                          if (dice_.one_in(2)) static_cast<void>(rename(o));
                        },
                        [&](const store::Remove& o) {
                          if (dice_.one_in(2)) files_.erase(o.name);
                        }},
             operation);
}

std::uint64_t SimDisk::lose_power() {
  sync_fails_ = false;
  std::uint64_t torn = 0;
  for (auto& [name, file] : files_) torn += lose_unsynced(file);
  return torn;
}

/// All, none, a prefix or any of the sectors survive: each is as likely to break a recovery.
std::uint64_t SimDisk::lose_unsynced(File& file) {
  const auto way = dice_.below(4);
  const auto cut = file.unsynced.empty() ? 0 : dice_.between(0, file.unsynced.size());
  std::uint64_t torn = 0, place = 0;
  if (file.bytes.size() > file.synced_size && dice_.one_in(2))
    file.bytes.resize(dice_.one_in(2) ? file.synced_size
                                      : dice_.between(file.synced_size, file.bytes.size()));
  for (const auto& [sector, before] : file.unsynced) {
    ++place;
    const bool survives = way == 0 || (way == 1 && place <= cut) || (way == 2 && dice_.one_in(2));
    const auto start = sector * sector_bytes;
    if (survives || start >= file.bytes.size()) continue;
    std::string old = before;
    old.resize(std::min<std::uint64_t>(sector_bytes, file.bytes.size() - start), '\0');
    file.bytes.replace(start, old.size(), old);
    ++torn;
  }
  file.unsynced.clear();
  file.synced_size = file.bytes.size();
  return torn;
}

std::uint64_t SimDisk::total_bytes() const {
  std::uint64_t total = 0;
  for (const auto& [name, file] : files_) total += file.bytes.size();
  return total;
}

std::string SimDisk::flip_bit() {
  const std::uint64_t total = total_bytes();
  if (total == 0) return "nothing";
  // Most of a segment is zeros written ahead; try for a byte that says something.
  for (int attempt = 0;; ++attempt) {
    std::uint64_t at = dice_.below(total);
    for (auto& [name, file] : files_) {
      if (at >= file.bytes.size()) {
        at -= file.bytes.size();
        continue;
      }
      if (file.bytes[at] == '\0' && attempt < 400) break;
      const auto bit = dice_.below(8);
      file.bytes[at] = static_cast<char>(static_cast<unsigned char>(file.bytes[at]) ^ (1u << bit));
      return name + " byte " + std::to_string(at) + " bit " + std::to_string(bit);
    }
  }
}

std::string describe(const store::Operation& operation) {
  return std::visit(
      Overloaded{[](const store::Create& o) {
                   return "create " + o.name + " of " + std::to_string(o.size_bytes);
                 },
                 [](const store::Write& o) {
                   return "write " + o.name + " " + std::to_string(o.offset) + "+" +
                          std::to_string(o.bytes.size());
                 },
                 [](const store::Sync& o) { return "sync " + o.name; },
                 [](const store::Rename& o) { return "rename " + o.from + " to " + o.to; },
                 [](const store::Remove& o) { return "remove " + o.name; }},
      operation);
}

}  // namespace gpl::sim
