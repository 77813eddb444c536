#include "scheduler_pass.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <tuple>
#include <utility>

#include "gpl/core/fit.h"

namespace gpl {

// What a look costs is not known before: up to three checks on every peer when one is to be kept.
// The first is always taken, else a pass of few checks would never come further.
bool PassAtWork::may_look() const {
  if (passed_ / jobs_per_check >= most_checks_) return false;
  return looked_ == 0 || search_.checks() + 3 * search_.rooms().size() + 1 <= most_checks_;
}

PassAtWork::Look PassAtWork::look_at(const QueuePlace& place) {
  if (!may_look()) return Look::out_of_checks;
  ++passed_;
  const JobRecord& job = *state_->find_job(place.job);
  if (!is_placed_by_task(job.description->shape)) return Look::done;
  Wish& wish = search_.wish_for(job.description->requirement);
  std::uint64_t left = state_->placings_left(place.job);
  std::optional<TaskRange> waiting = state_->first_waiting(place.job);
  TaskId task;
  while (left > 0 && waiting) {
    if (wish.fits_nowhere) return Look::stuck;
    if (!may_look()) return Look::out_of_checks;
    ++looked_;
    task = std::max(task, waiting->first);
    const auto room = search_.best(wish, job.submitter.peer,
                                   [&](std::size_t number) { return lets(wish, number, job); });
    if (!room) return Look::stuck;
    put(job, task, *room, *wish.seen[*room].allocation);
    --left;
    ++task.value;
    waiting = state_->first_waiting(place.job, task);
  }
  return Look::done;
}

bool PassAtWork::lets(Wish& wish, std::size_t room, const JobRecord& job) {
  Reservation* reservation = reservation_of(search_.rooms()[room].peer());
  if (reservation == nullptr) return true;
  if (reservation->lets_end_before(job.description->spec.time_limit, now_)) return true;
  Wish::Seen& seen = wish.seen[room];
  if (seen.not_beside) return false;
  search_.count_check();
  seen.not_beside = !reservation->lets_beside(job.id, *seen.allocation, now_);
  return !seen.not_beside;
}

void PassAtWork::put(const JobRecord& job, TaskId task, std::size_t number, Allocation allocation) {
  Room& room = search_.rooms()[number];
  room.take(job.id, allocation);
  if (Reservation* reservation = reservation_of(room.peer())) reservation->note(job.id, allocation);
  places_.push_back({job.id, {{task, task}, room.peer(), std::move(allocation)}, now_});
}

Reservation* PassAtWork::reservation_of(PeerId peer) {
  const auto found =
      std::find_if(reservations_.begin(), reservations_.end(),
                   [&](const Reservation& reservation) { return reservation.peer() == peer; });
  return found == reservations_.end() ? nullptr : &*found;
}

namespace {

/// Where a job could start, the soonest first: when time limits say so, else where most is free.
struct Start {
  std::size_t room = 0;
  std::optional<Instant> free_by;
  bool preferred = false;
  std::int64_t free_cpus = 0;
  std::uint64_t free_memory = 0;

  auto order() const {
    constexpr Instant latest{std::numeric_limits<std::int64_t>::max()};
    return std::tuple(!preferred, free_by.value_or(latest), -free_cpus,
                      std::numeric_limits<std::uint64_t>::max() - free_memory, room);
  }
};

}  // namespace

std::optional<PassAtWork::KeptPeer> PassAtWork::reserve(const QueuePlace& place,
                                                        const std::optional<KeptPeer>& before) {
  Wish& wish = search_.wish_for(state_->find_job(place.job)->description->requirement);
  if (reservations_.size() == most_reservations || wish.never_alone) return std::nullopt;
  std::vector<Start> starts;
  for (std::size_t number = 0; number < search_.rooms().size(); ++number) {
    Room& room = search_.rooms()[number];
    if (reservation_of(room.peer()) != nullptr) continue;
    const Fit fit = search_.judge_in(wish.asked, room);
    if (!fit.will_fit()) continue;
    const PeerView& view = room.view();
    const bool again = before && before->peer == room.peer();
    // What was let in because it ends before that hides it.
    const auto free_by = again && before->free_by ? before->free_by : fit.free_by;
    starts.push_back(
        {number, free_by, again, room.free_cpus(),
         view.host.memory_bytes - std::min(view.host.memory_bytes, view.memory_held_bytes)});
  }
  std::sort(starts.begin(), starts.end(),
            [](const Start& a, const Start& b) { return a.order() < b.order(); });
  for (const Start& start : starts) {
    Room& room = search_.rooms()[start.room];
    // Nobody knows how long what is used outside gpl stays so.
    search_.count_check();
    if (!judge(wish.asked, emptied(room.view()), now_).fits()) continue;
    reservations_.emplace_back(*state_, place, wish.asked, room.peer(), room.view(), start.free_by);
    return KeptPeer{room.peer(), start.free_by};
  }
  wish.never_alone = true;
  return std::nullopt;
}

}  // namespace gpl
