#include "gpl/peer/follower.h"

#include <algorithm>
#include <utility>

#include "gpl/peer/known_jobs.h"

namespace gpl::peer {
namespace {

/// The failing task of lowest number counts; of a job without one, the last task.
std::pair<std::optional<TaskId>, Outcome> outcome_of(const ClusterState& state, JobId job) {
  std::optional<Outcome> last;
  for (const EndedTasks& ended : state.ended(job)) {
    if (ended.outcome != Outcome{Exited{0}}) return {ended.tasks.first, ended.outcome};
    last = ended.outcome;
  }
  return {std::nullopt, last.value_or(Outcome{Cancelled{}})};
}

}  // namespace

std::optional<Outcome> foreseen_end(const ClusterState& state, const JobRecord& job,
                                    const LocalAttempt* attempt) {
  if (attempt == nullptr || !attempt->outcome || job.has_ended()) return std::nullopt;
  const JobDescription& description = *job.description;
  const Attempt* placed = state.find_attempt(attempt->fence.attempt);
  if (placed == nullptr || placed->fence != attempt->fence || placed->cancelled)
    return std::nullopt;
  const bool alone = job.waiting_count == 0 && job.under_way_count == 1 && job.ended_count == 0;
  const bool exited = std::holds_alternative<Exited>(*attempt->outcome) ||
                      std::holds_alternative<Signalled>(*attempt->outcome);
  const bool again = description.retries > 0 && *attempt->outcome != Outcome{Exited{0}};
  if (!alone || !exited || again || description.on_loss == OnLoss::retry) return std::nullopt;
  return attempt->outcome;
}

Follower::Follower(net::Loop& loop, Around around, wire::Follow question, Told told)
    : loop_(loop),
      around_(std::move(around)),
      question_(std::move(question)),
      told_(std::move(told)),
      task_(question_.task.value_or(TaskId{})) {
  for (const wire::Position& position : question_.from)
    from_[{position.attempt, position.stream}] = position.offset;
  attached_ = question_.attached && question_.live;
  if (attached_) around_.watch.attach(question_.job);
}

Follower::~Follower() {
  if (watching_) around_.watch.end(*watching_);
  if (attached_) around_.watch.detach(question_.job);
}

void Follower::start() {
  news_ = around_.news.subscribe(question_.job, [this] { advance(); });
  advance();
}

void Follower::advance() {
  if (advancing_ || finished_) return;
  advancing_ = true;
  while (!finished_) {
    if (feed_ ? !give_pieces() : !begin_next()) break;
  }
  advancing_ = false;
}

/// Whether there is more to do at once. An attempt that the client has all of is passed over
/// quickly, since its feed is empty.
bool Follower::begin_next() {
  const LocalAttempt* attempt = around_.attempts.next_of(question_.job, task_, current_);
  if (attempt == nullptr) return conclude();
  current_ = attempt->fence;
  ran_on_ = attempt->ran_on;
  tellings_before_ = attempt->tellings;
  const auto had = [&](wire::OutputStream stream) {
    const auto at = from_.find({current_.attempt, stream});
    return at == from_.end() ? std::uint64_t{0} : at->second;
  };
  given_ = {had(wire::OutputStream::out), had(wire::OutputStream::err)};
  feed_.emplace(around_.folder_of(current_), current_, task_, given_.out_bytes, given_.err_bytes);
  watching_ = around_.watch.begin(current_, attached_, given_);
  return true;
}

/// Gives what there is and what the window takes. Whether the attempt is over.
bool Follower::give_pieces() {
  if (const LocalAttempt* attempt = around_.attempts.find(current_))
    feed_->grew(attempt->out_bytes, attempt->err_bytes,
                attempt->output_complete && attempt->outcome.has_value());
  while (window_.room() > 0) {
    auto piece = feed_->next(window_.room());
    if (!piece.ok()) {
      if (around_.attempts.find(current_) == nullptr) break;  // it was discarded meanwhile
      finish({wire::Refused{125, "the output cannot be read: " + piece.error().message, {}}});
      return true;
    }
    if (!piece.value()) break;
    window_.sent(current_, *piece.value());
    told_.answer(std::move(*piece.value()));
  }
  if (!feed_->drained() && around_.attempts.find(current_) != nullptr) {
    // Only what there is now was asked for; the keeper tells how much that is. Of a copy it is
    // known.
    const LocalAttempt* attempt = around_.attempts.find(current_);
    const bool is_known = attempt->tellings > tellings_before_ || attempt->ran_on != PeerId{};
    if (!question_.live && window_.room() > 0 && is_known && !attempt->outcome)
      finish({wire::Done{}});
    return false;
  }
  end_attempt();
  return true;
}

void Follower::end_attempt() {
  feed_.reset();
  if (watching_) around_.watch.end(*watching_);
  watching_.reset();
}

/// No further attempt is known here. Whether something was done.
bool Follower::conclude() {
  if (!around_.attempts.complete()) return false;
  if (!question_.live) {
    finish({wire::Done{}});
    return true;
  }
  const ClusterState* state = around_.consensus.state();
  if (state == nullptr) return false;
  const JobRecord* job = state->find_job(question_.job);
  if (job == nullptr && !is_forgotten(*state, question_.job)) return false;
  if (job == nullptr) {
    finish({wire::Refused{125, "the job is not known any more", {}}});
    return true;
  }
  if (const auto foreseen = foreseen_end(*state, *job, around_.attempts.find(current_))) {
    const bool failed = *foreseen != Outcome{Exited{0}};
    finish(
        {wire::TaskEnded{question_.job, task_, current_.attempt, *foreseen,
                         around_.name_of(ran_on_)},
         wire::JobEnded{question_.job, failed ? std::optional(task_) : std::nullopt, *foreseen}});
    return true;
  }
  if (!job->has_ended()) return false;
  const auto [failed, outcome] = outcome_of(*state, question_.job);
  const Outcome of_task = state->outcome_of(question_.job, task_).value_or(outcome);
  finish(
      {wire::TaskEnded{question_.job, task_, current_.attempt, of_task, around_.name_of(ran_on_)},
       wire::JobEnded{question_.job, failed, outcome}});
  return true;
}

void Follower::finish(std::vector<wire::Answer> last) {
  finished_ = true;
  end_attempt();
  for (wire::Answer& answer : last) told_.answer(std::move(answer));
  loop_.at_end_of_turn(told_.over);
}

void Follower::taken(std::uint64_t bytes) {
  window_.taken(bytes, current_, given_);
  if (watching_) around_.watch.given(*watching_, given_);
  advance();
}

}  // namespace gpl::peer
