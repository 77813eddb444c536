#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpl/core/explain.h"
#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/job_state.h"
#include "gpl/core/peer_view.h"
#include "gpl/core/requirement.h"
#include "gpl/core/task_range.h"
#include "gpl/core/time.h"
#include "gpl/wire/keeper_message.h"

/// What a command line and a peer say to each other, one message a frame. The client asks, each
/// question with a number of its own; answers and what follows from them carry that number.
namespace gpl::wire {

/// The first message of either side, as question 0.
struct Hello {
  std::uint32_t oldest_protocol = 1;
  std::uint32_t newest_protocol = 1;
  std::string version;  ///< of gpl, for people
  friend bool operator==(const Hello&, const Hello&) = default;
};
inline constexpr std::uint32_t client_protocol = 1;

/// Bringing in a tree, as artifact::Intake does it. Which of these chunks are not there yet?
/// Answered with ChunksMissing.
struct AskChunks {
  std::vector<ContentId> chunks;
  friend bool operator==(const AskChunks&, const AskChunks&) = default;
};
/// Not answered: one that is refused (it is not what it says) ends the intake, and CommitTree is
/// refused for its reason.
struct PutChunk {
  ContentId id;
  std::string data;
  friend bool operator==(const PutChunk&, const PutChunk&) = default;
};
/// A piece of the tree's manifest; not answered.
struct PutManifest {
  std::string piece;
  friend bool operator==(const PutManifest&, const PutManifest&) = default;
};
/// That was all. Answered with TreeKept once the tree is whole and survives a power loss, or
/// ChunksMissing, or Refused. A tree that is kept is safe from being collected for as long as this
/// connection lives.
struct CommitTree {
  friend bool operator==(const CommitTree&, const CommitTree&) = default;
};
/// Answered with Submitted once the job is durable, or Refused. With `attached` what follows is as
/// if Follow{job, attached} had been asked by the same question.
struct SubmitJob {
  RequestId request;
  JobDescription job;
  std::vector<Secret> secrets;
  bool attached = false;
  friend bool operator==(const SubmitJob&, const SubmitJob&) = default;
};

/// How much of a task's stream the client has already.
struct Position {
  TaskId task;
  AttemptId attempt;
  OutputStream stream = OutputStream::out;
  std::uint64_t offset = 0;
  friend bool operator==(const Position&, const Position&) = default;
};
/// The output of a job from these positions on (from the start where none is given), then what it
/// writes, until it has ended. Answered with Output and TaskEnded, at last with JobEnded.
struct Follow {
  JobId job;
  std::optional<TaskId> task;
  std::vector<Position> from;
  bool live = true;  ///< else: what there is now, then Done
  /// Nothing that the job writes may be dropped, and status tells when this client is gone.
  bool attached = false;
  friend bool operator==(const Follow&, const Follow&) = default;
};
/// The client has handed on so many bytes of what was sent to it for this question: more may be
/// sent. At most `follow_window_bytes` are on their way.
struct Taken {
  std::uint32_t question = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Taken&, const Taken&) = default;
};
inline constexpr std::uint64_t follow_window_bytes = std::uint64_t{4} * 1024 * 1024;

/// Tells JobEnded of each, as they end, then Done.
struct WaitFor {
  std::vector<JobId> jobs;
  friend bool operator==(const WaitFor&, const WaitFor&) = default;
};

/// The jobs between `first` and `last`, or the newest, or all: of the asker or of everyone.
struct JobQuery {
  enum class Which : std::uint8_t { range = 0, last = 1, all = 2, active = 3 };
  Which which = Which::range;
  JobId first;
  JobId last;
  bool everyone = false;
  friend bool operator==(const JobQuery&, const JobQuery&) = default;
};
/// Answered with one JobList or more.
struct ListJobs {
  std::vector<JobQuery> queries;
  bool details = false;  ///< with the descriptions
  friend bool operator==(const ListJobs&, const ListJobs&) = default;
};
/// Answered with ClusterStatus.
struct AskCluster {
  friend bool operator==(const AskCluster&, const AskCluster&) = default;
};
/// Why a job waits, or would. Answered with Explained.
struct AskExplanation {
  std::optional<JobId> job;
  Requirement requirement;  ///< without a job
  friend bool operator==(const AskExplanation&, const AskExplanation&) = default;
};

/// Answered with Done (it is so, or was already), or Refused.
struct CancelJob {
  JobId job;
  std::optional<TaskRange> tasks;
  friend bool operator==(const CancelJob&, const CancelJob&) = default;
};
struct HoldJob {
  JobId job;
  friend bool operator==(const HoldJob&, const HoldJob&) = default;
};
struct ReleaseJob {
  JobId job;
  friend bool operator==(const ReleaseJob&, const ReleaseJob&) = default;
};
/// The same description and tree again, as a new job. Answered with Submitted.
struct RerunJob {
  RequestId request;
  JobId job;
  friend bool operator==(const RerunJob&, const RerunJob&) = default;
};
/// To the process group of a task that runs.
struct SignalTask {
  JobId job;
  TaskId task;
  std::int32_t signal = 0;
  friend bool operator==(const SignalTask&, const SignalTask&) = default;
};
/// For a job with pass_stdin, in order from offset 0. Answered with InputTaken. What is at an
/// offset that was taken before is passed over.
struct SendInput {
  JobId job;
  std::uint64_t offset = 0;
  std::string data;
  bool end = false;
  friend bool operator==(const SendInput&, const SendInput&) = default;
};
/// A command inside a running attempt: its environment, folder and devices. Answered with Output
/// (of attempt 0) and ExecEnded; Taken and SignalExec go with the question's number.
struct ExecInTask {
  JobId job;
  std::optional<TaskId> task;
  std::vector<std::string> command;
  friend bool operator==(const ExecInTask&, const ExecInTask&) = default;
};
/// Signal 0: the asker has lost interest; of a command it is ended, and what follows output is told
/// no more.
struct SignalExec {
  std::uint32_t question = 0;
  std::int32_t signal = 0;
  friend bool operator==(const SignalExec&, const SignalExec&) = default;
};
/// What a job made and is kept. Answered with Results once it has ended and that is known.
struct AskResults {
  JobId job;
  std::optional<TaskId> task;
  friend bool operator==(const AskResults&, const AskResults&) = default;
};
/// At most so many bytes of one of them. Answered with FilePiece.
struct FetchFile {
  JobId job;
  TaskId task;
  std::string path;
  std::uint64_t offset = 0;
  std::uint32_t size_bytes = 0;  ///< up to `piece_limit_bytes`
  friend bool operator==(const FetchFile&, const FetchFile&) = default;
};
inline constexpr std::uint32_t piece_limit_bytes = 1024 * 1024;
/// These have been brought to where they are wanted: they need not be kept. Answered with Done.
struct ForgetFiles {
  JobId job;
  TaskId task;
  std::vector<std::string> paths;
  friend bool operator==(const ForgetFiles&, const ForgetFiles&) = default;
};
/// Nothing new is placed on this peer. Answered with Done once nothing runs there (`wait`), or at
/// once. "": the peer that is asked.
struct DrainPeer {
  std::string peer;
  bool wait = true;
  friend bool operator==(const DrainPeer&, const DrainPeer&) = default;
};
struct ResumePeer {
  std::string peer;
  friend bool operator==(const ResumePeer&, const ResumePeer&) = default;
};
/// The peer that is asked leaves the cluster for good, and its process ends after Done. Refused
/// while it has jobs, unless these are to be ended.
struct LeaveCluster {
  bool end_jobs = false;
  friend bool operator==(const LeaveCluster&, const LeaveCluster&) = default;
};
/// What is wrong with the peer that is asked. Answered with Health.
struct AskHealth {
  friend bool operator==(const AskHealth&, const AskHealth&) = default;
};

/// What follows is asked by peers of each other, on behalf of their clients; each answers for what
/// is with itself alone.
///
/// The output of one attempt that ran, or runs, there, from these offsets on. Answered with Output
/// and at last AttemptOver, or Refused when its folder is not there.
struct FollowAttempt {
  Fence attempt;
  JobId job;
  TaskId task;
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  bool attached = false;  ///< as in Follow
  friend bool operator==(const FollowAttempt&, const FollowAttempt&) = default;
};
/// Of a tree that is whole there: its encoded manifest. Answered with TreePiece, or Refused.
struct FetchManifest {
  ContentId tree;
  std::uint64_t offset = 0;
  friend bool operator==(const FetchManifest&, const FetchManifest&) = default;
};
/// Answered with ChunkIs, or Refused.
struct FetchChunk {
  ContentId id;
  friend bool operator==(const FetchChunk&, const FetchChunk&) = default;
};
/// Answered with JobNotesAre.
struct AskJobNotes {
  JobId job;
  friend bool operator==(const AskJobNotes&, const AskJobNotes&) = default;
};
/// A peer that is unreachable is given up, and every attempt there is lost; by the leader, or it is
/// refused. Answered with Done.
struct ForgetPeer {
  std::string peer;  ///< its name, or its id in hex
  friend bool operator==(const ForgetPeer&, const ForgetPeer&) = default;
};

using Question =
    std::variant<Hello, AskChunks, PutChunk, PutManifest, CommitTree, SubmitJob, Follow, Taken,
                 WaitFor, ListJobs, AskCluster, AskExplanation, CancelJob, HoldJob, ReleaseJob,
                 RerunJob, SignalTask, SendInput, ExecInTask, SignalExec, AskResults, FetchFile,
                 ForgetFiles, DrainPeer, ResumePeer, LeaveCluster, AskHealth, FollowAttempt,
                 FetchManifest, FetchChunk, AskJobNotes, ForgetPeer>;
struct ClientMessage {
  std::uint32_t question = 0;
  Question body;
  friend bool operator==(const ClientMessage&, const ClientMessage&) = default;
};

struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};
struct Refused {
  std::int32_t exit_code = 125;  ///< what the command should exit with
  std::string message;           ///< for a person
  std::optional<Explanation> explanation;
  friend bool operator==(const Refused& a, const Refused& b) {
    return a.exit_code == b.exit_code && a.message == b.message;
  }
};
struct TreeKept {
  ContentId tree;
  friend bool operator==(const TreeKept&, const TreeKept&) = default;
};
struct InputTaken {
  std::uint64_t offset = 0;  ///< all before it has been handed to the job
  friend bool operator==(const InputTaken&, const InputTaken&) = default;
};
struct ChunksMissing {
  std::vector<ContentId> chunks;
  friend bool operator==(const ChunksMissing&, const ChunksMissing&) = default;
};
struct Submitted {
  JobId job;
  friend bool operator==(const Submitted&, const Submitted&) = default;
};
struct Output {
  Position at;  ///< of the first byte of `data`
  std::string data;
  std::uint64_t skipped_bytes = 0;  ///< before it: neither head nor tail of what nobody followed
  friend bool operator==(const Output&, const Output&) = default;
};
struct TaskEnded {
  JobId job;
  TaskId task;
  AttemptId attempt;
  Outcome outcome;
  std::string peer;  ///< where it ran
  friend bool operator==(const TaskEnded&, const TaskEnded&) = default;
};
struct JobEnded {
  JobId job;
  std::optional<TaskId> failed_task;  ///< of lowest number
  Outcome outcome;                    ///< its, or that of the last one
  friend bool operator==(const JobEnded&, const JobEnded&) = default;
};

struct JobSummary {
  JobId id;
  std::string name;
  Submitter submitter;
  std::string submitter_name;
  std::vector<std::string> command;
  std::string state;  ///< queued, held, blocked, starting, running, ended
  Instant submitted_at;
  std::optional<Instant> started_at;
  std::optional<Instant> ended_at;
  std::uint64_t tasks = 1;
  std::uint64_t waiting = 0;
  std::uint64_t running = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::optional<Outcome> outcome;  ///< once it has ended: of the failing task of lowest number
  std::vector<std::string> where;  ///< "lab2 cuda:1"
  std::string why;                 ///< it waits: in a few words
  std::uint64_t position = 0;      ///< in the queue, from 1; 0: not queued
  std::uint64_t kept_files = 0;    ///< made and not fetched
  std::uint64_t kept_bytes = 0;
  std::optional<Instant> kept_until;
  std::uint64_t left_out_bytes = 0;           ///< of its output, which were not kept
  bool client_gone = false;                   ///< it was attached and is no more
  std::optional<JobDescription> description;  ///< with `details`
  friend bool operator==(const JobSummary&, const JobSummary&) = default;
};
struct JobList {
  std::vector<JobSummary> jobs;
  bool last = true;  ///< else another one follows
  friend bool operator==(const JobList&, const JobList&) = default;
};
struct PeerSummary {
  PeerId id;
  PeerView view;
  std::string state;  ///< up, unreachable, draining, drained
  Instant up_at;
  int cpus_lent = 0;
  std::uint64_t memory_lent_bytes = 0;
  std::string part;     ///< in the consensus: leader, voter, learner; "" none
  std::string address;  ///< where the asked peer reaches it; "": it does not
};
struct ClusterStatus {
  std::string cluster;  ///< its short id; "" none yet
  std::string leader;
  std::uint32_t voters = 0;
  std::uint32_t can_lose = 0;  ///< so many machines without losing anything
  bool unprotected = false;    ///< two peers, and the second does not keep up with the log
  std::vector<PeerSummary> peers;
  std::vector<JobSummary> active;  ///< running first, then the queue; not all of a long one
  std::uint64_t more_active = 0;   ///< that are not listed
  std::vector<JobSummary> ended;   ///< the most recent ones
};
struct Explained {
  Explanation explanation;
};
struct ExecEnded {
  Outcome outcome;
  friend bool operator==(const ExecEnded&, const ExecEnded&) = default;
};
struct ResultFile {
  TaskId task;
  std::string path;
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 0;
  std::int64_t mtime_ns = 0;
  bool is_link = false;
  bool is_folder = false;
  friend bool operator==(const ResultFile&, const ResultFile&) = default;
};
struct Results {
  std::vector<ResultFile> files;
  std::optional<Instant> kept_until;
  friend bool operator==(const Results&, const Results&) = default;
};
struct FilePiece {
  std::string data;   ///< a link: its target
  bool last = false;  ///< the file ends with it
  friend bool operator==(const FilePiece&, const FilePiece&) = default;
};

struct HealthRow {
  enum class Level : std::uint8_t { ok = 0, warn = 1, fail = 2 };
  Level level = Level::ok;
  std::string subject;  ///< "disk", "keeper", "nvidia"
  std::string text;     ///< what is so, and where it is wrong what to do
  friend bool operator==(const HealthRow&, const HealthRow&) = default;
};
struct Health {
  std::vector<HealthRow> rows;
  friend bool operator==(const Health&, const Health&) = default;
};

/// The attempt is over, and all of its output that is kept has been told. Without an outcome: it is
/// not known here.
struct AttemptOver {
  std::optional<Outcome> outcome;
  std::optional<Instant> started_at;
  friend bool operator==(const AttemptOver&, const AttemptOver&) = default;
};
struct TreePiece {
  std::string data;
  bool last = false;
  friend bool operator==(const TreePiece&, const TreePiece&) = default;
};
struct ChunkIs {
  std::string data;
  friend bool operator==(const ChunkIs&, const ChunkIs&) = default;
};
/// What the asked peer knows of a job and the cluster's state does not say.
struct JobNotesAre {
  std::uint64_t kept_files = 0;
  std::uint64_t kept_bytes = 0;
  std::optional<Instant> kept_until;
  std::uint64_t left_out_bytes = 0;
  bool client_gone = false;
  std::optional<Instant> started_at;
  bool ran_here = false;
  friend bool operator==(const JobNotesAre&, const JobNotesAre&) = default;
};

using Answer =
    std::variant<Hello, Done, Refused, ChunksMissing, TreeKept, Submitted, Output, TaskEnded,
                 JobEnded, JobList, ClusterStatus, Explained, InputTaken, ExecEnded, Results,
                 FilePiece, Health, AttemptOver, TreePiece, ChunkIs, JobNotesAre>;
struct PeerMessage {
  std::uint32_t question = 0;
  Answer body;
};

}  // namespace gpl::wire
