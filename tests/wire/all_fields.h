#pragma once

#include "gpl/wire/codec.h"
#include "gpl/wire/command_fields.h"
#include "gpl/wire/raft_fields.h"
#include "gpl/wire/state_fields.h"
#include "gpl/wire/worker_fields.h"

/// What can be encoded: for tests of all of it.
#define GPL_TOP_LEVEL_TYPES                                                    \
  gpl::Command, std::vector<gpl::Command>, gpl::StatePart, gpl::raft::Message, \
      gpl::WorkerToLeader, gpl::LeaderToWorker
