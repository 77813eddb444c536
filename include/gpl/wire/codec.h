#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/command.h"
#include "gpl/core/result.h"
#include "gpl/core/state_part.h"
#include "gpl/core/worker_message.h"
#include "gpl/raft/message.h"
#include "gpl/wire/client_message.h"
#include "gpl/wire/keeper_message.h"
#include "gpl/wire/link_message.h"

/// The model as bytes, in msgpack, after one byte that says which format this is. Values are what
/// the model's structs are: see write.h and read.h for the forms and NOUN_fields.h for the fields.
///
/// Of a value there is one encoding, and `decode` takes no other: what it takes is encoded again as
/// it was. It refuses unknown fields, alternatives and enumerators, since state machines that
/// differ in what they understand would differ in their state. So the log's structs never change:
/// something new is a new alternative at the end of its variant, admitted by the cluster's feature
/// level once every peer understands it (command.h), and old logs are read as ever. Only some of
/// what clients, peers and keepers tell each other is extensible (fields.h): there a newer gpl may
/// send more, which is passed over.
namespace gpl::wire {

/// The first byte of whatever `encode` makes.
inline constexpr char format = 1;

/// T is one of: Command; std::vector<Command>, the commands of one log entry; StatePart, a piece of
/// a snapshot; raft::Message; WorkerToLeader; LeaderToWorker; PeerToKeeper; KeeperToPeer;
/// EndedAttempt and to_worker::Start, as a keeper has them on disk; ClientMessage; PeerMessage;
/// LinkMessage.
/// Requires what the types require (enumerators with a name, tasks in order, a description of every
/// job), and less than 4 GiB.
template <class T>
std::string encode(const T& value);

/// Safe with bytes from anyone: takes about linear time, at most 256 bytes of memory for each byte,
/// and recurses no deeper than T's types are nested. Code::invalid, or Code::unsupported for
/// another format, with what, where and why: "command: field 3 of submit: expected a string, found
/// a number at byte 17".
template <class T>
Result<T> decode(std::string_view bytes);

extern template std::string encode(const Command&);
extern template Result<Command> decode(std::string_view);
extern template std::string encode(const std::vector<Command>&);
extern template Result<std::vector<Command>> decode(std::string_view);
extern template std::string encode(const StatePart&);
extern template Result<StatePart> decode(std::string_view);
extern template std::string encode(const raft::Message&);
extern template Result<raft::Message> decode(std::string_view);
extern template std::string encode(const WorkerToLeader&);
extern template Result<WorkerToLeader> decode(std::string_view);
extern template std::string encode(const LeaderToWorker&);
extern template Result<LeaderToWorker> decode(std::string_view);
extern template std::string encode(const PeerToKeeper&);
extern template Result<PeerToKeeper> decode(std::string_view);
extern template std::string encode(const KeeperToPeer&);
extern template Result<KeeperToPeer> decode(std::string_view);
extern template std::string encode(const EndedAttempt&);
extern template Result<EndedAttempt> decode(std::string_view);
extern template std::string encode(const to_worker::Start&);
extern template Result<to_worker::Start> decode(std::string_view);

extern template std::string encode(const ClientMessage&);
extern template Result<ClientMessage> decode(std::string_view);
extern template std::string encode(const PeerMessage&);
extern template Result<PeerMessage> decode(std::string_view);
extern template std::string encode(const LinkMessage&);
extern template Result<LinkMessage> decode(std::string_view);

}  // namespace gpl::wire
