#include "sim/proposal_desk.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace gpl::sim {

bool ProposalDesk::propose(SimReplica& replica, const std::vector<Command>& commands, Done done) {
  if (!replica.running()) return false;
  const auto place = replica.event([&](peer::Replica& r) { return r.propose(commands); });
  if (!place.ok()) return false;
  wait_for(place.value(), std::move(done));
  return true;
}

void ProposalDesk::applied(const peer::AppliedEntry& entry) {
  // A leader that lost its place and got it again has proposals of two terms: not in order.
  const auto is_due = [&](const Waiting& waiting) { return waiting.place.index <= entry.index; };
  const auto due = std::stable_partition(waiting_.begin(), waiting_.end(), std::not_fn(is_due));
  std::vector<Waiting> told(std::make_move_iterator(due), std::make_move_iterator(waiting_.end()));
  waiting_.erase(due, waiting_.end());
  for (const auto& waiting : told) {
    const bool ours = waiting.place.index == entry.index && waiting.place.term == entry.term;
    waiting.done(ours ? &entry : nullptr);
  }
}

void ProposalDesk::forget() {
  for (auto waiting = std::exchange(waiting_, {}); auto& one : waiting) one.done(nullptr);
}

}  // namespace gpl::sim
