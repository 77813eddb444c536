#include "gpl/client/peer_run.h"

#include <csignal>
#include <utility>

#include "attendance.h"
#include "gpl/client/peer_results.h"
#include "gpl/core/overloaded.h"

namespace gpl::client {
namespace {

constexpr int most_tries = 5;

void say_outcome(const PeerReport& report, const JobSpec& spec, const Voice& voice) {
  const std::string job = "job " + std::to_string(report.job.value);
  std::visit(Overloaded{[](const Exited&) {}, [](const Signalled&) {},
                        [&](const TimedOut&) {
                          voice.say("the time limit" +
                                    (spec.time_limit ? " of " + format_duration(*spec.time_limit)
                                                     : std::string()) +
                                    " was reached");
                        },
                        [&](const Cancelled&) {
                          if (!report.interrupted) voice.say(job + " was cancelled");
                        },
                        [&](const FailedToStart& failed) { voice.complain(failed.message); },
                        [&](const Lost& lost) { voice.complain(job + " is lost: " + lost.why); }},
             *report.outcome);
}

PeerReport settle(Session& session, PeerReport report, const Attachment& attachment,
                  std::optional<std::vector<std::string>> staged, const Voice& voice) {
  if (!report.outcome) return report;
  say_outcome(report, attachment.spec, voice);
  // Nobody who left in the middle waits for files.
  if (report.interrupted && report.exit_status == 128 + SIGPIPE) return report;
  report.results = settle_peer_results(
      session,
      {report.job, attachment.spec, report.peer, attachment.target_folder, std::move(staged)},
      voice);
  if (!report.results.complete && report.exit_status == 0) report.exit_status = 125;
  return report;
}

}  // namespace

Result<PeerReport> run_on_peer(Session& session, Submission& submission,
                               const Attachment& attachment, const Voice& voice) {
  for (int tries = 1;; ++tries) {
    if (Status brought = submission.bring_tree(session, voice); !brought.ok()) {
      return std::move(brought).error();
    }
    const std::uint32_t connection = session.connection();
    Attendance attendance(session, attachment, voice);
    Status stayed = attendance.stay(submission.question(true), std::nullopt);
    if (stayed.ok()) {
      return settle(session, attendance.report(), attachment, submission.staged(), voice);
    }
    // The tree was safe on that connection alone, and another one has refused the job.
    const bool again = !attendance.submitted() && session.connection() != connection;
    if (!again || tries == most_tries) return std::move(stayed).error();
  }
}

Result<PeerReport> attach_to(Session& session, JobId job, const Attachment& attachment,
                             const Voice& voice) {
  wire::Follow follow;
  follow.job = job;
  follow.attached = true;
  Attendance attendance(session, attachment, voice);
  Status stayed = attendance.stay(follow, job);
  if (!stayed.ok()) return std::move(stayed).error();
  return settle(session, attendance.report(), attachment, std::nullopt, voice);
}

}  // namespace gpl::client
