#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "gpl/auth/key_pair.h"
#include "gpl/core/peer_offer.h"
#include "gpl/core/scheduler.h"
#include "gpl/host/configuration.h"
#include "gpl/net/listener.h"
#include "gpl/peer/client_session.h"
#include "gpl/peer/lending.h"
#include "gpl/peer/parts.h"

namespace gpl::peer {

struct PeerOptions {
  std::optional<auth::Key> key;  ///< of the cluster; there has to be one
  std::string state_folder;      ///< all that the peer keeps, and its sockets
  std::string program;           ///< of this gpl: what the keeper is started with
  host::Configuration configuration;
  Lending lending;
  std::optional<std::uint64_t> join;       ///< a state folder without a cluster joins this one
  std::optional<net::PeerAddress> listen;  ///< nothing: everywhere, at the default port if free
  std::vector<net::PeerAddress> seeds;
  bool mdns = true;
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
  /// Whether this start has made it a peer of its cluster.
  enum class Begin { founded, joined, resumed };
  Begin begin() const { return begin_; }
  /// Where it listens, as others may be told.
  std::string address() const;
  /// What it lends, once that is known.
  const std::optional<PeerOffer>& offer() const { return offered_; }
  /// Told once, when what is lent here is known to the cluster.
  std::function<void()> ready;
  /// It has left its cluster: the loop stops, and `clean_up` is to be called once this is gone.
  bool has_left() const { return left_; }
  /// No other peer was ever of it: its key is good for nothing more.
  bool was_whole_cluster() const { return was_whole_cluster_; }
  /// Why the loop was stopped other than by a person: this state folder is a copy.
  const std::optional<Error>& failure() const { return failure_; }
  /// The process is to end: gives up leadership and vote first, then stops the loop. Jobs go on.
  void stop();
  /// Removes what makes the state folder a peer's. Requires that no Peer of it lives.
  static Status clean_up(const std::string& state_folder);

 private:
  Peer(net::Loop& loop, PeerOptions options, Identity identity, Begin begin);
  Status start();
  Status open_store();
  Status open_consensus();
  Status listen();
  void wire_keeper();
  PeerCalls calls();
  void accepted(posix::Fd socket);
  void begin_session(Caller caller, const std::function<Status(ClientSession&)>& adopt);
  bool can_place(const ClusterState& state) const;
  std::set<PeerId> unlinked(const ClusterState& state) const;
  bool answers() const;
  void resume_sessions();
  std::optional<Error> short_of_space() const;

  // The other peers (peer_network.cc).
  Status open_mesh(const auth::KeyPair& own);
  void wire_network();
  void accepted(net::SecureSocket socket);
  void take(PeerId from, const wire::LinkMessage& message);
  void hold(PeerId from, const wire::Hold& asked, std::function<void(Status)> told);
  void hold_until_submitted(const wire::Hold& asked, std::uint64_t number);
  void let_go_of_held();
  bool may_have_results(JobId job) const;
  void has(wire::Holding what, const std::string& key, std::function<void(bool)> told);
  void hold_elsewhere(const wire::SubmitJob& job, std::function<void()> done);
  void is_whole(const ContentId& tree, std::function<void(bool)> told);
  std::string name_of(PeerId peer) const;
  void leave(const std::function<void(Status)>& done);

  // What the log says (peer_log.cc).
  void applied(const AppliedEntry& entry);
  void applied(const Command& command, const Applied& result);
  void restored();
  void restore_pins(std::vector<std::pair<JobId, ContentId>> trees);
  void copy_output(const Command& command, const Applied& result);
  void tell_ready();
  void note_ended(JobId job);
  void pin(JobId job, const ContentId& tree);
  void drop_old_secrets();
  void unpin_pruned();

  // What the keeper says (peer_keeper.cc).
  void take(wire::KeeperToPeer message);
  void keeper_changed(bool connected);
  void let_go_of_unfollowed();
  void to_keeper(const wire::PeerToKeeper& message);
  void prepare_ahead(const LeaderToWorker& message);
  void prepare(const wire::from_keeper::Prepare& asked);
  void stage(const wire::from_keeper::Prepare& asked);
  void find_secrets(const wire::from_keeper::Prepare& asked, const JobRecord& job);
  void send_prepared(const wire::from_keeper::Prepare& asked,
                     Result<std::vector<wire::Secret>> secrets);
  void prepared(const wire::from_keeper::Prepare& asked, std::optional<FailedToStart> failure);
  void prepare_waiting();
  void collect_ended();
  void collect(const LocalAttempt& attempt, const JobDescription& job);
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
  Begin begin_;
  bool left_ = false;
  bool was_whole_cluster_ = false;
  std::optional<Error> failure_;
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
  std::map<PeerId, std::string> names_;  ///< of all that were of the cluster since this began
  std::map<JobId, ContentId> pinned_;    ///< whole here
  struct HeldTree {
    std::uint64_t pin = 0;
    Moment since;
  };
  std::map<ContentId, HeldTree> held_;  ///< as second holder, for jobs to come
  std::set<Fence> collecting_;          ///< what they made is not found yet
  std::set<Fence> clearing_;            ///< their work folders go
  std::set<Fence> to_discard_;          ///< once that is so
  std::deque<Fence> delivered_;         ///< and everything of them is with their client
  net::Timer space_;
  net::Timer minute_;
  net::Timer hour_;
  net::Timer probe_;
  net::Timer collect_again_;
  net::Timer come_back_;
  std::vector<wire::from_keeper::Prepare> to_prepare_;  ///< once that can be
  net::Timer stage_again_;
  std::map<Fence, int> secret_looks_;  ///< how often a job's secrets were looked for
  net::Timer without_leader_;          ///< it serves all the same
  std::optional<net::Listener> listener_;
  std::map<std::uint64_t, std::unique_ptr<ClientSession>> sessions_;
  std::uint64_t last_session_ = 0;
  struct Lingering {
    std::unique_ptr<AttemptFollower> follower;
    net::Timer end;
  };
  std::map<std::uint64_t, Lingering> lingering_;
  std::shared_ptr<char> alive_;
};

}  // namespace gpl::peer
