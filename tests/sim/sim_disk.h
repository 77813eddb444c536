#pragma once

// A disk that keeps what was synced and, at a power loss, an arbitrary subset of the 512-byte
// sectors that were not. It can be full, fail to sync, and have bits flipped while nobody runs on
// it.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/prng.h"
#include "gpl/store/disk.h"

namespace gpl::sim {

class SimDisk final : public store::Disk {
 public:
  explicit SimDisk(Prng dice) : dice_(dice) {}

  Result<std::vector<std::string>> list() override;
  Result<std::uint64_t> size(std::string_view name) override;
  Result<std::string> read(std::string_view name, std::uint64_t offset,
                           std::size_t limit_bytes) override;
  Status perform(const store::Operation& operation) override;

  /// An operation during which the process was killed: done in part, or not, or whole.
  void interrupt(const store::Operation& operation);
  /// What was not synced is lost but for some sectors. Returns how many were torn away.
  std::uint64_t lose_power();

  void set_full(bool full) { full_ = full; }
  bool full() const { return full_; }
  /// The next Sync fails; of what it should have written, any sectors are on disk.
  void fail_next_sync() { sync_fails_ = true; }
  /// The machine loses power in the middle of this many operations from now: none is done after it.
  void lose_power_after(std::uint64_t operations) { operations_left_ = operations; }
  bool power_lost() const { return operations_left_ == std::uint64_t{0}; }
  void power_on() { operations_left_.reset(); }
  /// How many operations failed for want of space or for a failing sync.
  std::uint64_t failures() const { return failures_; }

  /// Flips one bit of what is there, preferably where something is. Returns file and offset.
  std::string flip_bit();
  std::uint64_t total_bytes() const;

  /// Sees each Write before it is done and may change its bytes: a planted bug.
  std::function<void(store::Write&)> on_write;

 private:
  static constexpr std::uint64_t sector_bytes = 512;

  struct File {
    std::string bytes;
    std::uint64_t synced_size = 0;
    /// Sectors changed since the last sync, as they are on disk; "": the file ended before.
    std::map<std::uint64_t, std::string> unsynced;
  };
  using Files = std::map<std::string, File, std::less<>>;

  Error fail(std::string_view what, std::string_view name, std::string_view why);
  Status create(const store::Create& create);
  Status write(store::Write write);
  Status sync(const store::Sync& sync);
  Status rename(const store::Rename& rename);
  std::uint64_t lose_unsynced(File& file);

  Prng dice_;
  Files files_;
  bool full_ = false;
  bool sync_fails_ = false;
  std::uint64_t failures_ = 0;
  std::optional<std::uint64_t> operations_left_;
};

/// For a trace: "write wal-1 4096+512".
std::string describe(const store::Operation& operation);

}  // namespace gpl::sim
