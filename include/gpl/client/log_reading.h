#pragma once

#include <optional>

#include "gpl/client/attended_loop.h"
#include "gpl/client/session.h"
#include "gpl/client/voice.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/wire/client_message.h"

namespace gpl::client {

/// What of a job's output is read.
struct LogWish {
  JobId job;
  std::optional<TaskId> task;
  std::optional<wire::OutputStream> only;
  bool follow = false;  ///< to the job's end; else what there is now
  OutputTargets targets;
};

/// Writes a job's output to this process's own, and says where some of it was left out. Returns 0;
/// 141 when the reader has gone. The job notices nothing of it. Requires that SIGPIPE is ignored.
Result<int> read_log(Session& session, const LogWish& wish, const Voice& voice);

}  // namespace gpl::client
