#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "gpl/core/scheduler.h"
#include "gpl/host/skipped_output.h"
#include "gpl/host/user.h"
#include "gpl/peer/admission.h"
#include "gpl/peer/client_session.h"
#include "gpl/peer/listing.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/file.h"

namespace gpl::peer {
namespace {

/// So many jobs go into one answer: it has to fit a frame, and others wait meanwhile.
constexpr std::size_t jobs_an_answer = 500;
constexpr std::size_t detailed_jobs_an_answer = 50;  // of up to 64 KiB
constexpr Duration look_again = milliseconds(200);

}  // namespace

/// What the keeper gave up of an attempt's output.
static std::uint64_t left_out_bytes(const Parts& parts, const Fence& fence) {
  const Result<posix::Fd> folder = posix::open_folder(parts.attempt_folder(fence));
  if (!folder.ok()) return 0;
  const Result<host::SkippedOutput> skipped = host::read_skipped(folder.value().get());
  if (!skipped.ok()) return 0;
  return skipped.value().of[0].size() + skipped.value().of[1].size();
}

/// What the state does not say of a job: this peer knows.
static ListingContext context_of(const Parts& parts, bool details) {
  ListingContext context;
  context.details = details;
  context.name_of =
      [names = std::map<std::uint32_t, std::string>()](const Submitter& submitter) mutable {
        const auto [name, added] = names.try_emplace(submitter.uid);
        if (added) name->second = host::user_name(submitter.uid);
        return name->second;
      };
  context.notes_of = [&parts, details](JobId job) {
    JobNotes notes;
    const ResultUsage usage = parts.results->usage(job);
    notes.kept_files = usage.files;
    notes.kept_bytes = usage.bytes;
    notes.kept_until = usage.kept_until;
    notes.client_gone = parts.watch->is_abandoned(job);
    for (const Fence& fence : parts.attempts->of(job)) {
      const LocalAttempt& attempt = *parts.attempts->find(fence);
      notes.where = {parts.identity.name};
      if (attempt.started_at) notes.started_at = attempt.started_at;
      if (details) notes.left_out_bytes += left_out_bytes(parts, fence);
    }
    return notes;
  };
  return context;
}

void ClientSession::ask(Question question, wire::ListJobs& asked) {
  const ClusterState* state = state_for(question);
  if (state == nullptr || is_taken(question)) return;
  std::vector<JobId> jobs;
  for (const wire::JobQuery& query : asked.queries) {
    const auto some = select(*state, query, submitter());
    jobs.insert(jobs.end(), some.begin(), some.end());
  }
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  listings_[question] = {std::move(jobs), 0, asked.details};
  go_on_listing();
}

/// As fast as the client takes them: a long list is not held whole. Jobs that are forgotten
/// meanwhile are left out.
void ClientSession::go_on_listing() {
  const ClusterState* state = parts_.consensus->state();
  const auto full = [&] {
    return connection_->queued_bytes() > net::ConnectionOptions{}.high_water_bytes;
  };
  if (state == nullptr) {
    for (const auto& [question, listing] : std::exchange(listings_, {})) (void)state_for(question);
    return;
  }
  std::optional<QueuePositions> positions;
  while (!listings_.empty() && !full()) {
    const auto entry = listings_.begin();
    Listing& listing = entry->second;
    ListingContext context = context_of(parts_, listing.details);
    if (listing.jobs.size() > 1) {
      if (!positions) positions.emplace(*state);
      context.positions = &*positions;
    }
    const std::size_t most = listing.details ? detailed_jobs_an_answer : jobs_an_answer;
    wire::JobList list;
    for (; listing.next < listing.jobs.size() && list.jobs.size() < most; ++listing.next)
      if (state->find_job(listing.jobs[listing.next]) != nullptr)
        list.jobs.push_back(
            summarise(*state, listing.jobs[listing.next], context, posix::wall_clock()));
    list.last = listing.next == listing.jobs.size();
    const Question question = entry->first;
    if (list.last) listings_.erase(entry);
    answer(question, std::move(list));
  }
}

void ClientSession::ask(Question question, wire::AskCluster& asked) {
  static_cast<void>(asked);
  const ClusterState* state = state_for(question);
  if (state == nullptr) return;
  ClusterFacts facts;
  facts.cluster = short_name(parts_.identity.cluster);
  facts.leader = parts_.consensus->leads() ? parts_.identity.name : "";
  facts.voters = 1;
  answer(question, cluster_status(*state, facts, context_of(parts_, false), posix::wall_clock()));
}

void ClientSession::ask(Question question, wire::AskExplanation& asked) {
  const ClusterState* state = state_for(question);
  if (state == nullptr) return;
  if (!asked.job) {
    if (const Status valid = validate(asked.requirement); !valid.ok())
      return refuse(question, valid.error());
    return answer(question, wire::Explained{explain_new(*state, asked.requirement,
                                                        all_have_reported(*parts_.consensus),
                                                        posix::wall_clock())});
  }
  if (job_for(question, *asked.job, false) == nullptr) return;
  answer(question,
         wire::Explained{explain_job(*state, *asked.job, posix::wall_clock()).explanation});
}

void ClientSession::ask(Question question, wire::AskResults& asked) {
  if (job_for(question, asked.job, true) == nullptr || is_taken(question)) return;
  results_[question] = parts_.news->subscribe(
      asked.job,
      [this, question, job = asked.job, task = asked.task] { tell_results(question, job, task); });
  parts_.loop.at_end_of_turn(guarded(
      [this, question, job = asked.job, task = asked.task] { tell_results(question, job, task); }));
}

/// Once the job has ended, and what each of its attempts here made has been put away.
void ClientSession::tell_results(Question question, JobId id, std::optional<TaskId> task) {
  const ClusterState* state = parts_.consensus->state();
  if (!results_.contains(question) || state == nullptr || !parts_.attempts->complete()) return;
  const JobRecord* job = state->find_job(id);
  if (job != nullptr && !job->has_ended()) return;
  for (const Fence& fence : parts_.attempts->of(id)) {
    const LocalAttempt& attempt = *parts_.attempts->find(fence);
    if (attempt.collected) continue;
    if (!attempt.not_collected) return;
    results_.erase(question);
    return refuse(question, Error{Code::io, "what it made is kept, but cannot be told yet: " +
                                                attempt.not_collected->message});
  }
  results_.erase(question);
  wire::Results results;
  std::map<std::pair<TaskId, std::string>, wire::ResultFile> newest;  // of a task's attempts
  for (const KeptResults& kept : parts_.results->find(id, task)) {
    for (const wire::ResultFile& file : kept.files) newest[{file.task, file.path}] = file;
    if (!results.kept_until || kept.kept_until < *results.kept_until)
      results.kept_until = kept.kept_until;
  }
  for (auto& [place, file] : newest) results.files.push_back(std::move(file));
  answer(question, std::move(results));
}

void ClientSession::ask(Question question, wire::FetchFile& asked) {
  if (job_for(question, asked.job, true) == nullptr) return;
  parts_.results->read(asked.job, asked.task, asked.path, asked.offset, asked.size_bytes,
                       guarded([this, question](Result<wire::FilePiece> piece) {
                         if (!piece.ok()) return refuse(question, piece.error());
                         answer(question, std::move(piece).value());
                       }));
}

void ClientSession::ask(Question question, wire::ForgetFiles& asked) {
  if (job_for(question, asked.job, true) == nullptr) return;
  parts_.results->forget(asked.job, asked.task, asked.paths,
                         guarded([this, question](const Status& status) {
                           if (!status.ok()) return refuse(question, status.error());
                           answer(question, wire::Done{});
                         }));
}

void ClientSession::ask(Question question, wire::DrainPeer& asked) {
  if (!has_every_right())
    return refuse(question, Error{Code::denied, "only the peer's owner can drain it"});
  if (!asked.peer.empty() && asked.peer != parts_.identity.name)
    return refuse(question, Error{Code::not_found, "there is no peer '" + asked.peer + "'"});
  if (Status status = parts_.peer.set_draining(true); !status.ok())
    return refuse(question, status.error());
  if (!asked.wait) return answer(question, wire::Done{});
  const ClusterState* state = parts_.consensus->state();
  const PeerRecord* self = state != nullptr ? state->find_peer(parts_.identity.peer) : nullptr;
  // Before the cluster knows, something may still be placed here.
  if (self != nullptr && !self->offer.closed.empty() && state->attempts_on(self->id).empty())
    return answer(question, wire::Done{});
  idle_look_ = parts_.loop.after(look_again, [this, question, asked] {
    wire::DrainPeer again = asked;
    if (!parts_.peer.is_draining())
      return refuse(question, Error{Code::busy, "the peer was told to resume meanwhile"});
    ask(question, again);
  });
}

void ClientSession::ask(Question question, wire::ResumePeer& asked) {
  if (!has_every_right())
    return refuse(question, Error{Code::denied, "only the peer's owner can resume it"});
  if (!asked.peer.empty() && asked.peer != parts_.identity.name)
    return refuse(question, Error{Code::not_found, "there is no peer '" + asked.peer + "'"});
  if (Status status = parts_.peer.set_draining(false); !status.ok())
    return refuse(question, status.error());
  answer(question, wire::Done{});
}

/// Alone in its cluster: what is queued would be lost with it.
void ClientSession::ask(Question question, wire::LeaveCluster& asked) {
  const ClusterState* state = state_for(question);
  if (state == nullptr) return;
  if (!has_every_right())
    return refuse(question, Error{Code::denied, "only the peer's owner can have it leave"});
  std::vector<JobId> left;
  state->for_each_job([&](const JobRecord& job) {
    if (!job.has_ended()) left.push_back(job.id);
  });
  if (!left.empty() && !asked.end_jobs)
    return refuse(question,
                  Error{Code::busy, std::to_string(left.size()) +
                                        (left.size() == 1 ? " job has not ended, job "
                                                          : " jobs have not ended, job ") +
                                        std::to_string(left.front().value) +
                                        " for one: wait for them, or end them with --end-jobs"});
  parts_.leaving = true;
  waits_to_leave_ = true;
  for (const JobId job : left)
    parts_.consensus->propose(Command{command::Cancel{job, std::nullopt, posix::wall_clock()}},
                              [](const Result<Applied>&) {});
  leave_when_idle(question);
}

void ClientSession::leave_when_idle(Question question) {
  const ClusterState* state = parts_.consensus->state();
  bool idle = state != nullptr && state->attempts_on(parts_.identity.peer).empty();
  if (idle) state->for_each_job([&](const JobRecord& job) { idle = idle && job.has_ended(); });
  if (!idle) {
    idle_look_ = parts_.loop.after(look_again, [this, question] { leave_when_idle(question); });
    return;
  }
  waits_to_leave_ = false;  // it does
  answer(question, wire::Done{});
  connection_->close_after_writing();
  parts_.peer.leave();
}

void ClientSession::ask(Question question, wire::AskHealth& asked) {
  static_cast<void>(asked);
  answer(question, wire::Health{parts_.peer.health()});
}

}  // namespace gpl::peer
