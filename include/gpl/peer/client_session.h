#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "gpl/net/connection.h"
#include "gpl/net/credentials.h"
#include "gpl/peer/follower.h"
#include "gpl/peer/parts.h"
#include "gpl/peer/tree_intake.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// One connected client of the Unix socket: answers its questions until it is gone. What it asked
/// for goes on without it; what it only looked at ends.
class ClientSession {
 public:
  /// `closed` is told once, and may drop this.
  ClientSession(Parts& parts, std::uint64_t number, const net::Credentials& credentials,
                std::function<void()> closed);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// Takes the socket. Code::io: then it is not used.
  Status adopt(posix::Fd socket);
  /// Questions are left where they are for now: the peer does not know the cluster's state yet.
  void pause() { connection_->pause(); }
  void resume() { connection_->resume(); }

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
  };
  struct Exec {
    std::uint64_t number = 0;
    std::uint64_t out_bytes = 0;
    std::uint64_t err_bytes = 0;
  };

  // The conversation (client_session.cc).
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
  Submitter submitter() const;
  bool has_every_right() const;
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
  TreeIntake& intake();

  // Jobs (client_jobs.cc).
  void ask(Question question, wire::SubmitJob& asked);
  void ask(Question question, wire::CancelJob& asked);
  void ask(Question question, wire::HoldJob& asked);
  void ask(Question question, wire::ReleaseJob& asked);
  void ask(Question question, wire::RerunJob& asked);
  void submit(Question question, const wire::SubmitJob& asked);
  /// The tree is there, and pinned.
  void admit_job(Question question, const wire::SubmitJob& asked);
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
  void follow(Question question, wire::Follow follow);
  void tell_ended(Question question);
  const LocalAttempt* running_attempt(JobId job, TaskId task) const;

  // What is to be known (client_lists.cc).
  void ask(Question question, wire::ListJobs& asked);
  void ask(Question question, wire::AskCluster& asked);
  void ask(Question question, wire::AskExplanation& asked);
  void ask(Question question, wire::AskResults& asked);
  void ask(Question question, wire::FetchFile& asked);
  void ask(Question question, wire::ForgetFiles& asked);
  void ask(Question question, wire::DrainPeer& asked);
  void ask(Question question, wire::ResumePeer& asked);
  void ask(Question question, wire::LeaveCluster& asked);
  void ask(Question question, wire::AskHealth& asked);
  void ask(Question question, wire::Hello& asked);
  void tell_results(Question question, JobId job, std::optional<TaskId> task);
  void leave_when_idle(Question question);
  void go_on_listing();

  Parts& parts_;
  std::uint64_t number_;
  net::Credentials credentials_;
  std::function<void()> closed_;
  std::optional<net::Connection> connection_;
  bool greeted_ = false;
  std::unique_ptr<TreeIntake> intake_;
  std::set<ContentId> kept_trees_;
  std::optional<Error> intake_error_;
  Ticket ticket_;
  std::map<Question, Listing> listings_;
  std::map<Question, std::unique_ptr<Follower>> followers_;
  std::map<Question, Waiting> waiting_;
  std::map<Question, JobNews::Subscription> results_;
  std::map<Question, Exec> execs_;
  std::map<Fence, std::uint64_t> inputs_;  ///< how much of its input each has taken
  bool waits_to_leave_ = false;
  net::Timer idle_look_;  ///< drain and leave wait for attempts to end
  std::shared_ptr<char> alive_;
};

}  // namespace gpl::peer
