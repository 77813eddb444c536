#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/loop.h"
#include "gpl/net/secure_socket.h"
#include "gpl/posix/fd.h"
#include "gpl/wire/frame.h"

namespace gpl::net {

/// Why a connection is no more.
enum class CloseCause {
  here,       ///< closed on this side, all written and taken if `close_after_writing` said so
  peer,       ///< closed by the peer, between two frames
  cut_short,  ///< closed by the peer, in the middle of a frame
  bad_frame,  ///< the peer sent what is no frame, or one over the limit, or a forged record
  too_slow,   ///< the peer read too little: `queue_limit_bytes`, or `farewell` passed
  failed,     ///< the system said no: reset, timed out, no memory
};

struct Closing {
  CloseCause cause = CloseCause::here;
  std::string
      message;  ///< for the log, without the peer's name: "reading: Connection reset by peer"
};

struct ConnectionOptions {
  /// A payload over this ends the connection. A stranger's, until `set_frame_limit`.
  std::size_t frame_limit_bytes = wire::hello_limit_bytes;
  /// Once more than this is queued and the system takes no more, the next `send` ends the
  /// connection as too slow. A frame of any size is queued below it.
  std::size_t queue_limit_bytes = std::size_t{64} * 1024 * 1024;
  /// `pressure(true)` once more than this is queued, `pressure(false)` once no more than the other
  /// is.
  std::size_t high_water_bytes = std::size_t{1024} * 1024;
  std::size_t low_water_bytes = std::size_t{256} * 1024;
  /// How long `close_after_writing` waits for the peer to take what is queued, and to close too.
  Duration farewell = seconds(5);
};

/// One stream socket that carries frames (wire/frame.h), Unix or TCP. It never blocks, and its
/// memory is bounded by its limits. Idle it holds no buffers.
///
/// Callbacks come from the loop alone, never from within a call on the connection. A callback may
/// drop the connection, which says nothing more then: only dropping it ends it without `closed`.
class Connection {
 public:
  struct Told {
    /// A whole payload, never empty; live until the callback returns.
    std::function<void(std::string_view payload)> frame;
    /// Exactly once, as the last, at the end of the turn. The frames that the peer sent before it
    /// closed, or broke, have been told.
    std::function<void(const Closing& closing)> closed;
    /// May be empty. True: stop making more for this peer; false: go on.
    std::function<void(bool high)> pressure;
  };

  /// Takes a connected stream socket. Code::io when the system cannot watch it.
  static Result<Connection> adopt(Loop& loop, posix::Fd socket, ConnectionOptions options,
                                  Told told);
  /// The same over a channel: all bytes are sealed and opened, which is not seen otherwise.
  static Result<Connection> adopt(Loop& loop, SecureSocket socket, ConnectionOptions options,
                                  Told told);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  /// Queues one frame; it is written at the end of the turn with all others, by one call. Requires
  /// 1 to wire::frame_limit_bytes bytes. Dropped when `open()` is false.
  void send(std::string payload);

  /// Not yet taken by the system, headers included.
  std::size_t queued_bytes() const;
  /// Whether `send` still has a sense: not closed or closing, and the peer still reads.
  bool open() const;

  /// Frames stay with the system, and the peer is held back by that. Within `frame` the current
  /// frame is the last. That the peer is gone may not be seen meanwhile.
  void pause();
  void resume();
  /// Holds for the frames that have not yet been told.
  void set_frame_limit(std::size_t bytes);

  /// At once; what is queued is dropped.
  void close();
  /// Once the peer has been given all that is queued; what it sends meanwhile is dropped.
  void close_after_writing();

  /// For peer_credentials() and addresses. -1 once it is closed.
  int descriptor() const;

 private:
  struct State;
  explicit Connection(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace gpl::net
