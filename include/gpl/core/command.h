#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpl/core/allocation.h"
#include "gpl/core/attempt.h"
#include "gpl/core/job_description.h"
#include "gpl/core/job_state.h"
#include "gpl/core/peer_offer.h"
#include "gpl/core/task_range.h"
#include "gpl/core/time.h"

/// What the replicated log holds. Every command carries its time: the state machine has no clock.
/// A command that does not fit the state that it meets is refused, the same on every peer, and
/// changes nothing. One that asks for what already is so is fine, and changes nothing either.
///
/// A command's number in the log is its place in the variant `Command`. Numbers and members are
/// never changed or given anew, since old logs are read for ever: what is to be said otherwise
/// becomes a new alternative at the end. A new alternative, or a new choice within an old one (a
/// job's shape), belongs to the next feature level. The leader proposes SetFeatureLevel once every
/// peer has said that its version knows the level, and until that is applied every peer refuses
/// what is above. Two versions of gpl thus never differ about a command that both apply; one that
/// meets a level above its newest (it was away while the others were upgraded) must not go on.
namespace gpl::command {

/// Tasks of one job to one peer: each gets an attempt; they run one after the other on what is
/// allocated, which they hold together until the last has ended (Attempt::slot). The tasks wait,
/// and what is allocated is free there: cpus and memory within the offer, no device that another
/// slot has, shares of one up to its memory. Of memory that is unknown (0) nothing can be had.
inline constexpr std::uint64_t most_tasks_of_placing = 1024;
struct Placing {
  TaskRange tasks;
  PeerId peer;
  Allocation allocation;
  friend bool operator==(const Placing&, const Placing&) = default;
};

/// A new job, and where it starts at once if it can: one sync from submit to start. A request that
/// has been seen before is answered with the job that it made then, and places nothing; it is known
/// until that job is pruned. A placing that is not valid leaves its tasks queued.
///
/// A job whose dependency ended otherwise than it asks can never begin: it ends at once as
/// FailedToStart with exit code 125, now or when that happens.
struct Submit {
  RequestId request;
  Submitter submitter;
  JobDescription job;
  std::vector<Placing> placings;
  Instant at;
  friend bool operator==(const Submit&, const Submit&) = default;
};
/// Not of a job that is held, or blocked by a dependency; at most as many placings of an array at a
/// time as its limit says.
struct Place {
  JobId job;
  Placing placing;
  Instant at;
  friend bool operator==(const Place&, const Place&) = default;
};
/// From feature level 2 on: one task to several peers, node ranks in this order.
struct PlaceGang {
  struct Node {
    PeerId peer;
    Allocation allocation;
    friend bool operator==(const Node&, const Node&) = default;
  };
  JobId job;
  TaskId task;
  std::vector<Node> nodes;
  std::uint16_t first_port = 0;  ///< leased on the peer of rank 0
  std::uint16_t port_count = 0;
  Instant at;
  friend bool operator==(const PlaceGang&, const PlaceGang&) = default;
};
/// The attempt runs. What was cancelled meanwhile is told to end.
struct Start {
  Fence attempt;
  Instant at;
  friend bool operator==(const Start&, const Start&) = default;
};
/// The attempt ended, its start told or not. Taken once; a fenced or unknown attempt's is refused.
///
/// With retries left the task is queued again after every outcome but exit code 0 and two more:
/// Cancelled, which a person wanted, and Lost, of which `OnLoss` decides (a loss is no failure of
/// the task, and does not count). A command that could not be started may find its file elsewhere.
///
/// What was cancelled ends as Cancelled whatever is reported, and is not tried again, but for
/// Exited: then it was done before the word to end it came. A keeper that ended an attempt on that
/// word reports Cancelled, however the command took it, as scancel has it: what depends on the
/// job's success must not start because a command exits with 0 when told to stop.
struct Report {
  Fence attempt;
  Outcome outcome;
  Instant at;
  /// It ran on after its lease was over: the keeper was stopped, or the kernel could not kill.
  /// Recorded as an overlap when another attempt at the task, placed before this was told, has run
  /// or turns out to have; the last 4096 that were given up are remembered for that.
  bool outlived_lease = false;
  friend bool operator==(const Report&, const Report&) = default;
};
/// Tasks that wait end as cancelled; attempts are told to end, each time anew, and are under way
/// until their end is reported. Without tasks: all.
struct Cancel {
  JobId job;
  std::optional<TaskRange> tasks;
  Instant at;
  friend bool operator==(const Cancel&, const Cancel&) = default;
};
/// Nothing more of the job is placed until it is released.
struct Hold {
  JobId job;
  Instant at;
  friend bool operator==(const Hold&, const Hold&) = default;
};
struct Release {
  JobId job;
  Instant at;
  friend bool operator==(const Release&, const Release&) = default;
};
/// A peer reports for work, or what it offers has changed. Its attempts stay as they are, whatever
/// the keeper: those that a new one does not know are settled by AttemptsLost, and hold what they
/// have until then. Attempts that were given up while it was away must have ended before this.
struct PeerUp {
  PeerId peer;
  std::string keeper;  ///< instance: boot id, pid namespace and a number drawn at its start
  PeerOffer offer;
  Instant at;
  friend bool operator==(const PeerUp&, const PeerUp&) = default;
};
/// It has been silent for too long. Nothing is placed there. Its attempts with OnLoss::fail end
/// their jobs: they as Lost, tasks that wait as FailedToStart, attempts elsewhere are told to end.
struct PeerDown {
  PeerId peer;
  Instant at;
  friend bool operator==(const PeerDown&, const PeerDown&) = default;
};
/// It is given up: every attempt there is lost, as in AttemptsLost.
struct PeerForgotten {
  PeerId peer;
  Instant at;
  friend bool operator==(const PeerForgotten&, const PeerForgotten&) = default;
};
/// The peer is back under another keeper, which knows nothing of these: with OnLoss::retry their
/// tasks are queued again, else they end as Lost (with OnLoss::fail with their jobs, as in
/// PeerDown). Those of the list that have ended by now are passed over; when none is left it is
/// refused.
struct AttemptsLost {
  PeerId peer;
  std::vector<Fence> attempts;
  std::string why;  ///< for a person
  Instant at;
  friend bool operator==(const AttemptsLost&, const AttemptsLost&) = default;
};
/// The leases of these attempts are over, grace included: their peer has ended them, and their
/// tasks are queued again. Only attempts with OnLoss::retry have leases. A list as in AttemptsLost.
struct LeasesOver {
  PeerId peer;
  std::vector<Fence> attempts;
  Instant at;
  friend bool operator==(const LeasesOver&, const LeasesOver&) = default;
};
/// Jobs that ended before this are dropped, with their request ids, but for those that a job that
/// has not ended depends on: the first so many to end. What is left takes another one.
struct Prune {
  static constexpr std::size_t most_jobs = 1000;
  Instant before;
  Instant at;
  friend bool operator==(const Prune&, const Prune&) = default;
};
/// Every peer understands commands up to this level. Never goes down. Refused with
/// Code::unsupported above `newest_feature_level`: then this peer must stop, it is left behind. To
/// be proposed once the offers of all peers name that level or a later one.
struct SetFeatureLevel {
  std::uint32_t level = 0;
  Instant at;
  friend bool operator==(const SetFeatureLevel&, const SetFeatureLevel&) = default;
};
/// The cluster was taken over: attempts placed from here on carry this epoch. Never goes down.
struct SetEpoch {
  std::uint64_t epoch = 0;
  Instant at;
  friend bool operator==(const SetEpoch&, const SetEpoch&) = default;
};

}  // namespace gpl::command

namespace gpl {

/// In the order of their numbers in the log: append only.
using Command =
    std::variant<command::Submit, command::Place, command::PlaceGang, command::Start,
                 command::Report, command::Cancel, command::Hold, command::Release, command::PeerUp,
                 command::PeerDown, command::PeerForgotten, command::AttemptsLost,
                 command::LeasesOver, command::Prune, command::SetFeatureLevel, command::SetEpoch>;

/// "submit", "place gang", ...
std::string_view name_of(const Command& command);

/// The feature level from which on the command may be in the log.
std::uint32_t feature_level_of(const Command& command);
/// The highest level that this version understands.
inline constexpr std::uint32_t newest_feature_level = 1;

}  // namespace gpl
