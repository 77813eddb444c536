#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/lease.h"
#include "gpl/core/time.h"
#include "gpl/core/worker_message.h"

namespace gpl {

/// Requires silence + grace + kill_time < shortest_lease.
struct WorkerOptions {
  Duration renew_every = seconds(2);
  Duration silence = seconds(10);     ///< without a renewal, after which a session is given up
  Duration hello_again = seconds(2);  ///< an unanswered hello is repeated; then after twice that
  Duration hello_gap = milliseconds(100);  ///< between two hellos, at least
  Duration grace = seconds(10);            ///< between SIGTERM and SIGKILL
  Duration kill_time = seconds(5);  ///< after SIGKILL no process is left, or the kernel fails
};

/// End the processes of an attempt: SIGTERM, after `grace` SIGKILL. Its start may not have been
/// told yet. Told again with less grace, the shorter one counts.
struct EndProcesses {
  Fence fence;
  Duration grace;
  friend bool operator==(const EndProcesses&, const EndProcesses&) = default;
};

/// What a worker wants done after an event: to be performed whole, in the order of the members.
struct WorkerOutput {
  std::vector<EndedAttempt> keep;  ///< on disk, synced, before anything is sent
  std::vector<to_worker::Start> start;
  std::vector<EndProcesses> end;
  std::vector<Fence> forget;  ///< outcomes that need not be kept any longer
  std::vector<WorkerToLeader> send;

  bool empty() const {
    return keep.empty() && start.empty() && end.empty() && forget.empty() && send.empty();
  }
};

/// What a keeper knows when it begins.
struct RestoredWorker {
  std::string keeper;       ///< instance: a new one for each keeper
  SessionId first_session;  ///< drawn at random, below 2^63; sessions count up from it
  PeerOffer offer;
  /// Attempts that may still have a process: of the keeper before, its guards end them.
  struct Running {
    Fence fence;
    OnLoss on_loss = OnLoss::wait;
    Duration lease;
    std::optional<Instant> started_at;
  };
  std::vector<Running> running;
  std::vector<EndedAttempt> ended;   ///< kept, and not yet acknowledged
  std::optional<Moment> renewed_at;  ///< the lease, where it is known and of this boot
};

/// What a peer's keeper does about attempts: the worker's half of the attempt and lease model. A
/// state machine without input or output, as long-lived as its keeper: feed it an event, take the
/// output, perform it, feed the next. Between events `wake_at` says when `tick` is due.
///
/// It obeys the newest session that it opened, once a leader has granted a renewal in it, and only
/// while renewals keep coming; it never obeys a leader after it has heard of a later one. So an
/// attempt is started once at most, and never after a leader may have counted its lease as over.
class Worker {
 public:
  Worker(WorkerOptions options, RestoredWorker restored, Moment now);

  // Events.
  void tick(const Clocks& clocks);
  void receive(const Clocks& clocks, const LeaderToWorker& message);
  /// The connection is gone, or another leader is known: what was sent may be lost.
  void session_lost(const Clocks& clocks);
  void offer_changed(const Clocks& clocks, PeerOffer offer);
  /// The first process runs.
  void started(const Clocks& clocks, const Fence& fence);
  /// No process of the attempt is left, or none ever was (`FailedToStart`). `Lost`: nothing can be
  /// known any more of how it ended. The clocks are those of when this was seen: a keeper that
  /// slept through the end of a lease cannot tell when it happened, and says the worse.
  void ended(const Clocks& clocks, const Fence& fence, Outcome outcome);

  WorkerOutput take_output();
  /// When `tick` is to be called at the latest.
  Moment wake_at() const;

  const LeaseHolder& lease() const { return lease_; }
  /// Attempts that were ordered and have not ended, in order.
  std::vector<Fence> live() const;

 private:
  using Telling = std::variant<LiveAttempt, EndedAttempt>;
  enum class Turn { waiting, starting, running };
  enum class Ending { no, ordered, lease_over };
  struct Held {
    Fence slot;
    OnLoss on_loss = OnLoss::wait;
    Duration lease;
    std::optional<to_worker::Start> order;  ///< while its turn has not come
    Turn turn = Turn::waiting;
    std::optional<Instant> started_at;
    Ending ending = Ending::no;
    bool outlived = false;  ///< it was here when its lease was over
  };
  /// Hello sent; welcomed, so that it can renew and tell; granted, so that it obeys.
  enum class Phase { opening, welcomed, granted };
  struct Session {
    SessionId id;
    Phase phase = Phase::opening;
    bool hello_sent = false;
    Moment hello_at;       ///< when it was sent, or will be
    Duration hello_again;  ///< after that without a welcome
    Leadership leadership;
    std::uint64_t opening = 0;
    Moment renew_at;     ///< the next time
    Moment counts_from;  ///< the newest renewal; before one: the welcome
    std::uint64_t told = 0;
    std::uint64_t ordered_before = 0;  ///< what the renewal before the last said was ordered
    InOrder<std::variant<to_worker::Start, to_worker::End, to_worker::Acknowledge>> orders;
    std::vector<Telling> untold;  ///< since the hello
  };

  // The session (worker_session.cc).
  void open_session(Moment now, Duration hello_again);
  void say_hello(Moment now);
  void renew(Moment now);
  void tell(Telling telling);
  bool heeds(Moment now, SessionId session, const Leadership& leadership);
  void take(const Clocks& clocks, const to_worker::Welcome& welcome);
  void take(const Clocks& clocks, const to_worker::Granted& granted);
  void take(const Clocks& clocks, const to_worker::Order& order);
  void take(const Clocks& clocks, const to_worker::Reopen& reopen);
  void session_due(Moment now);
  Moment session_wakes_at() const;

  // The attempts (worker.cc).
  void due(const Clocks& clocks);
  void leases_due(const Clocks& clocks);
  void obey_orders(const Clocks& clocks);
  void obey(const Clocks& clocks, const to_worker::Start& order);
  void obey(const Clocks& clocks, const to_worker::End& order);
  void obey(const Clocks& clocks, const to_worker::Acknowledge& order);
  void finish(EndedAttempt ended);
  void start_next(const Clocks& clocks, const Fence& slot);
  bool is_over(Moment now, const Held& held) const;
  bool must_end(Moment now, const Held& held) const;
  Duration time_to_end() const;

  WorkerOptions options_;
  std::string keeper_;
  PeerOffer offer_;
  LeaseHolder lease_;
  Leadership highest_;
  SessionId next_session_;
  Session session_;
  std::optional<Moment> last_hello_;
  std::map<Fence, Held> live_;
  std::map<Fence, EndedAttempt> ended_;
  WorkerOutput output_;
};

}  // namespace gpl
