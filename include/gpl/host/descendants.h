#pragma once

#include <sys/types.h>

#include <vector>

namespace gpl::host {

/// The processes below this one, read from /proc. They can only be those that it started and, when
/// it is a subreaper, those whose parents have ended since. Zombies are left out. Empty where /proc
/// is not mounted.
///
/// `outside_session`: leaves out every process of the caller's own session, with what is below it:
/// children that it inherited through exec and that are none of its attempt's.
std::vector<pid_t> descendants(bool outside_session);

/// Whether `descendants` can see any: /proc is mounted.
bool can_see_processes();

/// Sends `signal_number` to each of `pids` and to its process group when that group is not the
/// caller's: the kernel signals a group as one step, so that a member cannot slip away by forking.
void signal_all(const std::vector<pid_t>& pids, int signal_number);

}  // namespace gpl::host
