#pragma once

#include <cstddef>
#include <vector>

#include "gpl/core/time.h"
#include "gpl/raft/entry.h"

namespace gpl::raft {

/// What a leader knows of a member, itself included, when it decides who is to be a voter.
struct MemberFacts {
  NodeId id;
  bool is_voter = false;
  bool answers = false;    ///< the leader always does
  bool caught_up = false;  ///< Node::has_caught_up; the leader always has
  Duration silent_for;     ///< 0 while it answers
  bool gives_up = false;   ///< its process is about to end, or it leaves
  // Of the machine: a voter is to be one that stays on.
  bool on_battery = false;
  bool wireless = false;
  Instant process_began;  ///< longest up is best
};

/// A member that has not answered for so long does not count any more; a voter is replaced.
inline constexpr Duration replaced_after = seconds(600);

/// How many voters a cluster of so many members is to have: 1 of one or two, 3 from three, 5 from
/// seven on.
std::size_t wanted_voters(std::size_t members);

/// One change, after which the next is asked for anew. It never takes the majority away.
struct VoterStep {
  enum class Kind {
    none,
    promote,    ///< a learner
    demote,     ///< a voter: to be removed, and added again as a learner
    hand_over,  ///< leadership, to a voter; whoever leads then goes on
  };
  Kind kind = Kind::none;
  NodeId node;
  friend bool operator==(const VoterStep&, const VoterStep&) = default;
};

/// The next step towards the right number of voters on the fittest machines: odd, adding before
/// removing. `members` are all of the configuration, `leader` is one of them and a voter.
VoterStep next_voter_step(const std::vector<MemberFacts>& members, NodeId leader);

}  // namespace gpl::raft
