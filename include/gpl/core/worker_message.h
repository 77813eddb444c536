#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/job_state.h"
#include "gpl/core/peer_offer.h"
#include "gpl/core/time.h"

/// What keepers and leaders say to each other. Any of it may be lost, doubled, late or out of
/// order, and may reach a leader that is none any more. What holds it together is the session: a
/// hello (everything that the worker knows), a welcome, a first renewal that proves that this very
/// worker lives; then numbered tellings one way and numbered orders the other, taken in order. When
/// a number stays missing the session is given up, and a new hello tells all again.
namespace gpl {

/// Who leads: a later leader's is larger. The epoch grows when a cluster is taken over.
struct Leadership {
  std::uint64_t epoch = 0;
  std::uint64_t term = 0;
  friend auto operator<=>(const Leadership&, const Leadership&) = default;
};

/// Of a keeper a later session's is larger; no two keepers of a peer ever use the same.
struct SessionTag;
using SessionId = Id<SessionTag>;

/// An attempt that a worker was ordered to start and that has not ended.
struct LiveAttempt {
  Fence fence;
  std::optional<Instant> started_at;  ///< nothing: its turn has not come, or it is just starting
  friend bool operator==(const LiveAttempt&, const LiveAttempt&) = default;
};
/// How an attempt ended; kept until a leader acknowledges it.
struct EndedAttempt {
  Fence fence;
  std::optional<Instant> started_at;  ///< nothing: it never ran
  Outcome outcome;
  Instant at;
  /// It may have run after its lease was over: the keeper was stopped, or the kernel could not
  /// kill.
  bool outlived_lease = false;
  friend bool operator==(const EndedAttempt&, const EndedAttempt&) = default;
};

/// Whether a keeper knows of every attempt that an earlier one of its peer had begun: the same one,
/// or one that found the other's orders on disk, which are written before anything is started. An
/// instance is "BOOT NAMESPACE NUMBER" (of the machine's boot and of the processes): up to the last
/// blank it is the same until a reboot, after which what was not synced may be gone.
inline bool inherits(const std::string& before, const std::string& after) {
  if (before == after) return true;
  const std::size_t end = after.rfind(' ');
  return end != std::string::npos && before.rfind(' ') == end &&
         before.compare(0, end, after, 0, end) == 0;
}

namespace to_leader {

/// A worker opens a session, which replaces all its earlier ones. It tells everything.
struct Hello {
  SessionId session;
  std::string keeper;
  PeerOffer offer;
  std::vector<LiveAttempt> live;
  std::vector<EndedAttempt> ended;
  friend bool operator==(const Hello&, const Hello&) = default;
};
/// Asks for a renewal of the lease; the first one completes the session.
struct Renew {
  SessionId session;
  Leadership leadership;
  std::uint64_t opening = 0;  ///< from the Welcome
  Moment asked_at;            ///< by the worker's clock
  std::uint64_t told = 0;     ///< number of the last Told so far
  friend bool operator==(const Renew&, const Renew&) = default;
};
struct Told {
  SessionId session;
  std::uint64_t number = 0;  ///< from 1 in each session
  std::variant<LiveAttempt, EndedAttempt> attempt;
  friend bool operator==(const Told&, const Told&) = default;
};

}  // namespace to_leader

namespace to_worker {

/// Answers a hello. Nothing is granted or ordered yet: the hello may have been an old one.
struct Welcome {
  SessionId session;
  Leadership leadership;
  std::uint64_t opening = 0;  ///< of the leader's; no two of its welcomes have the same
  friend bool operator==(const Welcome&, const Welcome&) = default;
};
/// Answers a Renew.
struct Granted {
  SessionId session;
  Leadership leadership;
  Moment asked_at;            ///< as it was asked
  Duration unconfirmed;       ///< how long ago, by its clock, the leader is known to have led
  std::uint64_t ordered = 0;  ///< number of the last order so far
  friend bool operator==(const Granted&, const Granted&) = default;
};
/// Start this attempt, after those of its slot that were ordered before.
struct Start {
  Fence fence;
  AttemptId slot;
  JobId job;
  TaskId task;
  Allocation allocation;
  JobDescription description;
  friend bool operator==(const Start&, const Start&) = default;
};
/// End this attempt; tell how it ended, also when it never began.
struct End {
  Fence fence;
  friend bool operator==(const End&, const End&) = default;
};
/// The outcome has been taken, or never will be: forget it.
struct Acknowledge {
  Fence fence;
  friend bool operator==(const Acknowledge&, const Acknowledge&) = default;
};
struct Order {
  SessionId session;
  Leadership leadership;
  std::uint64_t number = 0;  ///< from 1 in each session
  std::variant<Start, End, Acknowledge> what;
  friend bool operator==(const Order&, const Order&) = default;
};
/// The leader has no such session (any more): say hello.
struct Reopen {
  SessionId session;
  Leadership leadership;
  friend bool operator==(const Reopen&, const Reopen&) = default;
};

}  // namespace to_worker

using WorkerToLeader = std::variant<to_leader::Hello, to_leader::Renew, to_leader::Told>;
using LeaderToWorker =
    std::variant<to_worker::Welcome, to_worker::Granted, to_worker::Order, to_worker::Reopen>;

/// The receiving end of a numbered stream: hands out what arrived in order, each number once.
template <class T>
class InOrder {
 public:
  /// So far ahead of what is missing a message is kept.
  static constexpr std::uint64_t limit = 4096;

  void put(std::uint64_t number, T value) {
    if (number <= taken_ || number - taken_ > limit) return;
    early_.emplace(number, std::move(value));
  }
  std::optional<T> next() {
    const auto first = early_.begin();
    if (first == early_.end() || first->first != taken_ + 1) return std::nullopt;
    ++taken_;
    T value = std::move(first->second);
    early_.erase(first);
    return value;
  }
  /// Number of the last one handed out.
  std::uint64_t taken() const { return taken_; }

 private:
  std::uint64_t taken_ = 0;
  std::map<std::uint64_t, T> early_;
};

}  // namespace gpl
