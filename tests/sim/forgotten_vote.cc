#include "sim/forgotten_vote.h"

#include <string>
#include <utility>
#include <vector>

namespace gpl::sim {

namespace {

void perform(SimDisk& disk, const std::vector<store::Operation>& operations) {
  for (const auto& operation : operations) static_cast<void>(disk.perform(operation));
}

void copy_file(SimDisk& from, SimDisk& to, const std::string& name) {
  const auto bytes = from.read(name, 0, from.size(name).value()).value();
  perform(to, {store::Write{name, 0, bytes}, store::Sync{name}});
}

}  // namespace

void forget_vote(SimDisk& disk, const raft::Configuration& bootstrap, store::WalOptions options) {
  SimDisk old = disk;
  old.power_on();
  auto opened = store::Wal::open(old, bootstrap, options);
  if (!opened.ok() || opened.value().restored.hard_state.vote == raft::NodeId{}) return;
  auto& [wal, restored, snapshot_name, notes] = opened.value();
  SimDisk fresh = disk;
  fresh.power_on();
  const auto names = fresh.list().value();
  for (const auto& name : names) perform(fresh, {store::Remove{name}});
  auto anew = store::Wal::open(fresh, bootstrap, options);
  if (!anew.ok()) return;
  if (!snapshot_name.empty()) {
    copy_file(old, fresh, snapshot_name);
    perform(fresh, anew.value().wal.replace(restored.snapshot));
  }
  auto hard_state = restored.hard_state;
  hard_state.vote = {};
  perform(fresh, anew.value().wal.append({{1, hard_state, std::move(restored.entries)}}));
  disk = std::move(fresh);
}

}  // namespace gpl::sim
