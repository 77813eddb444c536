#include "tcp_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace gpl::net {
namespace {

constexpr int keep_alive_idle_s = 4;
constexpr int keep_alive_interval_s = 2;
constexpr int keep_alive_probes = 3;
constexpr int unacknowledged_ms = 10'000;

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

void set_tcp_options(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, keep_alive_idle_s);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, keep_alive_interval_s);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, keep_alive_probes);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, unacknowledged_ms);
}

void allow_stopped_reader(int socket) { set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 0); }

}  // namespace gpl::net
