#pragma once

#include "gpl/client/attended_loop.h"
#include "gpl/client/session.h"
#include "gpl/client/voice.h"
#include "gpl/core/result.h"
#include "gpl/wire/client_message.h"

namespace gpl::client {

/// Runs a command inside of a running task, and carries its output to this process's. Returns what
/// to exit with: the command's code, 128+N of a signal, 126 or 127 when it could not be started,
/// 125 when it is lost; 141 when the reader of its output is gone, and 128+N when a signal made
/// this process leave. An Error when it was refused, or the connection is lost: such a command ends
/// with the connection that asked for it. Requires that SIGPIPE is ignored.
///
/// SIGINT, SIGTERM, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on. A second SIGINT, and SIGHUP, end
/// the command by leaving it.
Result<int> exec_in_task(Session& session, const wire::ExecInTask& question,
                         const OutputTargets& targets, const Voice& voice);

}  // namespace gpl::client
