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
/// Of so many jobs at most other peers are asked what they know, and waited for so long.
constexpr std::size_t jobs_with_far_notes = 20;
constexpr std::size_t most_queries = 1000;  // each is a walk over the jobs
constexpr Duration far_notes_within = seconds(1);

/// Every peer has told what is with itself.
JobNotes sum_of(JobNotes one, const JobNotes& other) {
  one.kept_files += other.kept_files;
  one.kept_bytes += other.kept_bytes;
  if (!one.kept_until || (other.kept_until && *other.kept_until < *one.kept_until))
    one.kept_until = other.kept_until;
  one.left_out_bytes = std::max(one.left_out_bytes, other.left_out_bytes);
  one.client_gone = one.client_gone || other.client_gone;
  if (!one.started_at) one.started_at = other.started_at;
  if (one.where.empty()) one.where = other.where;
  return one;
}

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
      [&parts, names = std::map<std::uint32_t, std::string>()](const Submitter& submitter) mutable {
        if (!submitter.client.empty()) return "key " + submitter.client.substr(0, 4);
        const auto [name, added] = names.try_emplace(submitter.uid);
        if (added) name->second = host::user_name(submitter.uid);
        if (submitter.peer == parts.identity.peer) return name->second;
        return name->second + "@" + parts.peer.name_of(submitter.peer);
      };
  context.notes_of = [&parts, details](JobId job) {
    JobNotes notes;
    const ResultUsage usage = parts.results->usage(job);
    notes.kept_files = usage.files;
    notes.kept_bytes = usage.bytes;
    notes.kept_until = usage.kept_until;
    notes.client_gone = parts.watch->is_abandoned(job);
    if (const JobTraces::Trace* trace = parts.traces.find(job)) {
      notes.where = {trace->peer};
      notes.started_at = trace->started_at;
    }
    for (const Fence& fence : parts.attempts->of(job)) {
      const LocalAttempt& attempt = *parts.attempts->find(fence);
      notes.where = {parts.peer.name_of(attempt.ran_on)};
      if (attempt.started_at) notes.started_at = attempt.started_at;
      if (details) notes.left_out_bytes += left_out_bytes(parts, fence);
    }
    return notes;
  };
  return context;
}

/// Who was told of its end is told the same of its state.
static void tell_foreseen(const Parts& parts, const ClusterState& state, const JobRecord& job,
                          wire::JobSummary& summary) {
  const std::vector<Fence> attempts = parts.attempts->of(job.id);
  if (attempts.empty()) return;
  const auto outcome = foreseen_end(state, job, parts.attempts->find(attempts.back()));
  if (!outcome) return;
  summary.state = "ended";
  summary.outcome = outcome;
  summary.ended_at = posix::wall_clock();
  summary.running = 0;
  (*outcome == Outcome{Exited{0}} ? summary.succeeded : summary.failed) = 1;
}

static std::string part_of(const ConsensusFacts& consensus, PeerId peer) {
  const auto has = [&](const std::vector<PeerId>& peers) {
    return std::find(peers.begin(), peers.end(), peer) != peers.end();
  };
  if (peer == consensus.leader) return "leader";
  if (has(consensus.voters)) return "voter";
  return has(consensus.learners) ? "learner" : "";
}

static std::string address_of(const Parts& parts, PeerId peer) {
  if (peer == parts.identity.peer) return parts.mesh->shown_address();
  const auto address = parts.mesh->address_of(peer);
  return address ? net::to_text(*address) : "";
}

void ClientSession::ask(Question question, wire::AskJobNotes& asked) {
  const JobNotes notes = context_of(parts_, true).notes_of(asked.job);
  wire::JobNotesAre told;
  told.kept_files = notes.kept_files;
  told.kept_bytes = notes.kept_bytes;
  told.kept_until = notes.kept_until;
  told.left_out_bytes = notes.left_out_bytes;
  told.client_gone = notes.client_gone;
  told.started_at = notes.started_at;
  for (const Fence& fence : parts_.attempts->of(asked.job))
    told.ran_here = told.ran_here || parts_.attempts->find(fence)->ran_on == PeerId{};
  answer(question, told);
}

void ClientSession::ask(Question question, wire::ListJobs& asked) {
  const ClusterState* state = state_for(question);
  if (state == nullptr || is_taken(question)) return;
  if (asked.queries.size() > most_queries)
    return refuse(question, Error{Code::too_large, "at most " + std::to_string(most_queries) +
                                                       " lists at once: ask for fewer"});
  std::set<JobId> found;
  for (const wire::JobQuery& query : asked.queries) {
    const auto some = select(*state, query, submitter());
    found.insert(some.begin(), some.end());
  }
  std::vector<JobId> jobs(found.begin(), found.end());
  Listing& listing = listings_[question];
  listing.jobs = std::move(jobs);
  listing.details = asked.details;
  ask_for_notes(question);
  go_on_listing();
}

/// Of jobs that are looked at closely, and not only here.
void ClientSession::ask_for_notes(Question question) {
  Listing& listing = listings_.at(question);
  if (caller_.is_peer || !listing.details || listing.jobs.size() > jobs_with_far_notes) return;
  const ClusterState& state = *parts_.consensus->state();
  const auto is_elsewhere = [&](JobId id) {
    const JobRecord* job = state.find_job(id);
    const std::vector<Fence> attempts = parts_.attempts->of(id);
    return job != nullptr && job->under_way_count + job->ended_count > 0 &&
           (job->submitter.peer != parts_.identity.peer || attempts.empty() ||
            std::any_of(attempts.begin(), attempts.end(), [&](const Fence& fence) {
              return parts_.attempts->find(fence)->ran_on != PeerId{};
            }));
  };
  for (const JobId job : listing.jobs) {
    if (!is_elsewhere(job)) continue;
    for (const PeerId peer : parts_.mesh->up()) {
      ++listing.awaited;
      const auto told = guarded([this, question, job, peer](const Result<wire::Answer>& said) {
        const auto* notes = said.ok() ? std::get_if<wire::JobNotesAre>(&said.value()) : nullptr;
        take_notes(question, job, peer, notes != nullptr ? *notes : wire::JobNotesAre());
      });
      static_cast<void>(parts_.far->ask(peer, wire::AskJobNotes{job}, told));
    }
  }
  if (listing.awaited == 0) return;
  listing.limit = parts_.loop.after(far_notes_within, [this, question] {
    const auto entry = listings_.find(question);
    if (entry != listings_.end()) entry->second.awaited = 0;
    go_on_listing();
  });
}

void ClientSession::take_notes(Question question, JobId job, PeerId peer,
                               const wire::JobNotesAre& told) {
  const auto entry = listings_.find(question);
  if (entry == listings_.end() || entry->second.awaited == 0) return;
  JobNotes notes;
  notes.kept_files = told.kept_files;
  notes.kept_bytes = told.kept_bytes;
  notes.kept_until = told.kept_until;
  notes.left_out_bytes = told.left_out_bytes;
  notes.client_gone = told.client_gone;
  if (told.ran_here) {
    notes.started_at = told.started_at;
    notes.where = {name_of(peer)};
  }
  JobNotes& known = entry->second.notes[job];
  known = sum_of(std::move(known), notes);
  if (--entry->second.awaited == 0) go_on_listing();
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
  while (!full()) {
    const auto entry = std::find_if(listings_.begin(), listings_.end(),
                                    [](const auto& open) { return open.second.awaited == 0; });
    if (entry == listings_.end()) return;
    Listing& listing = entry->second;
    ListingContext context = context_of(parts_, listing.details);
    if (!listing.notes.empty())
      context.notes_of = [&listing, here = context.notes_of](JobId job) {
        const auto far = listing.notes.find(job);
        return far == listing.notes.end() ? here(job) : sum_of(here(job), far->second);
      };
    if (listing.jobs.size() > 1) {
      if (!positions) positions.emplace(*state);
      context.positions = &*positions;
    }
    const std::size_t most = listing.details ? detailed_jobs_an_answer : jobs_an_answer;
    wire::JobList list;
    for (; listing.next < listing.jobs.size() && list.jobs.size() < most; ++listing.next) {
      const JobRecord* job = state->find_job(listing.jobs[listing.next]);
      if (job == nullptr) continue;
      // Variables and folders of somebody else's are nobody's business.
      context.details = listing.details && (has_every_right() || is_own(*job, submitter()));
      list.jobs.push_back(summarise(*state, job->id, context, posix::wall_clock()));
      tell_foreseen(parts_, *state, *job, list.jobs.back());
    }
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
  const ConsensusFacts consensus = parts_.consensus->facts();
  facts.cluster = short_name(parts_.identity.cluster);
  facts.leader = consensus.leader == PeerId{} ? "" : name_of(consensus.leader);
  facts.voters = static_cast<std::uint32_t>(consensus.voters.size());
  facts.can_lose = consensus.can_lose;
  facts.unprotected = consensus.unprotected;
  wire::ClusterStatus status =
      cluster_status(*state, facts, context_of(parts_, false), posix::wall_clock());
  for (wire::PeerSummary& peer : status.peers) {
    peer.part = part_of(consensus, peer.id);
    peer.address = address_of(parts_, peer.id);
  }
  answer(question, std::move(status));
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

void ClientSession::ask(Question question, wire::AskHealth& asked) {
  static_cast<void>(asked);
  answer(question, wire::Health{parts_.peer.health()});
}

}  // namespace gpl::peer
