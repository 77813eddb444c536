#include "gpl/host/outcome.h"

#include <sys/wait.h>

#include <cerrno>
#include <utility>

#include "gpl/posix/error.h"

namespace gpl::host {

Outcome outcome_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return Signalled{WTERMSIG(wait_status), WCOREDUMP(wait_status) != 0};
  }
  return Exited{WEXITSTATUS(wait_status)};
}

FailedToStart failure_of(const std::string& program, const SpawnFailure& failure) {
  std::string message = program + ": ";
  if (failure.exit_status == 127) {
    message += program.find('/') == std::string::npos ? "command not found on the job's PATH"
                                                      : posix::errno_text(failure.errno_value);
  } else if (failure.errno_value == ENOENT) {
    message += "its interpreter (the #! line) or its loader does not exist";
  } else {
    message += "cannot be run: " + posix::errno_text(failure.errno_value);
  }
  return FailedToStart{failure.errno_value, failure.exit_status, std::move(message)};
}

}  // namespace gpl::host
