#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/raft/node.h"
#include "gpl/store/disk.h"
#include "gpl/store/log_reader.h"

namespace gpl::store {

/// What a log's folder says (gpl-wal(5), RECOVERY), and what a writer needs to go on from there.
struct Recovered {
  LogShape shape;
  raft::Restored restored;
  std::string snapshot_name;             ///< "": none, a bootstrap mark
  std::vector<std::string> snapshots;    ///< all of them
  std::vector<Error> damaged_snapshots;  ///< those newer than that, which are passed over
  raft::Index first_index = 0;  ///< of the entries in the log, those before the snapshot too
  raft::Index begin_index = 0;  ///< of the last mark in the log; 0: none
  raft::Index next_index = 0;   ///< of an entry that would be new
  bool begin_anew = false;      ///< the log does not reach the snapshot: void
  std::map<std::uint64_t, raft::Index> highest;  ///< index of an entry in each segment; 0: none
  std::vector<std::string> notes;                ///< what a person should know, a line each
};

/// Reads the folder and changes nothing. `sink` may be empty; it also sees each whole batch, up to
/// the first damage in the log (whatever the snapshots are like). What is returned is fit for
/// raft::Node. Requires that there is a segment among `names`. Code::invalid: damage,
/// Code::unsupported, Code::busy: a running peer wrote on, Code::io.
Result<Recovered> recover(Disk& disk, const std::vector<std::string>& names, const BatchSink& sink);

/// Whether any of the names is a segment's, or a snapshot's.
bool has_segments(const std::vector<std::string>& names);
bool has_snapshots(const std::vector<std::string>& names);

}  // namespace gpl::store
