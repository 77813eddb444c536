#pragma once

#include <cstdint>
#include <optional>

#include "gpl/client/input_feed.h"
#include "gpl/client/job_output.h"
#include "gpl/client/peer_run.h"
#include "gpl/client/queue_words.h"
#include "gpl/net/signals.h"

namespace gpl::client {

/// Stays with one job of a peer, from its submit or from now on, until it has ended and all its
/// output is handed on, or until there is a reason to leave.
class Attendance {
 public:
  Attendance(Session& session, const Attachment& attachment, const Voice& voice);
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;
  ~Attendance();

  /// `submit`, or an attached Follow of `job`.
  Status stay(wire::Question first, std::optional<JobId> job);
  /// Whether there is a job: else `stay` failed before.
  bool submitted() const { return job_.has_value(); }
  /// Without results. Requires that `stay` succeeded.
  PeerReport report() const;

 private:
  void told(wire::Answer&& answer);
  void begun(JobId job);
  wire::Question anew();
  void look();
  void on_signal(int number);
  void interrupt(int number);
  void on_state(const wire::Answer& answer, int number);
  void pass_on(int number);
  void cancel();
  void output_failed(wire::OutputStream stream, int error);
  bool done() const;
  int exit_status() const;

  Session& session_;
  const Attachment& attachment_;
  const Voice& voice_;
  JobOutput output_;
  wire::Question first_;
  std::optional<JobId> job_;
  std::optional<wire::TaskEnded> task_;
  std::optional<wire::JobEnded> ended_;
  std::optional<Error> refused_;
  std::optional<int> exit_instead_;
  std::optional<int> cancel_on_submit_;  ///< a signal that came before there was a job
  std::uint32_t question_ = 0;
  net::Timer signal_again_;
  std::uint32_t state_question_ = 0;
  std::uint32_t look_question_ = 0;
  net::Timer look_;
  bool said_waiting_ = false;
  bool said_lost_ = false;
  int interrupts_ = 0;
  bool leave_ = false;
  bool leave_when_cancelled_ = false;
  std::optional<InputFeed> input_;
  std::optional<QueueWords> words_;
  net::Timer patience_;
};

}  // namespace gpl::client
