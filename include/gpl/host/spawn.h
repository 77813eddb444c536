#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::host {

/// What a job's first process is made of. Strings are bytes without NUL.
struct Command {
  std::vector<std::string> argv;         ///< at least one word
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::string working_folder;            ///< absolute
};

/// Descriptors that become the process's 0, 1 and 2.
struct Stdio {
  int in = -1;
  int out = -1;
  int err = -1;
};

/// Why a command did not start: an errno value, and whether it is 126 or 127 to a shell.
struct SpawnFailure {
  int errno_value = 0;
  int exit_status = 127;  ///< 126 found but not executable, 127 not found
};

/// The path that execvp(3) would run in the command's working folder: `argv[0]` itself when it
/// holds a slash, else the first executable file of that name on the command's own PATH. A file
/// that is there without permission gives EACCES, nothing at all ENOENT.
struct Program {
  std::string path;
  SpawnFailure failure;  ///< errno_value 0: found
};
Program find_program(const Command& command);

/// Starts `program` in a new session and process group, all signals unblocked and at their
/// default, SIGKILLed by the kernel when the calling process ends, with no descriptors but 0, 1, 2.
/// Every other descriptor of the caller must be close-on-exec. A file that is no binary and has no
/// #! line is run by /bin/sh, as execvp(3) does. Returns the pid, or -1 with `failure` filled.
/// The caller is stopped only until exec (vfork), however large it is; it must be single-threaded.
pid_t spawn(const std::string& program, const Command& command, const Stdio& stdio,
            SpawnFailure& failure);

}  // namespace gpl::host
