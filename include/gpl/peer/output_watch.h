#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "gpl/core/attempt.h"
#include "gpl/core/id.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::peer {

/// Whose output is looked at, by how many: tells the keeper to say how it grows while somebody
/// does, and to drop nothing that an attached client has not been given.
class OutputWatch {
 public:
  using Send = std::function<void(const wire::PeerToKeeper&)>;
  using Number = std::uint64_t;

  /// `abandoned`: the last attached client of a job has gone; may be empty.
  explicit OutputWatch(Send send, std::function<void(JobId)> abandoned = {})
      : send_(std::move(send)), abandoned_(std::move(abandoned)) {}

  // Jobs that attached clients follow, whether an attempt runs or not.
  void attach(JobId job);
  void detach(JobId job);
  bool is_attached(JobId job) const { return attached_.contains(job); }
  /// It was attached, and is no more.
  bool is_abandoned(JobId job) const { return once_attached_.contains(job) && !is_attached(job); }
  /// The job has ended: that it was attached is of no interest any more.
  void forget(JobId job) { once_attached_.erase(job); }

  // Who looks at one attempt's output.
  /// `has`: how much of each stream it has been given already.
  struct Given {
    std::uint64_t out_bytes = 0;
    std::uint64_t err_bytes = 0;
  };
  [[nodiscard]] Number begin(const Fence& attempt, bool attached, Given has);
  void given(Number number, Given has);
  void end(Number number);

  /// Somebody looks at it.
  bool is_watched(const Fence& attempt) const { return by_attempt_.contains(attempt); }

  /// A keeper that has just been connected knows nothing of this.
  void tell_all();

 private:
  struct Watcher {
    Fence attempt;
    bool attached = false;
    Given has;
  };
  void tell_follow(const Fence& attempt, bool may_wait);

  Send send_;
  std::function<void(JobId)> abandoned_;
  std::multiset<JobId> attached_;
  std::set<JobId> once_attached_;
  std::map<Number, Watcher> watchers_;
  std::map<Fence, std::set<Number>> by_attempt_;
  std::map<Fence, Given> told_;  ///< of those that are followed
  Number last_ = 0;
};

}  // namespace gpl::peer
