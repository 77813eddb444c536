#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpl/core/command.h"
#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/core/worker_message.h"
#include "gpl/raft/message.h"
#include "gpl/wire/keeper_message.h"

/// What two peers say to each other on their link, one message a frame. Any may be lost with the
/// link; a question carries a number of the asker's own.
namespace gpl::wire {

/// The first message of either side. A newer gpl may send more.
struct LinkHello {
  PeerId peer;
  std::uint64_t cluster = 0;  ///< 0: it wants to join the other's
  std::string name;           ///< of the machine
  std::string version;        ///< of gpl, for people
  std::uint64_t process =
      0;  ///< drawn when the process began: a copy of a state folder has another
  Instant process_began;
  std::uint16_t port = 0;   ///< where it listens; 0: nowhere
  bool on_battery = false;  ///< a laptop, plugged in or not: no good voter
  bool wireless = false;    ///< its default route is by radio
  friend bool operator==(const LinkHello&, const LinkHello&) = default;
};
/// The other side is not taken as a peer; the link ends with it.
struct LinkRefused {
  std::string why;  ///< for a person
  friend bool operator==(const LinkRefused&, const LinkRefused&) = default;
};
struct Ping {
  std::uint64_t number = 0;
  friend bool operator==(const Ping&, const Ping&) = default;
};
struct Pong {
  std::uint64_t number = 0;
  friend bool operator==(const Pong&, const Pong&) = default;
};
/// Peers of the cluster, and where they have been reached: hints.
struct KnownPeer {
  PeerId peer;
  std::string name;
  std::vector<std::string> addresses;  ///< as net::parse_peer_address takes them, the best first
  friend bool operator==(const KnownPeer&, const KnownPeer&) = default;
};
struct KnownPeers {
  std::vector<KnownPeer> peers;
  friend bool operator==(const KnownPeers&, const KnownPeers&) = default;
};
struct RaftSays {
  raft::Message message;
  friend bool operator==(const RaftSays&, const RaftSays&) = default;
};
struct WorkerSays {
  WorkerToLeader message;
  friend bool operator==(const WorkerSays&, const WorkerSays&) = default;
};
struct LeaderSays {
  LeaderToWorker message;
  friend bool operator==(const LeaderSays&, const LeaderSays&) = default;
};
/// To the leader. Answered with Proposed once it is in its log, or NotProposed.
struct Propose {
  std::uint64_t number = 0;
  Command command;
  friend bool operator==(const Propose&, const Propose&) = default;
};
struct Proposed {
  std::uint64_t number = 0;
  raft::Index index = 0;
  raft::Term term = 0;
  friend bool operator==(const Proposed&, const Proposed&) = default;
};
struct NotProposed {
  std::uint64_t number = 0;
  bool again = true;  ///< it does not lead, or hands over; else it never will be
  std::string why;
  friend bool operator==(const NotProposed&, const NotProposed&) = default;
};
/// To the leader: the sender's process is about to end, and gives up its vote; or it leaves the
/// cluster for good. Answered with GivenUp once that is committed.
struct GiveUp {
  bool leave = false;
  friend bool operator==(const GiveUp&, const GiveUp&) = default;
};
struct GivenUp {
  friend bool operator==(const GivenUp&, const GivenUp&) = default;
};
/// Does the asked peer have this? Answered with Has.
enum class Holding : std::uint8_t {
  tree = 0,     ///< whole; key: its id
  secrets = 1,  ///< key: the request's two numbers, 8 bytes each, little-endian
  output = 2,   ///< of a job; key: its number in decimal
  results = 3,  ///< the same: files that wait to be fetched
};
struct DoYouHave {
  std::uint64_t number = 0;
  Holding what = Holding::tree;
  std::string key;
  friend bool operator==(const DoYouHave&, const DoYouHave&) = default;
};
struct Has {
  std::uint64_t number = 0;
  bool yes = false;
  friend bool operator==(const Has&, const Has&) = default;
};
/// The asked peer is to be a second holder of a tree, and of a job's secrets: it fetches what of
/// the tree it lacks from the asker. Answered with Held once it has them, on disk.
struct Hold {
  std::uint64_t number = 0;
  RequestId request;
  ContentId tree;  ///< "": none
  std::vector<Secret> secrets;
  friend bool operator==(const Hold&, const Hold&) = default;
};
struct Held {
  std::uint64_t number = 0;
  std::string failed;  ///< why not; "": it has
  friend bool operator==(const Held&, const Held&) = default;
};
/// Of a job that is to run on the asker. Answered with SecretsAre.
struct AskSecrets {
  std::uint64_t number = 0;
  RequestId request;
  friend bool operator==(const AskSecrets&, const AskSecrets&) = default;
};
struct SecretsAre {
  std::uint64_t number = 0;
  bool found = false;
  std::vector<Secret> secrets;
  friend bool operator==(const SecretsAre&, const SecretsAre&) = default;
};
/// The asked peer is to dial the asker, who cannot dial it: a connection of Purpose::callback, on
/// which the asker asks.
struct CallBack {
  friend bool operator==(const CallBack&, const CallBack&) = default;
};

using LinkMessage =
    std::variant<LinkHello, LinkRefused, Ping, Pong, KnownPeers, RaftSays, WorkerSays, LeaderSays,
                 Propose, Proposed, NotProposed, GiveUp, GivenUp, DoYouHave, Has, Hold, Held,
                 AskSecrets, SecretsAre, CallBack>;

}  // namespace gpl::wire
