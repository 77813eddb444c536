#pragma once

namespace gpl::net {

/// Sends at once (TCP_NODELAY), and finds out within about 10 s that a peer is gone: by keep-alive
/// when nothing is on its way (SO_KEEPALIVE), else because what is sent is not acknowledged
/// (TCP_USER_TIMEOUT). Best effort: a connection without them works.
void set_tcp_options(int socket);

/// For a peer that may be stopped with data on its way to it, as a person stops a command: a
/// TCP_USER_TIMEOUT ends such a connection too, although the peer is there. Without it a peer that
/// is gone with data on its way is noticed by the system's count of retries, in about 15 min.
void allow_stopped_reader(int socket);

}  // namespace gpl::net
