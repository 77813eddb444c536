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

using JobId = Id<JobTag>;
using TaskId = Id<TaskTag>;
using AttemptId = Id<AttemptTag>;

}  // namespace gpl
