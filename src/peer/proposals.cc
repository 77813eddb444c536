#include "gpl/peer/proposals.h"

#include <algorithm>

namespace gpl::peer {
namespace {

/// After that somebody must be told that it did not work.
constexpr Duration patience = seconds(60);
constexpr Duration first_backoff = milliseconds(50);
constexpr Duration longest_backoff = seconds(1);
/// An asked leader answers as soon as it has it in its log's memory.
constexpr Duration answers_within = seconds(2);

Error nobody_leads() {
  return {Code::busy,
          "the cluster has had no leader for a minute, or it could not commit: gpl status shows "
          "which peers do not answer; try again when most of the voters do"};
}

}  // namespace

void Proposals::add(Moment now, Command command, Done done) {
  Pending pending;
  pending.command = std::move(command);
  pending.done = std::move(done);
  pending.until = now + patience;
  pending.due = now;
  pending.backoff = first_backoff;
  const bool is_first = waiting_++ == 0;
  const auto place = pending_.emplace_hint(pending_.end(), ++last_, std::move(pending));
  if (is_first && !proposing_)
    propose(now, place);
  else
    look_again(now);
}

/// Requires that it waits, and that none before it does.
void Proposals::propose(Moment now, Place place) {
  if (leader_ == PeerId{}) return;
  auto& [number, pending] = *place;
  if (leader_ != self_) {
    --waiting_;
    pending.stage = Stage::asked;
    pending.asked = leader_;
    pending.due = now + answers_within;
    look_again(pending.due);
    around_.ask(leader_, {number, pending.command});
    return;
  }
  proposing_ = true;
  auto appended = around_.append(pending.command);
  proposing_ = false;
  if (appended.ok()) return put(now, pending, number, appended.value());
  if (appended.error().code != Code::busy) return finish(place, std::move(appended).error());
  again(now, pending, false);
}

void Proposals::put(Moment now, Pending& pending, std::uint64_t number, Replica::Proposed where) {
  // What this peer has applied past it was not it: another leader has put something else there.
  if (where.index <= applied_ || where.term < applied_term_) return again(now, pending, true);
  if (pending.stage == Stage::waiting) --waiting_;
  pending.stage = Stage::placed;
  pending.index = where.index;
  pending.term = where.term;
  placed_.emplace(where.index, number);
}

/// Waits to be proposed. What is placed must have been taken out of there.
void Proposals::again(Moment now, Pending& pending, bool at_once) {
  if (pending.stage != Stage::waiting) ++waiting_;
  pending.stage = Stage::waiting;
  if (at_once) {
    pending.backoff = first_backoff;
    pending.due = now;
  } else {
    pending.due = now + pending.backoff;
    pending.backoff = std::min(longest_backoff, milliseconds(2 * pending.backoff.count_ms));
  }
  look_again(pending.due);
}

void Proposals::look_again(Moment at) {
  if (!next_look_ || at < *next_look_) next_look_ = at;
}

void Proposals::finish(Place place, Result<Applied> result) {
  if (place->second.stage == Stage::waiting) --waiting_;
  finished_.emplace_back(std::move(place->second.done), std::move(result));
  pending_.erase(place);
}

void Proposals::leader_is(Moment now, PeerId leader) {
  if (leader == leader_) return;
  leader_ = leader;
  for (auto& [number, pending] : pending_)
    if (pending.stage != Stage::placed) again(now, pending, true);
}

void Proposals::unlinked(Moment now, PeerId peer) {
  for (auto& [number, pending] : pending_)
    if (pending.stage == Stage::asked && pending.asked == peer) again(now, pending, false);
}

void Proposals::take(Moment now, PeerId from, const wire::Proposed& proposed) {
  const auto found = pending_.find(proposed.number);
  if (found == pending_.end()) return;
  Pending& pending = found->second;
  if (pending.stage != Stage::asked || pending.asked != from) return;
  put(now, pending, proposed.number, {proposed.index, proposed.term});
}

void Proposals::take(Moment now, PeerId from, const wire::NotProposed& refused) {
  const auto found = pending_.find(refused.number);
  if (found == pending_.end()) return;
  Pending& pending = found->second;
  if (pending.stage != Stage::asked || pending.asked != from) return;
  if (refused.again) return again(now, pending, false);
  finish(found, Error{Code::too_large, refused.why});
}

void Proposals::applied(Moment now, const AppliedEntry& entry) {
  const bool is_new_term = entry.term > applied_term_;
  applied_ = entry.index;
  applied_term_ = entry.term;
  // Terms only grow along the log: what an older one had further on is not in it.
  const auto end = is_new_term ? placed_.end() : placed_.upper_bound(entry.index);
  for (auto at = placed_.begin(); at != end;) {
    const auto place = pending_.find(at->second);
    Pending& pending = place->second;
    const bool is_here = at->first <= entry.index;
    if (!is_here && pending.term >= entry.term) {
      ++at;
      continue;
    }
    at = placed_.erase(at);
    if (is_here && pending.term == entry.term && !entry.results.empty())
      finish(place, entry.results.front());
    else
      again(now, pending, true);
  }
}

void Proposals::restored(Moment now, raft::Index index, raft::Term term) {
  applied_ = index;
  applied_term_ = term;
  for (auto at = placed_.begin(); at != placed_.end();) {
    Pending& pending = pending_.find(at->second)->second;
    if (at->first > index && pending.term >= term) {
      ++at;
      continue;
    }
    at = placed_.erase(at);
    again(now, pending, true);
  }
}

void Proposals::tick(Moment now) {
  // What an appending has applied is told, and who is told may propose.
  if (proposing_) return;
  expire(now);
  if (!next_look_ || now < *next_look_) return;
  next_look_.reset();
  for (auto& [number, pending] : pending_) {
    if (pending.stage != Stage::asked) continue;
    if (pending.due <= now)
      again(now, pending, false);
    else
      look_again(pending.due);
  }
  propose_waiting(now);
}

/// In order: none overtakes one that waits.
void Proposals::propose_waiting(Moment now) {
  if (leader_ == PeerId{}) return;
  for (auto place = pending_.begin(); waiting_ > 0 && place != pending_.end();) {
    const std::uint64_t number = place->first;
    if (place->second.stage == Stage::waiting) {
      if (place->second.due > now) return look_again(place->second.due);
      // May apply what was committed before, which takes others out of here.
      propose(now, place);
      const auto after = pending_.find(number);
      if (after != pending_.end() && after->second.stage == Stage::waiting) return;
    }
    place = pending_.upper_bound(number);
  }
}

/// They all have the same patience: the first to come is the first to go.
void Proposals::expire(Moment now) {
  while (!pending_.empty() && pending_.begin()->second.until <= now) {
    const auto first = pending_.begin();
    const auto [from, to] = placed_.equal_range(first->second.index);
    for (auto at = from; at != to; ++at) {
      if (at->second != first->first) continue;
      placed_.erase(at);
      break;
    }
    finish(first, nobody_leads());
  }
}

void Proposals::fail(const Error& error) {
  placed_.clear();
  while (!pending_.empty()) finish(pending_.begin(), error);
}

std::optional<Moment> Proposals::wake_at() const {
  if (pending_.empty()) return std::nullopt;
  const Moment until = pending_.begin()->second.until;
  const bool looks = next_look_ && (leader_ != PeerId{} || waiting_ < pending_.size());
  return looks ? std::min(until, *next_look_) : until;
}

}  // namespace gpl::peer
