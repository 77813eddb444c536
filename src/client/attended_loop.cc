#include "gpl/client/attended_loop.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::client {
namespace {

int earlier(int one_ms, int other_ms) {
  if (one_ms < 0) return other_ms;
  return other_ms < 0 ? one_ms : std::min(one_ms, other_ms);
}

}  // namespace

AttendedLoop::AttendedLoop(host::Runner& runner, AttachedRun& run, SignalWatch& signals,
                           OutputPipes pipes, const OutputTargets& targets,
                           const host::Spool& spool, const Voice& voice)
    : runner_(runner),
      run_(run),
      signals_(signals),
      spool_(spool),
      voice_(voice),
      out_(host::Stream::out, std::move(pipes.out), targets.out, targets.out_closed),
      err_(host::Stream::err, std::move(pipes.err), targets.err, false) {}

void AttendedLoop::run() {
  while (!run_.over() || !out_.relay.drained() || !err_.relay.drained()) {
    wait(posix::boot_clock());
    for (const int number : signals_.take()) run_.on_signal(number);
    if (!run_.over()) {
      for (const host::RunnerEvent& event : runner_.take_events())
        run_.on_event(event, posix::boot_clock());
    }
    run_.tick(posix::boot_clock());
    for (const AttachedRun::Words& words : run_.take_words()) {
      words.trouble ? voice_.complain(words.line) : voice_.say(words.line);
    }
    if (run_.over()) {
      out_.relay.expect_no_more();
      err_.relay.expect_no_more();
    }
    carry(out_);
    carry(err_);
  }
}

void AttendedLoop::wait(Instant at) {
  pollfd events[] = {{signals_.descriptor(), POLLIN, 0},
                     {run_.over() ? -1 : runner_.descriptor(), POLLIN, 0},
                     out_.relay.interest(),
                     err_.relay.interest()};
  int timeout_ms = run_.over() ? -1 : runner_.wait_ms();
  if (const std::optional<Instant> wake = run_.wake_at()) {
    const std::int64_t left = (*wake - at).count_ms;
    timeout_ms = earlier(timeout_ms, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
  }
  if (out_.relay.ready() || err_.relay.ready()) timeout_ms = 0;
  (void)::poll(events, std::size(events), timeout_ms);
}

void AttendedLoop::carry(Channel& channel) {
  channel.relay.move();
  const int error = channel.relay.sink().error();
  if (error == 0) return;
  const bool reader_gone = error == EPIPE || error == EBADF;
  if (reader_gone || channel.kept.valid()) {
    channel.relay.abandon();
    if (reader_gone) {
      run_.on_reader_gone();
    } else {
      run_.on_output_lost();
    }
    return;
  }
  divert(channel, error);
}

void AttendedLoop::divert(Channel& channel, int error) {
  const bool out = channel.stream == host::Stream::out;
  std::string words = out ? "cannot write to standard output" : "cannot write to standard error";
  words += ": " + posix::errno_text(error);
  Result<posix::Fd> kept = spool_.open_output(channel.stream);
  if (!kept.ok()) {
    voice_.complain(words + "; the job is stopped");
    channel.relay.abandon();
    run_.on_output_lost();
    return;
  }
  channel.kept = std::move(kept).value();
  channel.kept_sink.emplace(channel.kept.get());
  channel.relay.redirect(*channel.kept_sink);
  voice_.complain(words + "; the job goes on, and the rest of its output is kept in " +
                  spool_.path());
}

}  // namespace gpl::client
