#include "file_window.h"
#include "gpl/store/damage.h"
#include "gpl/store/snapshot_file.h"
#include "little_endian.h"
#include "snapshot_format.h"

namespace gpl::store {
namespace {

/// Reads one snapshot file from front to back.
class SnapshotReader {
 public:
  SnapshotReader(Disk& disk, std::string_view name)
      : window_(disk, std::string(name)), name_(name) {}

  Result<raft::SnapshotMark> read(const std::function<Status(std::string_view)>& part) {
    Result<raft::SnapshotMark> mark = read_head();
    if (!mark) return mark;
    for (;;) {
      Result<bool> more = read_part(part);
      if (!more) return std::move(more).error();
      if (!more.value()) return mark;
    }
  }

 private:
  Result<std::string_view> take(std::size_t length, std::string_view what) {
    Result<std::string_view> bytes = window_.at(offset_, length);
    if (bytes && bytes.value().size() < length) {
      return damage(name_, offset_ + bytes.value().size(),
                    "the file ends within " + std::string(what));
    }
    return bytes;
  }

  Result<raft::SnapshotMark> read_head() {
    Result<std::string_view> first = window_.at(0, snapshot_head_limit_bytes);
    if (!first) return std::move(first).error();
    Status known = check_snapshot_version(name_, first.value());
    if (!known) return std::move(known).error();
    Result<std::string_view> fixed = take(snapshot_fixed_head_bytes, "the snapshot's head");
    if (!fixed) return std::move(fixed).error();
    const Result<std::size_t> length = snapshot_head_bytes(name_, fixed.value());
    if (!length) return length.error();
    Result<std::string_view> head = take(length.value(), "the snapshot's head");
    if (!head) return std::move(head).error();
    Result<raft::SnapshotMark> mark = decode_snapshot_head(name_, head.value());
    if (mark) chain_.head(mark.value());
    offset_ += length.value();
    return mark;
  }

  /// False at the end of the snapshot.
  Result<bool> read_part(const std::function<Status(std::string_view)>& part) {
    Result<std::string_view> head = take(8, "a part's length");
    if (!head) return std::move(head).error();
    const std::uint64_t length = read_u64(head.value(), 0);
    if (length == 0) return read_end();
    if (length > snapshot_part_limit_bytes) {
      return damage(name_, offset_, "the length of a part is over its limit");
    }
    Result<std::string_view> whole = take(length + 16, "a part");
    if (!whole) return std::move(whole).error();
    if (chain_.part_checksum(whole.value().substr(0, length + 8)) !=
        read_u64(whole.value(), length + 8)) {
      return damage(name_, offset_, "the checksum of a part does not match");
    }
    Status taken = part(whole.value().substr(8, length));
    if (!taken) return std::move(taken).error();
    offset_ += length + 16;
    return true;
  }

  Result<bool> read_end() {
    Result<std::string_view> end = take(snapshot_end_bytes, "its end");
    if (!end) return std::move(end).error();
    if (end.value() != chain_.end()) {
      return damage(name_, offset_, "its end does not fit what is before it");
    }
    offset_ += snapshot_end_bytes;
    Result<std::string_view> rest = window_.at(offset_, 1);
    if (!rest) return std::move(rest).error();
    if (!rest.value().empty()) return damage(name_, offset_, "something follows its end");
    return false;
  }

  FileWindow window_;
  std::string name_;
  SnapshotChain chain_;
  std::uint64_t offset_ = 0;
};

}  // namespace

Result<raft::SnapshotMark> read_snapshot(Disk& disk, std::string_view name,
                                         const std::function<Status(std::string_view)>& part) {
  return SnapshotReader(disk, name).read(part);
}

}  // namespace gpl::store
