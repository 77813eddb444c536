#pragma once

namespace gpl::net {

/// Sends at once (TCP_NODELAY), and finds out within a minute that a peer is gone (keep-alive).
/// Best effort: a connection without them works.
void set_tcp_options(int socket);

}  // namespace gpl::net
