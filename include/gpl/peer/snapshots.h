#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "gpl/core/cluster_state.h"
#include "gpl/raft/output.h"
#include "gpl/store/committer.h"
#include "gpl/store/disk.h"

namespace gpl::peer {

/// The snapshots of one replica: takes them from a frozen state, hands out pieces to followers,
/// and puts together what a leader sends. All file work is done in the background lane.
class Snapshots {
 public:
  /// What is told, on the loop.
  struct Told {
    std::function<void(const raft::SnapshotMark&)> saved;
    std::function<void(const raft::SnapshotRead&, std::string data, std::uint64_t total_bytes)>
        piece;
    std::function<void(const raft::SnapshotMark&, ClusterState)> received;
    /// What arrived is damaged, or could not be kept.
    std::function<void(const raft::SnapshotMark&)> refused;
    std::function<void(std::string)> note;  ///< for the log: what failed and was left
  };

  Snapshots(store::Disk& disk, store::Committer& committer, Told told);

  /// Begins to write the state at this mark. Requires not `taking`.
  void take(const raft::SnapshotMark& mark, FrozenState state);
  bool taking() const { return taking_; }
  void read(const raft::SnapshotRead& read);
  /// A piece that arrived; after the last, `received` is told unless the file is damaged.
  void write(raft::SnapshotWrite piece);

  struct Loaded {
    raft::SnapshotMark mark;
    ClusterState state;
  };
  /// What is in a snapshot file. Code::invalid, Code::unsupported (of a newer gpl) or Code::io,
  /// with the file's name.
  static Result<Loaded> load(store::Disk& disk, std::string_view name);

 private:
  void remove(std::string_view name);
  void finish_incoming(const raft::SnapshotMark& mark);

  store::Disk& disk_;
  store::Committer& committer_;
  Told told_;
  bool taking_ = false;
  std::uint64_t arrival_ = 0;  ///< the attempt at receiving one that counts; others are over
};

}  // namespace gpl::peer
