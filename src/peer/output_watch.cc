#include "gpl/peer/output_watch.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace gpl::peer {
namespace {

/// So far behind what a client has been given the keeper may be.
constexpr std::uint64_t step_bytes = 64 * 1024;

}  // namespace

void OutputWatch::attach(JobId job) {
  attached_.insert(job);
  once_attached_.insert(job);
}

void OutputWatch::detach(JobId job) {
  const auto at = attached_.find(job);
  if (at == attached_.end()) return;
  attached_.erase(at);
  if (abandoned_ && !is_attached(job)) abandoned_(job);
}

OutputWatch::Number OutputWatch::begin(const Fence& attempt, bool attached, Given has) {
  const Number number = ++last_;
  watchers_.emplace(number, Watcher{attempt, attached, has});
  by_attempt_[attempt].insert(number);
  if (attached) tell_follow(attempt, false);
  send_(wire::to_keeper::Watch{attempt, true});
  return number;
}

void OutputWatch::given(Number number, Given has) {
  Watcher& watcher = watchers_.at(number);
  watcher.has = has;
  if (watcher.attached) tell_follow(watcher.attempt, true);
}

void OutputWatch::end(Number number) {
  const auto entry = watchers_.find(number);
  if (entry == watchers_.end()) return;
  const Watcher watcher = entry->second;
  watchers_.erase(entry);
  const auto attempt = by_attempt_.find(watcher.attempt);
  attempt->second.erase(number);
  const bool last = attempt->second.empty();
  if (last) by_attempt_.erase(attempt);
  if (watcher.attached) tell_follow(watcher.attempt, false);
  if (last) send_(wire::to_keeper::Watch{watcher.attempt, false});
}

/// What every attached client has been given may go; without any, nothing need be kept for one.
void OutputWatch::tell_follow(const Fence& attempt, bool may_wait) {
  std::optional<Given> least;
  if (const auto numbers = by_attempt_.find(attempt); numbers != by_attempt_.end()) {
    for (const Number number : numbers->second) {
      const Watcher& watcher = watchers_.at(number);
      if (!watcher.attached) continue;
      if (!least) least = watcher.has;
      least->out_bytes = std::min(least->out_bytes, watcher.has.out_bytes);
      least->err_bytes = std::min(least->err_bytes, watcher.has.err_bytes);
    }
  }
  if (!least) {
    if (told_.erase(attempt) > 0) send_(wire::to_keeper::Follow{attempt, false, 0, 0});
    return;
  }
  const auto told = told_.find(attempt);
  if (may_wait && told != told_.end() && least->out_bytes < told->second.out_bytes + step_bytes &&
      least->err_bytes < told->second.err_bytes + step_bytes)
    return;
  told_[attempt] = *least;
  send_(wire::to_keeper::Follow{attempt, true, least->out_bytes, least->err_bytes});
}

void OutputWatch::tell_all() {
  told_.clear();
  for (const auto& [attempt, numbers] : by_attempt_) {
    tell_follow(attempt, false);
    send_(wire::to_keeper::Watch{attempt, true});
  }
}

}  // namespace gpl::peer
