#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpl/net/connection.h"
#include "gpl/net/timer.h"
#include "gpl/net/watch.h"
#include "gpl/wire/frame.h"
#include "loop_state.h"
#include "outgoing.h"

namespace gpl::net {

/// A Connection but for its handle. The loop refers to it weakly, and holds it while it is called:
/// so its callbacks may drop the handle.
struct Connection::State : std::enable_shared_from_this<Connection::State> {
 public:
  State(std::weak_ptr<LoopState> loop, posix::Fd socket, ConnectionOptions options, Told told);

  /// From now on all is sealed and opened.
  void secure(auth::Channel channel);
  Status start();
  /// The handle is gone: nothing is told any more.
  void drop();

  void send(std::string payload);
  void pause();
  void resume();
  void finish();
  void end(CloseCause cause, std::string message);

  void set_frame_limit(std::size_t bytes) { reader_.set_limit(bytes); }
  std::size_t queued_bytes() const { return outgoing_.queued_bytes(); }
  bool open() const { return phase_ == Phase::open && !broken_.has_value(); }
  int descriptor() const { return socket_.get(); }

 private:
  enum class Phase {
    open,
    writing_rest,   ///< `close_after_writing`: what comes is dropped
    awaiting_peer,  ///< all is written, and the peer was told that no more comes
    ended,          ///< the socket is closed; `closed` is told at the end of the turn
  };

  void ready(Ready ready);
  bool read();
  void take(std::string_view bytes);
  bool within_message() const;
  void deliver();
  void ended_by_peer(std::string message);
  void read_rest();
  void ask_flush();
  void flush();
  void write();
  void tell_pressure();
  void update_interest();
  void resumed();
  void farewell_over();
  void tell_closed();
  template <class F>
  std::function<void()> weakly(F method);

  std::weak_ptr<LoopState> loop_;
  posix::Fd socket_;
  Watch watch_;
  Timer farewell_;
  ConnectionOptions options_;
  Told told_;
  std::optional<auth::Opener> opener_;
  std::optional<Error> forged_;  ///< what came before it is still told
  wire::FrameReader reader_;
  Outgoing outgoing_;
  Phase phase_ = Phase::open;
  Interest interest_ = Interest::read;
  bool paused_ = false;
  bool blocked_ = false;  ///< the system takes no more for now
  bool pressed_ = false;  ///< as `pressure` was last told
  bool flush_asked_ = false;
  bool dropped_ = false;
  std::optional<int> broken_;  ///< writing failed, with this errno; what came before is still read
  Closing closing_;
};

}  // namespace gpl::net
