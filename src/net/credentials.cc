#include "gpl/net/credentials.h"

#include <sys/socket.h>

#include "gpl/posix/error.h"

namespace gpl::net {

Result<Credentials> peer_credentials(int socket) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain != AF_UNIX) {
    return Error{Code::unsupported, "only a Unix socket tells who is at its other end"};
  }
  ucred kernel = {};
  size = sizeof kernel;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &kernel, &size) != 0) {
    return posix::io_error("cannot ask who is at the other end of the socket");
  }
  return Credentials{kernel.pid, kernel.uid, kernel.gid};
}

}  // namespace gpl::net
