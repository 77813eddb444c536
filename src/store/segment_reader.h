#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "file_window.h"
#include "gpl/store/log_reader.h"

namespace gpl::store {

/// Reads one segment's batches, from the opening one on.
class SegmentReader {
 public:
  /// `disk` must outlive the reader. `end`: where a later segment says that this one ends; nothing
  /// for the last, and for one whose successor cannot be read (`is_last` is false then).
  SegmentReader(Disk& disk, const SegmentHeader& header, std::optional<std::uint64_t> end,
                bool is_last);

  /// The next whole batch; nothing at the end of the segment. Damage, Code::io.
  Result<std::optional<Batch>> next();

  std::uint64_t end() const { return end_; }                ///< of the last whole batch
  std::uint64_t next_batch() const { return next_batch_; }  ///< the number of the one to come
  /// Once `next` has given nothing: whether there is more than zeros behind `end`.
  bool torn() const { return torn_; }

 private:
  /// The record at `offset` when it is intact and next in sequence.
  Result<std::optional<LocatedRecord>> record_at(std::uint64_t offset);
  /// The same, from the disk: what the window holds may have been written since.
  Result<std::optional<LocatedRecord>> record_now_at(std::uint64_t offset);
  Error judge_onward(std::uint64_t offset, const Onward& onward);
  /// What ended the reading at `offset`: a clean end, a tear, or damage.
  Result<std::optional<Batch>> judge_end(std::uint64_t offset);
  Status search_later_batch(std::uint64_t offset);
  Status search_non_zero();

  Disk& disk_;
  FileWindow window_;
  std::string name_;
  SegmentHeader header_;
  std::optional<std::uint64_t> known_end_;
  bool is_last_;
  std::uint64_t end_ = segment_header_bytes;
  std::uint64_t next_batch_;
  bool torn_ = false;
  bool batch_ended_ = false;        // by the record that was read last
  std::uint64_t record_bytes_ = 0;  // of the record that was read last
};

}  // namespace gpl::store
