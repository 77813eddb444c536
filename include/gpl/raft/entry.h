#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpl/core/id.h"

namespace gpl::raft {

struct NodeTag;
/// A voter or learner, for its whole life: a disk that was lost makes a new node. 0: none.
using NodeId = Id<NodeTag>;

using Term = std::uint64_t;   ///< from 1; 0: before the first
using Index = std::uint64_t;  ///< of a log entry, from 1; 0: before the first

enum class EntryKind : std::uint8_t {
  noop = 0,           ///< the first of each term
  command = 1,        ///< the state machine's
  configuration = 2,  ///< an encoded Configuration, in force from the moment that it is in the log
};

/// One place in the log. An index and a term name its content for good.
struct Entry {
  Index index = 0;
  Term term = 0;
  EntryKind kind = EntryKind::command;
  std::string data;
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// The most that one entry's data may have; what is larger travels as a blob beside the log.
inline constexpr std::size_t entry_limit_bytes = std::size_t{64} * 1024;

/// What a node may never forget: it is synced before anything is sent that rests on it.
struct HardState {
  Term term = 0;
  NodeId vote;  ///< given in `term`
  friend bool operator==(const HardState&, const HardState&) = default;
};

}  // namespace gpl::raft
