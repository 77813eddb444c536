#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/raft/entry.h"

namespace gpl::raft {

/// Who has a say, and who only follows. Both sorted, without a node in common. Learners never
/// count; a lone voter awaits one all the same while it keeps up.
struct Configuration {
  std::vector<NodeId> voters;
  std::vector<NodeId> learners;

  bool is_voter(NodeId id) const;
  bool is_learner(NodeId id) const;
  bool contains(NodeId id) const { return is_voter(id) || is_learner(id); }
  /// How many of the voters are a majority.
  std::size_t quorum() const { return voters.size() / 2 + 1; }
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// Sorted, without 0, without a node twice.
bool is_valid(const Configuration& configuration);
/// As bytes, the same on every machine: two counts and the ids, little-endian.
std::string encode(const Configuration& configuration);
/// Code::invalid for bytes that `encode` does not make (unsorted and shared ids included).
Result<Configuration> decode_configuration(std::string_view bytes);

/// The state machine at an applied index: stands for the log up to there.
struct SnapshotMark {
  Index index = 0;
  Term term = 0;
  Configuration configuration;
  friend bool operator==(const SnapshotMark&, const SnapshotMark&) = default;
};

}  // namespace gpl::raft
