#pragma once

#include "gpl/wire/client_message.h"
#include "gpl/wire/explain_fields.h"
#include "gpl/wire/job_fields.h"
#include "gpl/wire/keeper_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto last_enumerator<JobQuery::Which> = last_is<JobQuery::Which::active>();
template <>
inline constexpr auto last_enumerator<HealthRow::Level> = last_is<HealthRow::Level::fail>();

template <>
inline constexpr auto fields<Hello> = list_of<Hello>("hello", &Hello::oldest_protocol,
                                                     &Hello::newest_protocol, &Hello::version);
template <>
inline constexpr bool is_extensible<Hello> = true;
template <>
inline constexpr auto fields<AskChunks> = list_of<AskChunks>("ask chunks", &AskChunks::chunks);
template <>
inline constexpr auto fields<PutChunk> = list_of<PutChunk>("put chunk", &PutChunk::id,
                                                           &PutChunk::data);
template <>
inline constexpr auto fields<PutManifest> = list_of<PutManifest>("put manifest",
                                                                 &PutManifest::piece);
template <>
inline constexpr auto fields<CommitTree> = list_of<CommitTree>("commit tree");
template <>
inline constexpr auto fields<SubmitJob> = list_of<SubmitJob>("submit job", &SubmitJob::request,
                                                             &SubmitJob::job, &SubmitJob::secrets,
                                                             &SubmitJob::attached);
template <>
inline constexpr auto fields<Position> = list_of<Position>("position", &Position::task,
                                                           &Position::attempt, &Position::stream,
                                                           &Position::offset);
template <>
inline constexpr auto fields<Follow> = list_of<Follow>("follow", &Follow::job, &Follow::task,
                                                       &Follow::from, &Follow::live,
                                                       &Follow::attached);
template <>
inline constexpr auto fields<Taken> = list_of<Taken>("taken", &Taken::question, &Taken::bytes);
template <>
inline constexpr auto fields<WaitFor> = list_of<WaitFor>("wait for", &WaitFor::jobs);
template <>
inline constexpr auto fields<JobQuery> = list_of<JobQuery>("job query", &JobQuery::which,
                                                           &JobQuery::first, &JobQuery::last,
                                                           &JobQuery::everyone);
template <>
inline constexpr auto fields<ListJobs> = list_of<ListJobs>("list jobs", &ListJobs::queries,
                                                           &ListJobs::details);
template <>
inline constexpr auto fields<AskCluster> = list_of<AskCluster>("ask cluster");
template <>
inline constexpr auto fields<AskExplanation> =
    list_of<AskExplanation>("ask explanation", &AskExplanation::job, &AskExplanation::requirement);
template <>
inline constexpr auto fields<CancelJob> = list_of<CancelJob>("cancel job", &CancelJob::job,
                                                             &CancelJob::tasks);
template <>
inline constexpr auto fields<HoldJob> = list_of<HoldJob>("hold job", &HoldJob::job);
template <>
inline constexpr auto fields<ReleaseJob> = list_of<ReleaseJob>("release job", &ReleaseJob::job);
template <>
inline constexpr auto fields<RerunJob> = list_of<RerunJob>("rerun job", &RerunJob::request,
                                                           &RerunJob::job);
template <>
inline constexpr auto fields<SignalTask> = list_of<SignalTask>("signal task", &SignalTask::job,
                                                               &SignalTask::task,
                                                               &SignalTask::signal);
template <>
inline constexpr auto fields<SendInput> = list_of<SendInput>("send input", &SendInput::job,
                                                             &SendInput::offset, &SendInput::data,
                                                             &SendInput::end);
template <>
inline constexpr auto fields<ExecInTask> = list_of<ExecInTask>("exec in task", &ExecInTask::job,
                                                               &ExecInTask::task,
                                                               &ExecInTask::command);
template <>
inline constexpr auto fields<SignalExec> = list_of<SignalExec>("signal exec", &SignalExec::question,
                                                               &SignalExec::signal);
template <>
inline constexpr auto fields<AskResults> = list_of<AskResults>("ask results", &AskResults::job,
                                                               &AskResults::task);
template <>
inline constexpr auto fields<FetchFile> = list_of<FetchFile>("fetch file", &FetchFile::job,
                                                             &FetchFile::task, &FetchFile::path,
                                                             &FetchFile::offset,
                                                             &FetchFile::size_bytes);
template <>
inline constexpr auto fields<ForgetFiles> = list_of<ForgetFiles>("forget files", &ForgetFiles::job,
                                                                 &ForgetFiles::task,
                                                                 &ForgetFiles::paths);
template <>
inline constexpr auto fields<DrainPeer> = list_of<DrainPeer>("drain peer", &DrainPeer::peer,
                                                             &DrainPeer::wait);
template <>
inline constexpr auto fields<ResumePeer> = list_of<ResumePeer>("resume peer", &ResumePeer::peer);
template <>
inline constexpr auto fields<LeaveCluster> = list_of<LeaveCluster>("leave cluster",
                                                                   &LeaveCluster::end_jobs);
template <>
inline constexpr auto fields<AskHealth> = list_of<AskHealth>("ask health");
template <>
inline constexpr auto fields<ClientMessage> = list_of<ClientMessage>("client message",
                                                                     &ClientMessage::question,
                                                                     &ClientMessage::body);
template <>
inline constexpr auto fields<Done> = list_of<Done>("done");
template <>
inline constexpr auto fields<Refused> = list_of<Refused>("refused", &Refused::exit_code,
                                                         &Refused::message, &Refused::explanation);
template <>
inline constexpr auto fields<TreeKept> = list_of<TreeKept>("tree kept", &TreeKept::tree);
template <>
inline constexpr auto fields<InputTaken> = list_of<InputTaken>("input taken", &InputTaken::offset);
template <>
inline constexpr auto fields<ChunksMissing> = list_of<ChunksMissing>("chunks missing",
                                                                     &ChunksMissing::chunks);
template <>
inline constexpr auto fields<Submitted> = list_of<Submitted>("submitted", &Submitted::job);
template <>
inline constexpr auto fields<Output> = list_of<Output>("output", &Output::at, &Output::data,
                                                       &Output::skipped_bytes);
template <>
inline constexpr auto fields<TaskEnded> = list_of<TaskEnded>("task ended", &TaskEnded::job,
                                                             &TaskEnded::task, &TaskEnded::attempt,
                                                             &TaskEnded::outcome, &TaskEnded::peer);
template <>
inline constexpr auto fields<JobEnded> = list_of<JobEnded>("job ended", &JobEnded::job,
                                                           &JobEnded::failed_task,
                                                           &JobEnded::outcome);
template <>
inline constexpr auto fields<JobSummary> = list_of<JobSummary>(
    "job summary", &JobSummary::id, &JobSummary::name, &JobSummary::submitter,
    &JobSummary::submitter_name, &JobSummary::command, &JobSummary::state,
    &JobSummary::submitted_at, &JobSummary::started_at, &JobSummary::ended_at, &JobSummary::tasks,
    &JobSummary::waiting, &JobSummary::running, &JobSummary::succeeded, &JobSummary::failed,
    &JobSummary::outcome, &JobSummary::where, &JobSummary::why, &JobSummary::position,
    &JobSummary::kept_files, &JobSummary::kept_bytes, &JobSummary::kept_until,
    &JobSummary::left_out_bytes, &JobSummary::client_gone, &JobSummary::description);
template <>
inline constexpr bool is_extensible<JobSummary> = true;
template <>
inline constexpr auto fields<JobList> = list_of<JobList>("job list", &JobList::jobs,
                                                         &JobList::last);
template <>
inline constexpr auto fields<PeerSummary> = list_of<PeerSummary>(
    "peer summary", &PeerSummary::id, &PeerSummary::view, &PeerSummary::state, &PeerSummary::up_at,
    &PeerSummary::cpus_lent, &PeerSummary::memory_lent_bytes, &PeerSummary::part,
    &PeerSummary::address);
template <>
inline constexpr bool is_extensible<PeerSummary> = true;
template <>
inline constexpr auto fields<ClusterStatus> = list_of<ClusterStatus>(
    "cluster status", &ClusterStatus::cluster, &ClusterStatus::leader, &ClusterStatus::voters,
    &ClusterStatus::can_lose, &ClusterStatus::peers, &ClusterStatus::active,
    &ClusterStatus::more_active, &ClusterStatus::ended, &ClusterStatus::unprotected);
template <>
inline constexpr bool is_extensible<ClusterStatus> = true;
template <>
inline constexpr auto fields<Explained> = list_of<Explained>("explained", &Explained::explanation);
template <>
inline constexpr auto fields<ExecEnded> = list_of<ExecEnded>("exec ended", &ExecEnded::outcome);
template <>
inline constexpr auto fields<ResultFile> = list_of<ResultFile>(
    "result file", &ResultFile::task, &ResultFile::path, &ResultFile::size_bytes, &ResultFile::mode,
    &ResultFile::mtime_ns, &ResultFile::is_link, &ResultFile::is_folder);
template <>
inline constexpr bool is_extensible<ResultFile> = true;
template <>
inline constexpr auto fields<Results> = list_of<Results>("results", &Results::files,
                                                         &Results::kept_until);
template <>
inline constexpr auto fields<FilePiece> = list_of<FilePiece>("file piece", &FilePiece::data,
                                                             &FilePiece::last);
template <>
inline constexpr auto fields<HealthRow> = list_of<HealthRow>("health row", &HealthRow::level,
                                                             &HealthRow::subject, &HealthRow::text);
template <>
inline constexpr auto fields<Health> = list_of<Health>("health", &Health::rows);
template <>
inline constexpr auto fields<FollowAttempt> = list_of<FollowAttempt>(
    "follow attempt", &FollowAttempt::attempt, &FollowAttempt::job, &FollowAttempt::task,
    &FollowAttempt::out_bytes, &FollowAttempt::err_bytes, &FollowAttempt::attached);
template <>
inline constexpr auto fields<FetchManifest> = list_of<FetchManifest>("fetch manifest",
                                                                     &FetchManifest::tree,
                                                                     &FetchManifest::offset);
template <>
inline constexpr auto fields<FetchChunk> = list_of<FetchChunk>("fetch chunk", &FetchChunk::id);
template <>
inline constexpr auto fields<AskJobNotes> = list_of<AskJobNotes>("ask job notes",
                                                                 &AskJobNotes::job);
template <>
inline constexpr auto fields<ForgetPeer> = list_of<ForgetPeer>("forget peer", &ForgetPeer::peer);
template <>
inline constexpr auto fields<AttemptOver> = list_of<AttemptOver>("attempt over",
                                                                 &AttemptOver::outcome,
                                                                 &AttemptOver::started_at);
template <>
inline constexpr auto fields<TreePiece> = list_of<TreePiece>("tree piece", &TreePiece::data,
                                                             &TreePiece::last);
template <>
inline constexpr auto fields<ChunkIs> = list_of<ChunkIs>("chunk is", &ChunkIs::data);
template <>
inline constexpr auto fields<JobNotesAre> = list_of<JobNotesAre>(
    "job notes are", &JobNotesAre::kept_files, &JobNotesAre::kept_bytes, &JobNotesAre::kept_until,
    &JobNotesAre::left_out_bytes, &JobNotesAre::client_gone, &JobNotesAre::started_at,
    &JobNotesAre::ran_here);
template <>
inline constexpr bool is_extensible<JobNotesAre> = true;
template <>
inline constexpr auto fields<PeerMessage> = list_of<PeerMessage>("peer message",
                                                                 &PeerMessage::question,
                                                                 &PeerMessage::body);

}  // namespace gpl::wire
