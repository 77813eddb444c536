#pragma once

#include <compare>
#include <cstdint>

namespace gpl {

/// A number that names one thing of one kind: ids of different kinds neither compare nor convert.
/// Ids of a kind are ordered by age: a later one is larger.
template <class Tag>
struct Id {
  std::uint64_t value = 0;
  friend auto operator<=>(const Id&, const Id&) = default;
};

struct JobTag;
struct TaskTag;
struct AttemptTag;
struct PeerTag;

using JobId = Id<JobTag>;
using TaskId = Id<TaskTag>;        ///< within its job, from 0
using AttemptId = Id<AttemptTag>;  ///< of a cluster: no two attempts of an epoch have the same
using PeerId = Id<PeerTag>;        ///< of a peer for its whole life; 0: none

/// Drawn at random by who submits: the same number again is the same request, told again.
struct RequestId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const RequestId&, const RequestId&) = default;
};

}  // namespace gpl
