#include "gpl/artifact/stat_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "gpl/artifact/big_endian.h"
#include "gpl/artifact/chunk.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"

namespace gpl::artifact {
namespace {

// "gplstat" u8 version, rows of five numbers and their chunks' ids, and the digest of all that.
constexpr std::string_view magic("gplstat\1", 8);
constexpr std::size_t state_bytes = 5 * sizeof(std::uint64_t);
constexpr std::size_t max_cache_bytes = std::size_t{1} << 30U;
constexpr Duration kept = seconds(std::int64_t{30} * 86'400);

// A kernel's clock ticks every 10 ms at most. A time in whole seconds is of a file system that
// knows no others (2 s on FAT).
constexpr std::int64_t tick_ns = 100'000'000;
constexpr std::int64_t coarse_tick_ns = 2'000'000'000;

bool is_settled(std::int64_t time_ns, std::int64_t read_at_ns) {
  const std::int64_t tick = time_ns % 1'000'000'000 == 0 ? coarse_tick_ns : tick_ns;
  return time_ns < read_at_ns - tick;
}

std::uint64_t as_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

FileState read_state(std::string_view bytes) {
  const auto number = [&](std::size_t index) {
    return read_big_endian<std::uint64_t>(bytes, index * sizeof(std::uint64_t));
  };
  return {number(0), number(1), number(2), static_cast<std::int64_t>(number(3)),
          static_cast<std::int64_t>(number(4))};
}

void remove_old(int folder, Instant now) {
  const Result<std::vector<std::string>> names = posix::names_in(folder);
  if (!names.ok()) return;
  for (const std::string& name : names.value()) {
    struct stat status;
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::int64_t age_ms = now.since_epoch_ms - posix::to_ns(status.st_mtim) / 1'000'000;
    if (age_ms > kept.count_ms) ::unlinkat(folder, name.c_str(), 0);
  }
}

}  // namespace

FileState FileState::of(const struct stat& status) {
  return {std::uint64_t{status.st_dev}, std::uint64_t{status.st_ino},
          static_cast<std::uint64_t>(status.st_size), posix::to_ns(status.st_mtim),
          posix::to_ns(status.st_ctim)};
}

StatCache StatCache::load(const std::string& folder, const std::string& root) {
  StatCache cache;
  cache.folder_ = folder;
  cache.name_ = digest_of(root).hex();
  const Result<std::string> bytes =
      posix::read_file_at(AT_FDCWD, folder + "/" + cache.name_, max_cache_bytes);
  if (bytes.ok() && !read(bytes.value(), cache.loaded_)) cache.loaded_.clear();
  return cache;
}

bool StatCache::read(std::string_view bytes, std::vector<Row>& rows) {
  if (bytes.size() < magic.size() + Digest::size_bytes) return false;
  const std::string_view sum = bytes.substr(bytes.size() - Digest::size_bytes);
  bytes.remove_suffix(sum.size());
  if (bytes.substr(0, magic.size()) != magic || digest_of(bytes).bytes() != sum) return false;
  bytes.remove_prefix(magic.size());
  while (!bytes.empty()) {
    if (bytes.size() < state_bytes) return false;
    Row row{read_state(bytes), {}, false};
    bytes.remove_prefix(state_bytes);
    const std::uint64_t count = chunk_count(row.state.size_bytes);
    if (count > bytes.size() / Digest::size_bytes) return false;
    for (std::uint64_t i = 0; i < count; ++i) {
      row.chunks.push_back(*Digest::from_bytes(bytes.substr(0, Digest::size_bytes)));
      bytes.remove_prefix(Digest::size_bytes);
    }
    if (!rows.empty() && rows.back().state >= row.state) return false;
    rows.push_back(std::move(row));
  }
  return true;
}

const std::vector<Digest>* StatCache::find(const FileState& state) {
  const auto at =
      std::lower_bound(loaded_.begin(), loaded_.end(), state,
                       [](const Row& row, const FileState& wanted) { return row.state < wanted; });
  if (at == loaded_.end() || at->state != state) return nullptr;
  at->used = true;
  return &at->chunks;
}

void StatCache::record(const FileState& state, std::vector<Digest> chunks, Instant read_at) {
  const std::int64_t read_at_ns = read_at.since_epoch_ms * 1'000'000;
  if (!is_settled(state.ctime_ns, read_at_ns) || !is_settled(state.mtime_ns, read_at_ns)) return;
  if (chunks.size() != chunk_count(state.size_bytes)) return;
  recorded_.push_back({state, std::move(chunks), true});
}

Status StatCache::save(Instant now) const {
  const auto used = [](const Row& row) { return row.used; };
  if (recorded_.empty() && std::all_of(loaded_.begin(), loaded_.end(), used)) return success();
  if (Status made = posix::make_folders(folder_, 0700); !made.ok()) return made;
  Result<posix::Fd> folder = posix::open_folder(folder_);
  if (!folder.ok()) return std::move(folder).error();
  if (loaded_.empty()) remove_old(folder.value().get(), now);
  // Two that save at once may garble it: then it does not have its digest, and is none.
  return posix::replace_file_at(folder.value().get(), name_, encoded());
}

std::string StatCache::encoded() const {
  std::vector<const Row*> rows;
  for (const std::vector<Row>* some : {&loaded_, &recorded_}) {
    for (const Row& row : *some) {
      if (row.used) rows.push_back(&row);
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row* one, const Row* other) { return one->state < other->state; });
  std::string bytes(magic);
  const Row* last = nullptr;
  for (const Row* row : rows) {
    if (last != nullptr && last->state == row->state) continue;  // two paths of one file
    last = row;
    for (const std::uint64_t number :
         {row->state.device, row->state.inode, row->state.size_bytes,
          as_unsigned(row->state.mtime_ns), as_unsigned(row->state.ctime_ns)})
      append_big_endian(bytes, number);
    for (const Digest& id : row->chunks) bytes += id.bytes();
  }
  bytes += digest_of(bytes).bytes();
  return bytes;
}

}  // namespace gpl::artifact
