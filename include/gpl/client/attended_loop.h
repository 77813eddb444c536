#pragma once

#include <optional>

#include "gpl/client/attached_run.h"
#include "gpl/client/output_relay.h"
#include "gpl/client/signal_watch.h"
#include "gpl/client/voice.h"
#include "gpl/host/runner.h"
#include "gpl/host/spool.h"

namespace gpl::client {

/// The read ends of a job's two output pipes.
struct OutputPipes {
  posix::Fd out;
  posix::Fd err;
};

/// Where a job's output goes: this process's descriptors for its stdout and stderr.
struct OutputTargets {
  int out = 1;
  int err = 2;
  bool out_closed = false;  ///< `out` was closed when the process began: nobody reads it
};

/// The loop of an attached run: waits for signals, the Runner, output and time, tells the
/// AttachedRun, and carries the bytes. Returns when no process is left and every byte is delivered.
/// Output that this process cannot write (a full disk) goes on into the spool, and `voice` says so.
class AttendedLoop {
 public:
  AttendedLoop(host::Runner& runner, AttachedRun& run, SignalWatch& signals, OutputPipes pipes,
               const OutputTargets& targets, const host::Spool& spool, const Voice& voice);

  void run();

  /// Whether output was diverted into the spool.
  bool diverted() const { return out_.kept.valid() || err_.kept.valid(); }

 private:
  // One stream on its way, and the file in the spool that takes over when its target fails.
  struct Channel {
    Channel(host::Stream which, posix::Fd source, int target, bool closed_at_start)
        : stream(which), sink(target, closed_at_start), relay(std::move(source), sink) {}
    host::Stream stream;
    Sink sink;
    posix::Fd kept;
    std::optional<Sink> kept_sink;
    OutputRelay relay;
  };

  void wait(Instant now);
  void carry(Channel& channel);
  void divert(Channel& channel, int error);

  host::Runner& runner_;
  AttachedRun& run_;
  SignalWatch& signals_;
  const host::Spool& spool_;
  const Voice& voice_;
  Channel out_;
  Channel err_;
};

}  // namespace gpl::client
