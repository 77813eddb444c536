#include "gpl/store/snapshot_file.h"

#include <cassert>
#include <utility>

#include "file_number.h"
#include "gpl/store/checksum.h"
#include "gpl/store/damage.h"
#include "little_endian.h"
#include "snapshot_format.h"

namespace gpl::store {
namespace {

constexpr std::string_view snapshot_prefix = "snapshot-";
// So that a snapshot in the background does not leave one long sync to the log beside it.
constexpr std::uint64_t sync_step_bytes = std::uint64_t{4} * 1024 * 1024;

/// Gives the operations that write one snapshot, in order.
class SnapshotWriter {
 public:
  SnapshotWriter(raft::SnapshotMark mark, PartSource parts)
      : mark_(std::move(mark)), parts_(std::move(parts)) {}

  Result<std::optional<Operation>> next() {
    if (step_ == Step::parts && written_bytes_ - synced_bytes_ >= sync_step_bytes) return sync();
    switch (step_) {
      case Step::remove:
        step_ = Step::head;
        return give(Remove{std::string(saving_name)});
      case Step::head:
        step_ = Step::parts;
        return give(write(chain_.head(mark_)));
      case Step::parts:
        return next_part();
      case Step::sync:
        step_ = Step::rename;
        return sync();
      case Step::rename:
        step_ = Step::done;
        return give(Rename{std::string(saving_name), snapshot_name(mark_)});
      case Step::done:
        return std::optional<Operation>();
    }
    return std::optional<Operation>();
  }

 private:
  enum class Step { remove, head, parts, sync, rename, done };

  static std::optional<Operation> give(Operation operation) { return operation; }

  Write write(std::string bytes) {
    Write out{std::string(saving_name), written_bytes_, std::move(bytes)};
    written_bytes_ += out.bytes.size();
    return out;
  }
  std::optional<Operation> sync() {
    synced_bytes_ = written_bytes_;
    return give(Sync{std::string(saving_name)});
  }

  Result<std::optional<Operation>> next_part() {
    std::optional<std::string> part = parts_();
    while (part && part->empty()) part = parts_();
    if (!part) {
      step_ = Step::sync;
      return give(write(chain_.end()));
    }
    if (part->size() > snapshot_part_limit_bytes) {
      return Error{Code::too_large, "a part of a snapshot has " + std::to_string(part->size()) +
                                        " bytes; the limit is " +
                                        std::to_string(snapshot_part_limit_bytes)};
    }
    return give(write(chain_.part(*part)));
  }

  raft::SnapshotMark mark_;
  PartSource parts_;
  SnapshotChain chain_;
  Step step_ = Step::remove;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t synced_bytes_ = 0;
};

}  // namespace

std::string snapshot_name(const raft::SnapshotMark& mark) {
  return std::string(snapshot_prefix) + file_number(mark.index) + "-" + file_number(mark.term);
}

std::optional<raft::SnapshotMark> parse_snapshot_name(std::string_view name) {
  if (!name.starts_with(snapshot_prefix)) return std::nullopt;
  name.remove_prefix(snapshot_prefix.size());
  const std::optional<std::uint64_t> index = take_file_number(name);
  if (!index || !name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  const std::optional<std::uint64_t> term = take_file_number(name);
  if (!term || !name.empty()) return std::nullopt;
  return raft::SnapshotMark{*index, *term, {}};
}

Committer::Source write_snapshot(const raft::SnapshotMark& mark, PartSource parts) {
  return [writer = SnapshotWriter(mark, std::move(parts))]() mutable { return writer.next(); };
}

std::vector<Operation> incoming_piece(std::uint64_t offset, std::string bytes) {
  std::vector<Operation> operations;
  if (offset == 0) operations.push_back(Remove{std::string(incoming_name)});
  operations.push_back(Write{std::string(incoming_name), offset, std::move(bytes)});
  return operations;
}

std::vector<Operation> adopt_incoming(const raft::SnapshotMark& mark) {
  return {Sync{std::string(incoming_name)},
          Rename{std::string(incoming_name), snapshot_name(mark)}};
}

}  // namespace gpl::store
