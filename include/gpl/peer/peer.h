#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "gpl/core/peer_offer.h"
#include "gpl/core/scheduler.h"
#include "gpl/host/configuration.h"
#include "gpl/net/listener.h"
#include "gpl/peer/client_session.h"
#include "gpl/peer/lending.h"
#include "gpl/peer/parts.h"

namespace gpl::peer {

struct PeerOptions {
  std::string state_folder;  ///< all that the peer keeps, and its sockets
  std::string program;       ///< of this gpl: what the keeper is started with
  host::Configuration configuration;
  Lending lending;
  /// A line, without its end: of what went wrong, or what happened.
  enum class Matter { trouble, event };
  std::function<void(Matter, const std::string&)> log;
};

/// A machine's peer: the loop's parts brought together. It feeds what clients, the keeper and time
/// say to the consensus and the coordinator, and performs what these want. Everything that matters
/// is in the log, with the keeper, or in files: it may be killed at any moment.
class Peer {
 public:
  /// Opens, or founds, what is in the state folder (blocking), and serves clients from then on.
  /// Code::busy: another peer of this folder runs; Code::invalid, Code::io: with the file and what
  /// to do. The loop must outlive it.
  static Result<std::unique_ptr<Peer>> open(net::Loop& loop, PeerOptions options);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const Identity& identity() const { return parts_.identity; }
  bool founded() const { return founded_; }
  /// What it lends, once that is known.
  const std::optional<PeerOffer>& offer() const { return offered_; }
  /// Told once, when what is lent here is known to the cluster.
  std::function<void()> ready;
  /// It has left its cluster: the loop stops, and `clean_up` is to be called once this is gone.
  bool has_left() const { return left_; }
  /// Removes what makes the state folder a peer's. Requires that no Peer of it lives.
  static Status clean_up(const std::string& state_folder);

 private:
  Peer(net::Loop& loop, PeerOptions options, Identity identity, bool founded);
  Status start();
  Status open_store();
  Status open_consensus();
  Status listen();
  void wire_keeper();
  PeerCalls calls();
  void accepted(posix::Fd socket);
  bool can_place(const ClusterState& state) const;
  bool answers() const;
  void resume_sessions();
  std::optional<Error> short_of_space() const;

  // What the log says (peer_log.cc).
  void applied(const AppliedEntry& entry);
  void applied(const Command& command, const Applied& result);
  void restored();
  void restore_pins(std::vector<std::pair<JobId, ContentId>> trees);
  void tell_ready();
  void note_ended(JobId job);
  void pin(const JobRecord& job);
  void unpin_pruned();

  // What the keeper says (peer_keeper.cc).
  void take(wire::KeeperToPeer message);
  void keeper_changed(bool connected);
  void let_go_of_unfollowed();
  void prepare(const wire::from_keeper::Prepare& asked);
  void prepared(const wire::from_keeper::Prepare& asked, std::optional<FailedToStart> failure);
  void prepare_waiting();
  void collect_ended();
  void collect(const LocalAttempt& attempt, StagingMode mode);
  void found(const Fence& fence, Result<std::vector<wire::ResultFile>> files);
  void cleared(const Fence& fence);
  void discard(const Fence& fence);
  void delivered(const std::vector<Fence>& attempts);
  void abandoned(JobId job);

  // What it offers, and what has to be done now and then (peer_upkeep.cc).
  void probe();
  void probed(PeerOffer offer);
  void tell_offer();
  PeerOffer offer_now() const;
  void look_for_space();
  void each_minute();
  void each_hour();
  std::vector<wire::HealthRow> health() const;

  void log(const std::string& line) const { options_.log(PeerOptions::Matter::trouble, line); }
  void tell(const std::string& line) const { options_.log(PeerOptions::Matter::event, line); }

  PeerOptions options_;
  posix::Fd lock_;
  bool founded_;
  bool left_ = false;
  std::uint64_t segment_bytes_ = 0;
  std::uint64_t reserve_bytes_ = 0;
  Scheduler scheduler_;
  Parts parts_;
  Ticket ticket_;
  std::optional<PeerOffer> probed_;   ///< all of the machine
  std::optional<PeerOffer> offered_;  ///< of that, what is lent
  bool probing_ = false;
  bool disk_full_ = false;
  bool pins_asked_ = false;
  bool pins_restored_ = false;
  bool state_ready_ = false;  ///< all that was committed before this start has been applied
  std::map<JobId, ContentId> pinned_;
  std::set<Fence> collecting_;   ///< what they made is not found yet
  std::set<Fence> clearing_;     ///< their work folders go
  std::set<Fence> to_discard_;   ///< once that is so
  std::deque<Fence> delivered_;  ///< and everything of them is with their client
  net::Timer space_;
  net::Timer minute_;
  net::Timer hour_;
  net::Timer probe_;
  net::Timer collect_again_;
  net::Timer come_back_;
  std::vector<wire::from_keeper::Prepare> to_prepare_;  ///< once that can be
  net::Timer stage_again_;
  std::optional<net::Listener> listener_;
  std::map<std::uint64_t, std::unique_ptr<ClientSession>> sessions_;
  std::uint64_t last_session_ = 0;
  std::shared_ptr<char> alive_;
};

}  // namespace gpl::peer
