#include "gpl/peer/snapshots.h"

#include <string>
#include <utility>
#include <vector>

#include "gpl/store/snapshot_file.h"
#include "gpl/wire/codec.h"

namespace gpl::peer {

using store::Committer;

Snapshots::Snapshots(store::Disk& disk, Committer& committer, Told told)
    : disk_(disk), committer_(committer), told_(std::move(told)) {}

void Snapshots::take(const raft::SnapshotMark& mark, FrozenState state) {
  taking_ = true;
  // Encoded part by part off the loop: the state is frozen, and memory holds one part's bytes.
  auto parts = [state = std::move(state),
                next = std::size_t{0}]() mutable -> std::optional<std::string> {
    if (next == state.part_count()) return std::nullopt;
    return wire::encode(state.part(next++));
  };
  committer_.submit(Committer::Lane::background, store::write_snapshot(mark, std::move(parts)),
                    [this, mark](const Status& status) {
                      taking_ = false;
                      if (status.ok()) {
                        told_.saved(mark);
                      } else {
                        told_.note("no snapshot was taken: " + status.error().message);
                        remove(store::saving_name);
                      }
                    });
}

/// A part of one may be what fills the disk, which the log needs.
void Snapshots::remove(std::string_view name) {
  committer_.submit(Committer::Lane::background, {store::Remove{std::string(name)}},
                    [](const Status&) {});
}

void Snapshots::read(const raft::SnapshotRead& read) {
  struct Piece {
    std::string data;
    std::uint64_t total_bytes = 0;
  };
  auto piece = std::make_shared<Piece>();
  auto fetch = [&disk = disk_, read, piece]() -> Result<std::optional<store::Operation>> {
    const auto name = store::snapshot_name(read.mark);
    auto total = disk.size(name);
    if (!total.ok()) return std::move(total).error();
    auto data = disk.read(name, read.offset, read.limit_bytes);
    if (!data.ok()) return std::move(data).error();
    *piece = {std::move(data).value(), total.value()};
    return std::optional<store::Operation>();
  };
  committer_.submit(Committer::Lane::background, Committer::Source(std::move(fetch)),
                    [this, read, piece](const Status& status) {
                      if (status.ok()) {
                        told_.piece(read, std::move(piece->data), piece->total_bytes);
                      } else {
                        told_.note("no snapshot was sent: " + status.error().message);
                        told_.piece(read, {}, 0);
                      }
                    });
}

void Snapshots::write(raft::SnapshotWrite piece) {
  const auto mark = piece.mark;
  const bool last = piece.last;
  if (piece.offset == 0) ++arrival_;
  committer_.submit(
      Committer::Lane::background, store::incoming_piece(piece.offset, std::move(piece.data)),
      [this, mark, last, arrival = arrival_](const Status& status) {
        if (arrival != arrival_) return;
        if (!status.ok()) {
          ++arrival_;  // its pieces that are still on their way
          told_.note("a snapshot that arrived was not kept: " + status.error().message);
          remove(store::incoming_name);
          told_.refused(mark);
        } else if (last) {
          finish_incoming(mark);
        }
      });
}

void Snapshots::finish_incoming(const raft::SnapshotMark& mark) {
  auto state = std::make_shared<std::optional<ClusterState>>();
  auto operations = std::make_shared<std::vector<store::Operation>>();
  // First the whole file is read and checked, then it gets its name.
  auto adopt = [&disk = disk_, mark, state, operations,
                next = std::size_t{0}]() mutable -> Result<std::optional<store::Operation>> {
    if (next == 0) {
      auto loaded = load(disk, store::incoming_name);
      if (!loaded.ok()) return std::move(loaded).error();
      if (loaded.value().mark != mark)
        return Error{Code::invalid, "it is the snapshot of entry " +
                                        std::to_string(loaded.value().mark.index) + " and not of " +
                                        std::to_string(mark.index) + ", as was announced"};
      *state = std::move(loaded.value().state);
      *operations = store::adopt_incoming(mark);
    }
    if (next == operations->size()) return std::optional<store::Operation>();
    return std::optional<store::Operation>(std::move((*operations)[next++]));
  };
  committer_.submit(
      Committer::Lane::background, Committer::Source(std::move(adopt)),
      [this, mark, state](const Status& status) {
        if (status.ok()) {
          told_.received(mark, std::move(**state));
        } else {
          told_.note("a snapshot that arrived was not taken: " + status.error().message);
          remove(store::incoming_name);
          told_.refused(mark);
        }
      });
}

Result<Snapshots::Loaded> Snapshots::load(store::Disk& disk, std::string_view name) {
  std::vector<StatePart> parts;
  auto mark = store::read_snapshot(disk, name, [&](std::string_view bytes) -> Status {
    auto part = wire::decode<StatePart>(bytes);
    if (!part.ok())
      return Error{part.error().code, std::string(name) + ": " + part.error().message};
    parts.push_back(std::move(part).value());
    return success();
  });
  if (!mark.ok()) return std::move(mark).error();
  auto state = ClusterState::restore(std::move(parts));
  if (!state.ok())
    return Error{state.error().code, std::string(name) + ": " + state.error().message};
  return Loaded{std::move(mark).value(), std::move(state).value()};
}

}  // namespace gpl::peer
