#include "gpl/raft/progress.h"

#include <algorithm>
#include <utility>

namespace gpl::raft {

bool Progress::may_send(std::size_t inflight_limit) const {
  switch (state_) {
    case State::probe:
      return !asked_;
    case State::replicate:
      return inflight_.size() < inflight_limit;
    case State::snapshot:
      return false;
  }
  return false;
}

void Progress::sent(Index last, bool with_entries, Index commit) {
  told_commit_ = std::max(told_commit_, std::min(commit, last));
  if (state_ == State::probe) asked_ = true;
  if (state_ != State::replicate || !with_entries) return;
  inflight_.push_back(last);
  next_ = last + 1;
}

bool Progress::accepted(Index match) {
  const bool more = match > match_;
  match_ = std::max(match_, match);
  next_ = std::max(next_, match_ + 1);
  while (!inflight_.empty() && inflight_.front() <= match_) inflight_.pop_front();
  if (state_ == State::probe) {
    state_ = State::replicate;
    next_ = match_ + 1;
  }
  return more;
}

void Progress::refused(Index agreed) {
  if (state_ == State::snapshot) return;
  const Index next = std::max(match_, agreed) + 1;
  // What brings nothing new answers a message from before the last step back.
  if (next >= next_) return;
  next_ = next;
  state_ = State::probe;
  asked_ = false;
  inflight_.clear();
}

void Progress::fall_back() {
  state_ = State::probe;
  next_ = match_ + 1;
  asked_ = false;
  inflight_.clear();
  told_commit_ = std::min(told_commit_, match_);
}

void Progress::begin_snapshot(SnapshotMark mark, Moment now) {
  state_ = State::snapshot;
  asked_ = false;
  inflight_.clear();
  sending_ = SnapshotSending{std::move(mark), 0, true, now};
}

void Progress::end_snapshot() {
  sending_.reset();
  state_ = State::replicate;
  next_ = match_ + 1;
}

}  // namespace gpl::raft
