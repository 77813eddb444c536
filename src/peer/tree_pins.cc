#include "gpl/peer/tree_pins.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace gpl::peer {
namespace {

constexpr std::string_view of_jobs = "job-";
constexpr std::string_view of_clients = "client-";

Result<artifact::Pin> pin_of(JobId job, const ContentId& tree) {
  const auto id = artifact::Digest::from_bytes(tree);
  if (!id) {
    return Error{Code::invalid,
                 "the tree of job " + std::to_string(job.value) + " has no id of 32 bytes"};
  }
  return artifact::Pin{*id, std::string(of_jobs) + std::to_string(job.value)};
}

bool before(const artifact::Pin& one, const artifact::Pin& other) {
  return one.id != other.id ? one.id < other.id : one.owner < other.owner;
}

Status set_pins(const artifact::ChunkStore& store, std::vector<artifact::Pin> wanted,
                bool keep_clients) {
  std::sort(wanted.begin(), wanted.end(), before);
  Result<std::vector<artifact::Pin>> there = store.pins();
  if (!there.ok()) return there.error();
  std::vector<artifact::Pin>& pins = there.value();
  std::sort(pins.begin(), pins.end(), before);
  for (const artifact::Pin& pin : wanted) {
    if (std::binary_search(pins.begin(), pins.end(), pin, before)) continue;
    if (Status added = store.pin(pin, posix::Durability::none); !added.ok()) return added;
  }
  for (const artifact::Pin& pin : pins) {
    const bool ours =
        pin.owner.starts_with(of_jobs) || (!keep_clients && pin.owner.starts_with(of_clients));
    if (!ours || std::binary_search(wanted.begin(), wanted.end(), pin, before)) continue;
    if (Status removed = store.unpin(pin); !removed.ok()) return removed;
  }
  return success();
}

}  // namespace

void TreePins::run(std::function<Status()> work, Done done) {
  auto status = std::make_shared<Status>(success());
  strand_.submit([status, work = std::move(work)] { *status = work(); },
                 [status, done = std::move(done)] {
                   if (done) done(std::move(*status));
                 });
}

void TreePins::restore(std::vector<std::pair<JobId, ContentId>> jobs, bool keep_clients,
                       Restored done) {
  auto restored = std::make_shared<Result<std::vector<JobId>>>(std::vector<JobId>());
  strand_.submit(
      [&store = store_, jobs = std::move(jobs), keep_clients, restored] {
        std::map<ContentId, bool> is_whole;  // many jobs run on one tree
        std::vector<artifact::Pin> wanted;
        for (const auto& [job, tree] : jobs) {
          if (tree.empty()) continue;
          Result<artifact::Pin> pin = pin_of(job, tree);
          if (!pin.ok()) {
            *restored = std::move(pin).error();
            return;
          }
          const auto [known, added] = is_whole.try_emplace(tree, false);
          if (added) {
            const Result<bool> whole = store.is_whole(pin.value().id);
            known->second = whole.ok() && whole.value();
          }
          if (!known->second) continue;
          restored->value().push_back(job);
          wanted.push_back(std::move(pin).value());
        }
        if (Status set = set_pins(store, std::move(wanted), keep_clients); !set.ok())
          *restored = std::move(set).error();
      },
      [restored, done = std::move(done)] { done(std::move(*restored)); });
}

void TreePins::pin(JobId job, const ContentId& tree, Done done) {
  run(
      [&store = store_, job, tree]() -> Status {
        if (tree.empty()) return success();
        const Result<artifact::Pin> pin = pin_of(job, tree);
        return pin.ok() ? store.pin(pin.value(), posix::Durability::none) : pin.error();
      },
      std::move(done));
}

void TreePins::unpin(JobId job, const ContentId& tree, Done done) {
  run(
      [&store = store_, job, tree]() -> Status {
        if (tree.empty()) return success();
        const Result<artifact::Pin> pin = pin_of(job, tree);
        return pin.ok() ? store.unpin(pin.value()) : pin.error();
      },
      std::move(done));
}

void TreePins::then(std::function<void()> told) {
  strand_.submit([] {}, std::move(told));
}

void TreePins::after_pins(std::function<void()> work) { strand_.submit(std::move(work), {}); }

}  // namespace gpl::peer
