#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/job_description.h"
#include "gpl/core/job_state.h"
#include "gpl/core/peer_offer.h"
#include "gpl/core/worker_message.h"

/// What a peer and its keeper say to each other over the keeper's Unix socket, one message a frame.
/// The keeper outlives the peer, and may be of an older gpl: both begin with a hello.
namespace gpl::wire {

/// The first message of either side.
struct KeeperHello {
  std::uint32_t oldest_protocol = 1;
  std::uint32_t newest_protocol = 1;
  std::string version;   ///< of gpl, for people
  std::string instance;  ///< of the keeper: boot id, pid namespace, a number; "" of a peer
  friend bool operator==(const KeeperHello&, const KeeperHello&) = default;
};
inline constexpr std::uint32_t keeper_protocol = 1;

enum class OutputStream : std::uint8_t { out = 0, err = 1 };

/// A secret of a job: goes into its environment, and nowhere on disk.
struct Secret {
  std::string name;
  std::string value;
  friend bool operator==(const Secret&, const Secret&) = default;
};

namespace to_keeper {

/// What the leader says to this worker.
struct FromLeader {
  LeaderToWorker message;
  friend bool operator==(const FromLeader&, const FromLeader&) = default;
};
/// What was said to the leader may be lost, or another one leads.
struct SessionLost {
  friend bool operator==(const SessionLost&, const SessionLost&) = default;
};
struct OfferChanged {
  PeerOffer offer;
  friend bool operator==(const OfferChanged&, const OfferChanged&) = default;
};
/// Answers Prepare: the attempt's `work` folder is whole, or there is nothing to stage. It may also
/// come before the order to start does: then nothing is asked.
struct Prepared {
  Fence attempt;
  std::vector<Secret> secrets;
  bool followed = false;  ///< as in Follow, from the start
  friend bool operator==(const Prepared&, const Prepared&) = default;
};
/// Answers Prepare: it cannot be. The attempt ends so.
struct NotPrepared {
  Fence attempt;
  FailedToStart failure;
  friend bool operator==(const NotPrepared&, const NotPrepared&) = default;
};
/// Tell how its output grows (Grew), at once and from now on; or no more.
struct Watch {
  Fence attempt;
  bool on = true;
  friend bool operator==(const Watch&, const Watch&) = default;
};
/// Somebody follows the output, and has these many bytes of each stream: of the rest none may be
/// dropped, so at the cap the job waits. `on` false: nobody does any more, head and tail are kept.
struct Follow {
  Fence attempt;
  bool on = true;
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  friend bool operator==(const Follow&, const Follow&) = default;
};
/// To the process group of the attempt's first process.
struct Signal {
  Fence attempt;
  std::int32_t number = 0;
  friend bool operator==(const Signal&, const Signal&) = default;
};
/// For a job with pass_stdin; in order, from offset 0 on. Answered with InputTaken. What is at an
/// offset that was taken before is passed over.
struct Input {
  Fence attempt;
  std::uint64_t offset = 0;
  std::string data;
  bool end = false;
  friend bool operator==(const Input&, const Input&) = default;
};
/// A command within a running attempt: its environment, working folder and devices, below its
/// guard's parent; ended with the attempt. Answered with ExecGrew and ExecEnded. `exec` is a number
/// that the peer has not used with this keeper connection before.
struct Exec {
  Fence attempt;
  std::uint64_t exec = 0;
  std::vector<std::string> command;
  friend bool operator==(const Exec&, const Exec&) = default;
};
struct ExecSignal {
  std::uint64_t exec = 0;
  std::int32_t number = 0;  ///< 0: nobody wants it any more; it is ended, and told of no more
  friend bool operator==(const ExecSignal&, const ExecSignal&) = default;
};
/// So many bytes of what the command wrote have been taken: at most `exec_window_bytes` are on
/// their way.
struct ExecTaken {
  std::uint64_t exec = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const ExecTaken&, const ExecTaken&) = default;
};
inline constexpr std::uint64_t exec_window_bytes = std::uint64_t{256} * 1024;
/// Its results have been settled: the keeper removes the attempt's folder.
struct Discard {
  Fence attempt;
  friend bool operator==(const Discard&, const Discard&) = default;
};
/// End, once no attempt is live.
struct Retire {
  friend bool operator==(const Retire&, const Retire&) = default;
};

}  // namespace to_keeper

namespace from_keeper {

struct ToLeader {
  WorkerToLeader message;
  friend bool operator==(const ToLeader&, const ToLeader&) = default;
};
/// The attempt's turn has come; its folder is made, with an empty `work`. Told again to every peer
/// that connects until it is answered.
struct Prepare {
  Fence attempt;
  JobId job;
  TaskId task;
  ContentId tree;  ///< "": nothing to stage
  friend bool operator==(const Prepare&, const Prepare&) = default;
};
/// All attempts there are have been told since the peer connected.
struct Listed {
  friend bool operator==(const Listed&, const Listed&) = default;
};
/// So much of each stream is in the attempt's files. After `ended` they grow no more: told with
/// every Ended, watched or not.
struct Grew {
  Fence attempt;
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  bool ended = false;  ///< its exit is on disk
  friend bool operator==(const Grew&, const Grew&) = default;
};
/// So many bytes of input have been handed to the job; a job that has closed it takes all.
struct InputTaken {
  Fence attempt;
  std::uint64_t offset = 0;
  friend bool operator==(const InputTaken&, const InputTaken&) = default;
};
/// Its exit is on disk (synced). Told of each attempt as it ends, and at a peer's connect of all
/// that were not discarded.
struct Ended {
  Fence attempt;
  JobId job;
  TaskId task;
  Outcome outcome;
  std::optional<Instant> started_at;  ///< nothing: it never ran
  friend bool operator==(const Ended&, const Ended&) = default;
};
/// The attempt runs; at a peer's connect, of all that do.
struct Running {
  Fence attempt;
  JobId job;
  TaskId task;
  std::int32_t pid = 0;  ///< of its first process; 0: it is about to start
  friend bool operator==(const Running&, const Running&) = default;
};
struct ExecGrew {
  std::uint64_t exec = 0;
  OutputStream stream = OutputStream::out;
  std::string data;
  friend bool operator==(const ExecGrew&, const ExecGrew&) = default;
};
struct ExecEnded {
  std::uint64_t exec = 0;
  Outcome outcome;
  friend bool operator==(const ExecEnded&, const ExecEnded&) = default;
};
/// For the peer's log: what went wrong here and was survived.
struct KeeperNote {
  std::string text;
  friend bool operator==(const KeeperNote&, const KeeperNote&) = default;
};

}  // namespace from_keeper

using PeerToKeeper =
    std::variant<KeeperHello, to_keeper::FromLeader, to_keeper::SessionLost,
                 to_keeper::OfferChanged, to_keeper::Prepared, to_keeper::NotPrepared,
                 to_keeper::Watch, to_keeper::Follow, to_keeper::Signal, to_keeper::Input,
                 to_keeper::Exec, to_keeper::ExecSignal, to_keeper::ExecTaken, to_keeper::Discard,
                 to_keeper::Retire>;
using KeeperToPeer =
    std::variant<KeeperHello, from_keeper::ToLeader, from_keeper::Prepare, from_keeper::Grew,
                 from_keeper::InputTaken, from_keeper::Ended, from_keeper::Running,
                 from_keeper::ExecGrew, from_keeper::ExecEnded, from_keeper::KeeperNote,
                 from_keeper::Listed>;

}  // namespace gpl::wire
