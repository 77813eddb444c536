#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "gpl/core/attempt.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::peer {

/// What clients have the keeper do within running attempts, and who is told about it: input, and
/// commands of `gpl exec`.
class KeeperCalls {
 public:
  using Send = std::function<void(const wire::PeerToKeeper&)>;
  struct ExecTold {
    std::function<void(const wire::from_keeper::ExecGrew&)> grew;
    std::function<void(const Outcome&)> ended;
  };
  using InputTold = std::function<void(std::uint64_t offset)>;

  explicit KeeperCalls(Send send) : send_(std::move(send)) {}

  /// Returns the exec's number.
  std::uint64_t exec(const Fence& attempt, std::vector<std::string> command, ExecTold told);
  void exec_taken(std::uint64_t exec, std::uint64_t bytes);
  void signal_exec(std::uint64_t exec, std::int32_t number);
  /// Nobody is told any more; the command is ended.
  void drop_exec(std::uint64_t exec);

  /// Who gives an attempt its input: one at a time, the last one counts.
  void input(const wire::to_keeper::Input& input, InputTold told);
  void drop_input(const Fence& attempt) { inputs_.erase(attempt); }

  // What the keeper tells.
  void take(const wire::from_keeper::ExecGrew& grew);
  void take(const wire::from_keeper::ExecEnded& ended);
  void take(const wire::from_keeper::InputTaken& taken);
  void keeper_lost();

 private:
  Send send_;
  std::map<std::uint64_t, ExecTold> execs_;
  std::map<Fence, InputTold> inputs_;
  std::uint64_t last_exec_ = 0;
};

}  // namespace gpl::peer
