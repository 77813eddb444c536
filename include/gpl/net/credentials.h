#pragma once

#include <sys/types.h>

#include "gpl/core/result.h"

namespace gpl::net {

/// Who made the other end of a Unix socket, at the time of its connect, as the kernel knows it: the
/// process may be gone or another program by now, and its number may be another's. 0 when it
/// is in a process namespace that is not seen from here.
struct Credentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Code::unsupported for what is no Unix socket.
Result<Credentials> peer_credentials(int socket);

}  // namespace gpl::net
