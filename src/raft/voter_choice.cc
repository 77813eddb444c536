#include "gpl/raft/voter_choice.h"

#include <algorithm>
#include <tuple>

namespace gpl::raft {
namespace {

bool is_gone(const MemberFacts& member) { return member.silent_for >= replaced_after; }

/// Less is fitter.
auto unfitness(const MemberFacts& member) {
  return std::tuple(member.gives_up, is_gone(member), member.on_battery, !member.answers,
                    member.wireless, member.process_began, member.id);
}

bool is_ready(const MemberFacts& member) {
  return member.answers && member.caught_up && !member.gives_up;
}

bool stays(const MemberFacts& member) { return !member.gives_up && !is_gone(member); }

class Choice {
 public:
  Choice(const std::vector<MemberFacts>& members, NodeId leader)
      : members_(members), leader_(leader) {
    for (const MemberFacts& member : members) {
      if (member.is_voter) ++voters_;
      if (member.is_voter && stays(member)) ++staying_;
    }
  }

  VoterStep next() const {
    if (const MemberFacts* heir = this->heir(is_ready)) {
      return {VoterStep::Kind::hand_over, heir->id};
    }
    const MemberFacts* ready =
        fittest([](const MemberFacts& m) { return !m.is_voter && is_ready(m); });
    if (ready != nullptr && (is_missing_one() || replaces_unfit(*ready))) {
      return {VoterStep::Kind::promote, ready->id};
    }
    if (voters_ <= most_kept()) return {};
    // It will have caught up in a moment, and decides then.
    if (heir([](const MemberFacts& m) { return m.answers; }) != nullptr) return {};
    const MemberFacts* least = least_fit();
    return least == nullptr ? VoterStep{} : VoterStep{VoterStep::Kind::demote, least->id};
  }

 private:
  template <class Which>
  std::size_t count(Which which) const {
    return static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), which));
  }

  template <class Which>
  const MemberFacts* fittest(Which which) const {
    const MemberFacts* best = nullptr;
    for (const MemberFacts& member : members_) {
      if (!which(member)) continue;
      if (best == nullptr || unfitness(member) < unfitness(*best)) best = &member;
    }
    return best;
  }

  /// The fittest voter that should lead instead of one that is about to go, or runs on a battery,
  /// of those for which `can` holds.
  template <class Can>
  const MemberFacts* heir(Can can) const {
    const auto leader = std::find_if(members_.begin(), members_.end(),
                                     [&](const MemberFacts& m) { return m.id == leader_; });
    if (leader == members_.end() || !(leader->gives_up || leader->on_battery)) return nullptr;
    return fittest([&](const MemberFacts& m) {
      return m.is_voter && m.id != leader_ && !m.gives_up && can(m) &&
             (leader->gives_up || !m.on_battery);
    });
  }

  /// An even number of voters bears no more losses than one less, and stands still more often.
  std::size_t odd_target(std::size_t usable) const {
    const std::size_t present =
        count([](const MemberFacts& m) { return !m.gives_up && (m.is_voter || !is_gone(m)); });
    std::size_t target = wanted_voters(present);
    while (target > 1 && target > usable) target -= 2;
    return target;
  }

  bool is_missing_one() const {
    const std::size_t usable =
        count([](const MemberFacts& m) { return m.is_voter ? !m.gives_up : is_ready(m); });
    return staying_ < odd_target(usable);
  }

  /// A machine that stays on, in the place of one on a battery.
  bool replaces_unfit(const MemberFacts& ready) const {
    if (ready.on_battery || voters_ != staying_) return false;
    return std::any_of(members_.begin(), members_.end(),
                       [](const MemberFacts& m) { return m.is_voter && m.on_battery; }) &&
           voters_ == odd_target(voters_);
  }

  /// A learner that is behind for a moment is no reason for fewer voters.
  std::size_t most_kept() const {
    return odd_target(
        count([](const MemberFacts& m) { return !m.gives_up && (m.is_voter || !is_gone(m)); }));
  }

  /// The others can still commit without it.
  bool is_dispensable(const MemberFacts& voter) const {
    const std::size_t answering =
        count([&](const MemberFacts& m) { return m.is_voter && m.answers && m.id != voter.id; });
    return answering >= (voters_ - 1) / 2 + 1;
  }

  const MemberFacts* least_fit() const {
    const MemberFacts* least = nullptr;
    for (const MemberFacts& member : members_) {
      if (!member.is_voter || member.id == leader_ || !is_dispensable(member)) continue;
      if (least == nullptr || unfitness(*least) < unfitness(member)) least = &member;
    }
    return least;
  }

  const std::vector<MemberFacts>& members_;
  NodeId leader_;
  std::size_t voters_ = 0;
  std::size_t staying_ = 0;
};

}  // namespace

std::size_t wanted_voters(std::size_t members) { return members < 3 ? 1 : members < 7 ? 3 : 5; }

VoterStep next_voter_step(const std::vector<MemberFacts>& members, NodeId leader) {
  return Choice(members, leader).next();
}

}  // namespace gpl::raft
