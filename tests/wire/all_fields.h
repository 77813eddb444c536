#pragma once

#include "gpl/wire/client_fields.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/command_fields.h"
#include "gpl/wire/keeper_fields.h"
#include "gpl/wire/link_fields.h"
#include "gpl/wire/raft_fields.h"
#include "gpl/wire/state_fields.h"
#include "gpl/wire/worker_fields.h"

/// What can be encoded, and of which every value has one encoding: for tests of all of it.
#define GPL_TOP_LEVEL_TYPES                                                    \
  gpl::Command, std::vector<gpl::Command>, gpl::StatePart, gpl::raft::Message, \
      gpl::WorkerToLeader, gpl::LeaderToWorker, gpl::EndedAttempt, gpl::to_worker::Start

/// And what has extensible structs: of a newer gpl it may have more than is taken.
#define GPL_CONVERSATION_TYPES                                               \
  gpl::wire::ClientMessage, gpl::wire::PeerMessage, gpl::wire::PeerToKeeper, \
      gpl::wire::KeeperToPeer, gpl::wire::LinkMessage
