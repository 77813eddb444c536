#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/store/committer.h"
#include "gpl/store/disk.h"

namespace gpl::peer::test {

/// A Committer that performs nothing before the test says so: one step, one piece of work, or all
/// that is in a lane.
class HandCommitter final : public store::Committer {
 public:
  explicit HandCommitter(store::Disk& disk) : disk_(disk) {}

  void submit(Lane lane, std::vector<store::Operation> operations, Done done) override {
    auto source = [operations = std::move(operations),
                   next = std::size_t{0}]() mutable -> Result<std::optional<store::Operation>> {
      if (next == operations.size()) return std::optional<store::Operation>();
      return std::optional<store::Operation>(std::move(operations[next++]));
    };
    submit(lane, Source(std::move(source)), std::move(done));
  }
  void submit(Lane lane, Source source, Done done) override {
    works(lane).push_back({std::move(source), std::move(done)});
  }

  /// Pieces of work that have not been told to be done.
  std::size_t waiting(Lane lane) const { return lane == Lane::log ? log_.size() : rest_.size(); }
  bool idle() const { return log_.empty() && rest_.empty(); }

  /// Performs the next operation, or tells that the piece of work is done. False: nothing to do.
  bool step(Lane lane) {
    auto& queue = works(lane);
    if (queue.empty()) return false;
    auto operation = queue.front().source();
    if (!operation.ok()) {
      finish(lane, std::move(operation).error());
    } else if (!operation.value()) {
      finish(lane, success());
    } else {
      performed_.push_back(*operation.value());
      Status status = disk_.perform(performed_.back());
      if (!status.ok()) finish(lane, std::move(status));
    }
    return true;
  }
  /// Up to the end of the first piece of work.
  void run_one(Lane lane) {
    const std::size_t finished = finished_;
    while (finished_ == finished && step(lane)) {
    }
  }
  /// Until the lane is empty, with what is submitted meanwhile.
  void run(Lane lane) {
    while (step(lane)) {
    }
  }
  void run_all() {
    while (!idle()) {
      run(Lane::log);
      run(Lane::background);
    }
  }

  /// In order of both lanes together; failed ones too.
  const std::vector<store::Operation>& performed() const { return performed_; }
  template <class Kind>
  std::size_t count() const {
    std::size_t found = 0;
    for (const auto& operation : performed_)
      if (std::holds_alternative<Kind>(operation)) ++found;
    return found;
  }

 private:
  struct Work {
    Source source;
    Done done;
  };

  std::deque<Work>& works(Lane lane) { return lane == Lane::log ? log_ : rest_; }
  void finish(Lane lane, Status status) {
    const Done done = std::move(works(lane).front().done);
    works(lane).pop_front();
    ++finished_;
    done(std::move(status));
  }

  store::Disk& disk_;
  std::deque<Work> log_;
  std::deque<Work> rest_;
  std::vector<store::Operation> performed_;
  std::size_t finished_ = 0;
};

inline constexpr auto log_lane = store::Committer::Lane::log;
inline constexpr auto background = store::Committer::Lane::background;

}  // namespace gpl::peer::test
