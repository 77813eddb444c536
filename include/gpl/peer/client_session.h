#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "gpl/net/connection.h"
#include "gpl/peer/attempt_follower.h"
#include "gpl/peer/caller.h"
#include "gpl/peer/client_relays.h"
#include "gpl/peer/follower.h"
#include "gpl/peer/job_summary.h"
#include "gpl/peer/parts.h"
#include "gpl/peer/tree_intake.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// One connected client, of the Unix socket or the network, or another peer on behalf of its own
/// clients: answers its questions until it is gone. What it asked for goes on without it; what it
/// only looked at ends. What another peer has to do is handed on to that.
class ClientSession {
 public:
  /// `closed` is told once, and may drop this.
  ClientSession(Parts& parts, std::uint64_t number, Caller caller, std::function<void()> closed);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// Takes the socket. Code::io: then it is not used.
  Status adopt(posix::Fd socket);
  Status adopt(net::SecureSocket socket);
  /// Questions are left where they are for now: the peer does not know the cluster's state yet.
  const Caller& caller() const { return caller_; }
  void pause() { connection_->pause(); }
  void resume();

 private:
  using Question = std::uint32_t;
  struct Waiting {
    std::set<JobId> jobs;
    std::vector<JobNews::Subscription> news;
  };
  /// Jobs that are still to be listed.
  struct Listing {
    std::vector<JobId> jobs;
    std::size_t next = 0;
    bool details = false;
    /// What other peers know of them, and how many are still to say.
    std::map<JobId, JobNotes> notes;
    std::size_t awaited = 0;
    net::Timer limit;
  };
  struct Exec {
    std::uint64_t number = 0;
    std::uint64_t out_bytes = 0;
    std::uint64_t err_bytes = 0;
  };

  /// What the peers on which a job's tasks ran have kept, as their answers come.
  struct Gathering {
    std::set<PeerId> awaited;
    std::map<std::pair<TaskId, std::string>, wire::ResultFile> newest;
    std::optional<Instant> kept_until;
    std::optional<Error> failed;
    std::map<PeerId, std::pair<int, net::Timer>> lost;  ///< how often, and when it is asked again
  };

  // The conversation (client_session.cc).
  Status adopted(Result<net::Connection> connection);
  net::Connection::Told told();
  bool may_ask(const wire::Question& body) const;
  void take(std::string_view payload);
  void take_hello(const wire::Hello& hello);
  void dispatch(Question question, wire::Question body);
  void answer(Question question, wire::Answer answer);
  void refuse(Question question, const Error& error);
  /// A question that goes on for a while has this number; another one with it is refused.
  bool is_taken(Question question);
  bool keeper_answers(Question question);
  /// The state, or the question is refused since there is none.
  const ClusterState* state_for(Question question);
  /// A job that the asker may change, or the question is refused.
  const JobRecord* job_for(Question question, JobId job, bool to_change);
  /// The same; what another peer asks it has looked at itself.
  bool may_change(Question question, JobId job);
  const Submitter& submitter() const { return caller_.submitter; }
  bool has_every_right() const { return caller_.rights == Caller::Rights::all; }
  /// By the Unix socket of the peer's own machine.
  bool came_from_here() const { return caller_.submitter.client.empty(); }
  std::string name_of(PeerId peer) const;
  /// For what comes back after this may be gone.
  template <class F>
  auto guarded(F f) {
    return [weak = std::weak_ptr<char>(alive_), f = std::move(f)](auto&&... args) mutable {
      if (!weak.expired()) f(std::forward<decltype(args)>(args)...);
    };
  }

  // Trees (client_trees.cc).
  void ask(Question question, wire::AskChunks& asked);
  void ask(Question question, wire::PutChunk& asked);
  void ask(Question question, wire::PutManifest& asked);
  void ask(Question question, wire::CommitTree& asked);
  void ask(Question question, wire::FetchManifest& asked);
  void ask(Question question, wire::FetchChunk& asked);
  TreeIntake& intake();

  // Jobs (client_jobs.cc).
  void ask(Question question, wire::SubmitJob& asked);
  void ask(Question question, wire::CancelJob& asked);
  void ask(Question question, wire::HoldJob& asked);
  void ask(Question question, wire::ReleaseJob& asked);
  void ask(Question question, wire::RerunJob& asked);
  /// `has_tree`: who has it, if it is not here.
  void submit(Question question, const wire::SubmitJob& asked, std::optional<PeerId> has_tree);
  /// The tree is there, and pinned.
  void admit_job(Question question, const wire::SubmitJob& asked);
  void propose(Question question, const wire::SubmitJob& asked, const command::Submit& command);
  void submitted(Question question, JobId job, bool attached);
  void change(Question question, Command command);

  // Output and what goes into jobs (client_output.cc).
  void ask(Question question, wire::Follow& asked);
  void ask(Question question, wire::Taken& asked);
  void ask(Question question, wire::WaitFor& asked);
  void ask(Question question, wire::SignalTask& asked);
  void ask(Question question, wire::SendInput& asked);
  void ask(Question question, wire::ExecInTask& asked);
  void ask(Question question, wire::SignalExec& asked);
  void ask(Question question, wire::FollowAttempt& asked);
  void route(Question question, wire::Follow follow);
  void route_ended(Question question, wire::Follow follow);
  bool is_to_come(JobId job) const;
  bool is_away_with_output(JobId job) const;
  void follow(Question question, wire::Follow follow);
  void relay(Question question, PeerId peer, wire::Follow follow);
  void route_again(Question question, wire::Follow follow);
  /// The peer that a task of the job is placed on, if that is another one.
  std::optional<PeerId> worker_of(JobId job, std::optional<TaskId> task) const;
  void tell_ended(Question question);
  const LocalAttempt* running_attempt(JobId job, TaskId task) const;

  // What is to be known (client_lists.cc).
  void ask(Question question, wire::ListJobs& asked);
  void ask(Question question, wire::AskCluster& asked);
  void ask(Question question, wire::AskExplanation& asked);
  void ask(Question question, wire::AskJobNotes& asked);
  void ask(Question question, wire::AskHealth& asked);
  void ask(Question question, wire::Hello& asked);
  void go_on_listing();
  void ask_for_notes(Question question);
  void take_notes(Question question, JobId job, PeerId peer, const wire::JobNotesAre& told);

  // What jobs made (client_results.cc).
  void ask(Question question, wire::AskResults& asked);
  void ask(Question question, wire::FetchFile& asked);
  void ask(Question question, wire::ForgetFiles& asked);
  void tell_results(Question question, JobId job, std::optional<TaskId> task);
  bool all_collected(Question question, JobId job);
  void gather(Question question, JobId job, std::optional<TaskId> task, std::set<PeerId> peers);
  void ask_results_of(Question question, JobId job, std::optional<TaskId> task, PeerId peer);
  void gathered(Question question);
  void keep_from(PeerId peer, Gathering& gathering, const wire::Results& results, JobId job);
  std::optional<PeerId> far_file(JobId job, TaskId task, const std::string& path) const;
  bool is_kept_here(JobId job, TaskId task, const std::string& path) const;
  void read_here(Question question, const wire::FetchFile& asked);

  // The peers (client_peers.cc).
  void ask(Question question, wire::DrainPeer& asked);
  void ask(Question question, wire::ResumePeer& asked);
  void ask(Question question, wire::LeaveCluster& asked);
  void ask(Question question, wire::ForgetPeer& asked);
  /// The peer of this name or id, this one for "", or the question is refused.
  std::optional<PeerId> peer_named(Question question, const std::string& name);
  void tell_resumed(Question question, Duration patience);
  std::vector<JobId> lost_with_this_peer(const ClusterState& state) const;
  void leave_when_idle(Question question);

  Parts& parts_;
  std::uint64_t number_;
  Caller caller_;
  std::function<void()> closed_;
  std::optional<net::Connection> connection_;
  bool greeted_ = false;
  bool hello_is_due_ = false;  ///< by a deadline
  net::Timer hello_deadline_;
  std::unique_ptr<TreeIntake> intake_;
  std::set<ContentId> kept_trees_;
  std::optional<Error> intake_error_;
  Ticket ticket_;
  std::map<Question, Listing> listings_;
  std::map<Question, std::unique_ptr<Follower>> followers_;
  std::map<Question, std::unique_ptr<AttemptFollower>> attempt_followers_;
  /// Of what is to be followed, once it is known where.
  struct Route {
    net::Timer again;
    int rounds = 0;
  };
  std::map<Question, Route> routes_;
  std::map<Question, Waiting> waiting_;
  std::map<Question, JobNews::Subscription> results_;
  std::map<Question, Exec> execs_;
  std::map<Question, Gathering> gatherings_;
  /// Where files are that were told of, but for those that are here.
  std::map<JobId, std::map<std::pair<TaskId, std::string>, PeerId>> far_files_;
  ContentId manifest_of_;  ///< the tree whose manifest was asked for last
  std::shared_ptr<const std::string> manifest_;
  std::map<Fence, std::uint64_t> inputs_;  ///< how much of its input each has taken
  bool waits_to_leave_ = false;
  std::map<Question, net::Timer> looks_;  ///< drain and leave wait for attempts to end
  std::shared_ptr<char> alive_;
  ClientRelays relays_;
};

}  // namespace gpl::peer
