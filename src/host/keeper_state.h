#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attempt_run.h"
#include "background_removal.h"
#include "gpl/core/worker.h"
#include "gpl/host/attempt_folder.h"
#include "gpl/host/guard_family.h"
#include "gpl/host/keeper.h"
#include "gpl/host/keeper_journal.h"
#include "keeper_link.h"
#include "readiness.h"

namespace gpl::host {

/// What a keeper that begins finds and is.
struct KeeperBeginning {
  AttemptFolders folders;
  KeeperJournal journal;  ///< in them
  KeeperSocket socket;
  Readiness readiness;
  posix::Fd signals;        ///< a signalfd for SIGCHLD and SIGTERM
  std::string instance;     ///< boot id, pid namespace, a number
  bool restarted = false;   ///< the machine, since the keeper before
  SessionId first_session;  ///< at random, below 2^63
};

/// The keeper's loop. It feeds what happens to the Worker, performs its outputs, and tells the
/// peer.
class Keeper {
 public:
  Keeper(const KeeperOptions& options, KeeperBeginning beginning);
  Keeper(const Keeper&) = delete;
  ~Keeper();

  /// Until it is retired or ended.
  void run();

 private:
  /// An attempt that ended, until it is discarded.
  struct Kept {
    JobId job;
    TaskId task;
    Outcome outcome;
    std::uint64_t out_bytes = 0;
    std::uint64_t err_bytes = 0;
    std::optional<Instant> started_at = {};
  };
  /// An attempt of an earlier keeper, while its guard may still be at it.
  struct Inherited {
    AttemptFolder folder;
    JobId job;
    TaskId task;
  };
  /// What the peer knows of an attempt's output.
  struct Watched {
    std::uint64_t out_bytes = 0;
    std::uint64_t err_bytes = 0;
  };

  // The loop (keeper.cc).
  void step();
  void take_signals();
  void step_attempts();
  void step_inherited();
  void tell_growth();
  void remove_leftovers();
  void tidy();
  int timeout_ms() const;
  bool is_over() const;

  // The worker (keeper_worker.cc).
  void restore(RestoredWorker& restored, const Fence& fence);
  void restore_ended(RestoredWorker& restored, const KeeperJournal::Exit& exit);
  RestoredWorker restore();
  void feed(const std::function<void(Worker&, const Clocks&)>& event);
  void feed_ends(std::vector<std::pair<Fence, Outcome>> ended);
  void feed_starts(Moment now);
  void perform(WorkerOutput output);
  void start(to_worker::Start order);
  Result<std::unique_ptr<AttemptRun>> make_run(const to_worker::Start& order);
  void end(const EndProcesses& order);
  void keep(const std::vector<EndedAttempt>& ended);
  Status write_exits(const std::vector<EndedAttempt>& ended);
  void settle(const EndedAttempt& ended);
  void keep_again();
  void forget(const Fence& fence);
  void discard(const Fence& fence);
  void tell_ended(const Fence& fence);
  void give_up_all();

  // The peer (keeper_peer.cc).
  void accept();
  void step_links();
  void welcome(const wire::KeeperHello& hello);
  void tell_all();
  void tell_listed();
  void tell(const wire::KeeperToPeer& message);
  void hang_up();
  void take(const wire::PeerToKeeper& message);
  void take(const wire::KeeperHello& hello);
  void take(const wire::to_keeper::FromLeader& message);
  void take(const wire::to_keeper::SessionLost& lost);
  void take(const wire::to_keeper::OfferChanged& changed);
  void take(const wire::to_keeper::Prepared& prepared);
  void take(const wire::to_keeper::NotPrepared& refused);
  void take(const wire::to_keeper::Watch& watch);
  void take(const wire::to_keeper::Follow& follow);
  void take(const wire::to_keeper::Signal& signal);
  void take(const wire::to_keeper::Input& input);
  void take(const wire::to_keeper::Exec& exec);
  void take(const wire::to_keeper::ExecSignal& signal);
  void take(const wire::to_keeper::ExecTaken& taken);
  void take(const wire::to_keeper::Discard& discard);
  void take(const wire::to_keeper::Retire& retire);
  AttemptRun* find(const Fence& fence);
  AttemptExec* find_exec(std::uint64_t number);

  KeeperOptions options_;
  KeeperBeginning beginning_;
  GuardFamily family_;
  BackgroundRemoval removal_;
  AttemptSite site_;
  Moment began_at_;
  std::map<Fence, std::unique_ptr<AttemptRun>> attempts_;
  std::map<Fence, Inherited> inherited_;
  std::map<Fence, Kept> kept_;
  /// Have begun, which is not told at once: of most short ones only that they ended.
  struct Begun {
    Instant at;
    Moment tell_at;
  };
  std::map<Fence, Begun> begun_;
  std::map<Fence, EndedAttempt> unkept_;  ///< whose exit could not be written yet
  std::optional<Moment> keep_again_at_;
  /// Never began, for want of a folder; told as its own event.
  std::vector<std::pair<Fence, Outcome>> failed_;
  std::optional<Worker> worker_;
  bool offer_known_ = false;

  std::unique_ptr<KeeperLink> peer_;
  std::unique_ptr<KeeperLink> newcomer_;  ///< has yet to say hello
  std::map<Fence, Watched> watched_;
  std::map<Fence, std::uint64_t> input_told_;
  /// Told before the attempts they are about have begun.
  std::map<Fence, wire::to_keeper::Prepared> prepared_ahead_;
  bool listed_ = false;  ///< to this peer
  bool retiring_ = false;
  bool ending_ = false;
};

}  // namespace gpl::host
