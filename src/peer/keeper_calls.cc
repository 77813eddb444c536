#include "gpl/peer/keeper_calls.h"

#include <utility>

namespace gpl::peer {

std::uint64_t KeeperCalls::exec(const Fence& attempt, std::vector<std::string> command,
                                ExecTold told) {
  const std::uint64_t exec = ++last_exec_;
  execs_.emplace(exec, std::move(told));
  send_(wire::to_keeper::Exec{attempt, exec, std::move(command)});
  return exec;
}

void KeeperCalls::exec_taken(std::uint64_t exec, std::uint64_t bytes) {
  if (execs_.contains(exec)) send_(wire::to_keeper::ExecTaken{exec, bytes});
}

void KeeperCalls::signal_exec(std::uint64_t exec, std::int32_t number) {
  if (execs_.contains(exec)) send_(wire::to_keeper::ExecSignal{exec, number});
}

void KeeperCalls::drop_exec(std::uint64_t exec) {
  if (execs_.erase(exec) > 0) send_(wire::to_keeper::ExecSignal{exec, 0});
}

void KeeperCalls::input(const wire::to_keeper::Input& input, InputTold told) {
  inputs_[input.attempt] = std::move(told);
  send_(input);
}

void KeeperCalls::take(const wire::from_keeper::ExecGrew& grew) {
  if (const auto entry = execs_.find(grew.exec); entry != execs_.end()) entry->second.grew(grew);
}

void KeeperCalls::take(const wire::from_keeper::ExecEnded& ended) {
  const auto entry = execs_.find(ended.exec);
  if (entry == execs_.end()) return;
  const ExecTold told = std::move(entry->second);
  execs_.erase(entry);
  told.ended(ended.outcome);
}

void KeeperCalls::take(const wire::from_keeper::InputTaken& taken) {
  if (const auto entry = inputs_.find(taken.attempt); entry != inputs_.end()) {
    const InputTold told = entry->second;
    told(taken.offset);
  }
}

/// Commands end with the connection; input is told again by who has it.
void KeeperCalls::keeper_lost() {
  inputs_.clear();
  for (const auto& [exec, told] : std::exchange(execs_, {}))
    told.ended(Lost{"the connection to the keeper was lost"});
}

}  // namespace gpl::peer
