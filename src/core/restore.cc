#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "state.h"
#include "state_audit.h"

namespace gpl {
namespace {

Error damaged(const std::string& what) {
  return Error{Code::invalid, "the snapshot is not one of a state: " + what};
}

/// Takes parts in, each kind in its order.
class Restoring {
 public:
  explicit Restoring(State& state) : state_(state) {}

  Status operator()(StateCounters counters) {
    if (counted_) return damaged("it has two sets of counters");
    counted_ = true;
    state_.counters = counters;
    return success();
  }
  Status operator()(JobsPart part) { return append(state_.jobs, std::move(part.jobs), "jobs"); }
  Status operator()(WaitingPart part) {
    return append(state_.waiting, std::move(part.tasks), "waiting tasks");
  }
  Status operator()(EndedPart part) {
    return append(state_.ended, std::move(part.tasks), "ended tasks");
  }
  Status operator()(RetriedPart part) {
    return append(state_.retried, std::move(part.tasks), "retried tasks");
  }
  Status operator()(AttemptsPart part) {
    return append(state_.attempts, std::move(part.attempts), "attempts");
  }
  Status operator()(FencedPart part) {
    return append(state_.fenced, std::move(part.attempts), "fenced attempts");
  }
  Status operator()(PeersPart part) { return append(state_.peers, std::move(part.peers), "peers"); }

  bool counted() const { return counted_; }

 private:
  template <class Record>
  Status append(PartedTable<Record>& table, std::vector<Record> records, const char* name) {
    for (Record& record : records) {
      if (table.after(key_of(record)) != nullptr || table.find(key_of(record)) != nullptr)
        return damaged(std::string("its ") + name + " do not ascend");
      table.insert(std::move(record));
    }
    return success();
  }

  State& state_;
  bool counted_ = false;
};

}  // namespace

Result<ClusterState> ClusterState::restore(std::vector<StatePart> parts) {
  auto state = std::make_unique<State>();
  Restoring restoring(*state);
  for (StatePart& part : parts) {
    Status taken = std::visit([&](auto& one) { return restoring(std::move(one)); }, part);
    if (!taken.ok()) return taken.error();
  }
  if (!restoring.counted()) return damaged("it has no counters");
  Status sound = audit(*state);
  if (!sound.ok()) return Error{sound.error().code, damaged(sound.error().message).message};
  build_index(*state);
  return ClusterState(std::move(state));
}

}  // namespace gpl
