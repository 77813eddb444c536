#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "gpl/core/scheduler.h"
#include "scheduler_reservation.h"
#include "scheduler_search.h"

namespace gpl {
namespace {

constexpr std::size_t most_checks = 64;
constexpr std::size_t most_in_front = 4;

bool may_start(const ClusterState& state, const JobDescription& description) {
  if (description.held || !is_placed_by_task(description.shape)) return false;
  // One that ended otherwise than it had to, ends this one: that is for the state to say.
  return std::all_of(description.after.begin(), description.after.end(),
                     [&](const Dependency& dependency) {
                       const JobRecord* job = state.find_job(dependency.job);
                       return job != nullptr && job->has_ended();
                     });
}

std::uint64_t most_placings(const JobDescription& description) {
  const TaskRange tasks = tasks_of(description.shape);
  const auto* array = std::get_if<Array>(&description.shape);
  if (array == nullptr || !array->limit) return tasks.count();
  return std::min(tasks.count(), *array->limit);
}

/// A job that is being submitted, and those whose turn is before its own.
class Newcomer {
 public:
  Newcomer(const ClusterState& state, const JobDescription& description, Instant now,
           const std::set<PeerId>& away, PeerId home)
      : state_(state),
        description_(description),
        home_(home),
        now_(now),
        search_(state, now, away) {}

  std::vector<command::Placing> place();

 private:
  bool lets(std::size_t room, const Allocation& allocation);
  bool lets_now(const QueuePlace& job, const Requirement& asked, const Fit& fit, Room& room,
                const Allocation& allocation);

  const ClusterState& state_;
  const JobDescription& description_;
  PeerId home_;
  Instant now_;
  Search search_;
  std::vector<QueuePlace> in_front_;
  std::vector<command::Placing> placings_;
};

std::vector<command::Placing> Newcomer::place() {
  // Each may have to be looked at once.
  if (!search_.has_free_cpu() || search_.rooms().size() > most_checks) return {};
  const QueuePlace own{description_.priority, state_.next_job()};
  for (auto job = state_.placeable_after({}); job && *job < own;
       job = state_.placeable_after(job)) {
    if (in_front_.size() == most_in_front) return {};
    in_front_.push_back(*job);
  }
  Wish& wish = search_.wish_for(description_.requirement);
  TaskId task = tasks_of(description_.shape).first;
  for (std::uint64_t left = most_placings(description_); left > 0; --left, ++task.value) {
    if (!placings_.empty() && search_.checks() >= most_checks) break;
    const auto room = search_.best(wish, home_, [&](std::size_t number) {
      return lets(number, *wish.seen[number].allocation);
    });
    if (!room) break;
    const Allocation& allocation = *wish.seen[*room].allocation;
    placings_.push_back({{task, task}, search_.rooms()[*room].peer(), allocation});
    search_.rooms()[*room].take(own.job, allocation);
  }
  return std::move(placings_);
}

// Which peer the scheduler keeps is not known here: each on which the first in front could run.
bool Newcomer::lets(std::size_t number, const Allocation& allocation) {
  if (!in_front_.empty() && search_.checks() >= most_checks) return false;
  Room& room = search_.rooms()[number];
  bool is_kept = false;
  for (const QueuePlace& job : in_front_) {
    const JobDescription& other = *state_.find_job(job.job)->description;
    if (!is_placed_by_task(other.shape) || state_.placings_left(job.job) == 0) continue;
    const Requirement asked = asked_in_cluster(other.requirement);
    const Fit fit = search_.judge_in(asked, room);
    if (fit.fits()) return false;  // its turn
    if (is_kept || !fit.will_fit()) continue;
    is_kept = true;
    if (!lets_now(job, asked, fit, room, allocation)) return false;
  }
  return true;
}

bool Newcomer::lets_now(const QueuePlace& job, const Requirement& asked, const Fit& fit, Room& room,
                        const Allocation& allocation) {
  Reservation reservation(state_, job, asked, room.peer(), room.view(), fit.free_by);
  if (reservation.lets_end_before(description_.spec.time_limit, now_)) return true;
  for (const command::Placing& placing : placings_) {
    if (placing.peer == room.peer()) reservation.note(state_.next_job(), placing.allocation);
  }
  search_.count_check();
  return reservation.lets_beside(state_.next_job(), allocation, now_);
}

}  // namespace

std::vector<command::Placing> place_at_submit(const ClusterState& state,
                                              const JobDescription& description, Instant now,
                                              const std::set<PeerId>& away, PeerId home) {
  if (!may_start(state, description)) return {};
  return Newcomer(state, description, now, away, home).place();
}

}  // namespace gpl
