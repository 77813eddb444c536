#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/client/attended_loop.h"
#include "gpl/client/results.h"
#include "gpl/client/session.h"
#include "gpl/client/submission.h"
#include "gpl/client/voice.h"
#include "gpl/core/job.h"
#include "gpl/core/job_state.h"

namespace gpl::client {

/// How this process stays with a job of a peer.
struct Attachment {
  JobSpec spec;
  OutputTargets targets;
  std::string target_folder;  ///< for results: the caller's current folder
  bool pass_stdin = false;
  bool on_terminal = false;  ///< say what it waits for
};

/// How it went.
struct PeerReport {
  JobId job;
  AttemptId attempt;               ///< the last one; 0: none ran
  std::string peer;                ///< where it ran; "": nowhere
  std::optional<Outcome> outcome;  ///< nothing: this process left before the end
  int exit_status = 0;
  bool interrupted = false;  ///< exit_status is of what was done here, not of the outcome
  Results results;
};

/// Submits the job and stays with it to its end: carries its output, input and signals, then its
/// results, and says what a person must know. An Error when it was never submitted, or the peer has
/// gone for good. This process may leave before the job ends: see `exit_status`. Requires that
/// SIGPIPE is ignored.
///
/// SIGINT and SIGTERM go to the job; while it waits they cancel it. A second SIGINT cancels it, and
/// leaves once it has ended, or after 15 s. SIGHUP leaves at once, and the job goes on.
Result<PeerReport> run_on_peer(Session& session, Submission& submission,
                               const Attachment& attachment, const Voice& voice);

/// The same for a job that was submitted before: all its output from the start.
Result<PeerReport> attach_to(Session& session, JobId job, const Attachment& attachment,
                             const Voice& voice);

}  // namespace gpl::client
