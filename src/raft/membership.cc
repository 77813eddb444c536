#include "membership.h"

#include "replication.h"

namespace gpl::raft {
namespace {

Error busy(const char* why) { return Error{Code::busy, why}; }

Error invalid(NodeId id, const char* what) {
  return Error{Code::invalid, "node " + std::to_string(id.value) + " " + what};
}

Status may_change(const State& state) {
  if (Status status = may_propose(state); !status) return status;
  if (state.commit < state.lead.noop) {
    return busy("the leader has only begun: its first entry is not committed yet; try again");
  }
  if (state.log.configuration_index() > state.commit) {
    return busy("another change of members is not committed yet; try again");
  }
  return success();
}

void insert(std::vector<NodeId>& ids, NodeId id) {
  ids.insert(std::lower_bound(ids.begin(), ids.end(), id), id);
}

void erase(std::vector<NodeId>& ids, NodeId id) { std::erase(ids, id); }

Result<Index> change(State& state, const Configuration& to) {
  std::string data = encode(to);
  if (data.size() > entry_limit_bytes) {
    return Error{Code::too_large, "so many members do not fit an entry of the log"};
  }
  const Index index = append_own(state, EntryKind::configuration, std::move(data));
  follow_configuration(state);
  return index;
}

}  // namespace

bool has_caught_up(const State& state, NodeId id) {
  const Progress* learner = state.follower(id);
  return learner != nullptr && learner->state() == Progress::State::replicate &&
         learner->last_heard() && learner->is_live(state.now, state.options.election_timeout) &&
         learner->match() >= state.lead.previous_round_last;
}

Status may_propose(const State& state) {
  if (state.role != Role::leader) {
    return busy("this node does not lead; ask the leader");
  }
  if (state.lead.transfer) return busy("the leader is handing over; try again");
  return success();
}

Result<Index> add_learner(State& state, NodeId id) {
  if (Status status = may_change(state); !status) return std::move(status).error();
  if (id == NodeId{}) return invalid(id, "is no node: ids begin at 1");
  if (state.configuration().contains(id)) return invalid(id, "is a member already");
  Configuration to = state.configuration();
  insert(to.learners, id);
  return change(state, to);
}

Result<Index> promote(State& state, NodeId id) {
  if (Status status = may_change(state); !status) return std::move(status).error();
  if (!state.configuration().is_learner(id)) return invalid(id, "is no learner: add it first");
  if (!has_caught_up(state, id)) return busy("the learner has not caught up yet; try again");
  Configuration to = state.configuration();
  erase(to.learners, id);
  insert(to.voters, id);
  return change(state, to);
}

Result<Index> remove(State& state, NodeId id) {
  if (Status status = may_change(state); !status) return std::move(status).error();
  if (!state.configuration().contains(id)) return invalid(id, "is no member");
  Configuration to = state.configuration();
  erase(to.voters, id);
  erase(to.learners, id);
  if (to.voters.empty()) return invalid(id, "is the last voter: promote another one first");
  return change(state, to);
}

void follow_configuration(State& state) {
  const Configuration& configuration = state.configuration();
  std::vector<NodeId> ids;
  for (const auto* members : {&configuration.voters, &configuration.learners}) {
    for (const NodeId id : *members) {
      if (id != state.options.id) insert(ids, id);
    }
  }
  std::vector<Progress> followers;
  followers.reserve(ids.size());
  for (const NodeId id : ids) {
    Progress* known = state.follower(id);
    // Probed from before the newest entry: at the start of a term that is the no-op.
    followers.push_back(known != nullptr ? std::move(*known)
                                         : Progress(id, state.log.last_index() - 1, state.now));
  }
  state.lead.followers = std::move(followers);
}

}  // namespace gpl::raft
