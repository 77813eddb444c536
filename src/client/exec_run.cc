#include "gpl/client/exec_run.h"

#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "gpl/client/job_output.h"
#include "gpl/core/job_state.h"
#include "gpl/net/signals.h"
#include "gpl/posix/error.h"

namespace gpl::client {
namespace {

/// One command, from the question to its end.
class ExecRun {
 public:
  ExecRun(Session& session, const OutputTargets& targets, const Voice& voice);
  ExecRun(const ExecRun&) = delete;
  ExecRun& operator=(const ExecRun&) = delete;
  ~ExecRun() { session_.forget(question_); }

  Result<int> run(const wire::ExecInTask& question);

 private:
  void told(wire::Answer&& answer);
  void on_signal(int number);
  void output_failed(wire::OutputStream stream, int error);
  bool connected() const { return session_.connected() && session_.connection() == connection_; }
  bool done() const {
    return exit_instead_ || refused_ || !connected() || (ended_ && output_.drained());
  }
  int exit_code() const;

  Session& session_;
  const Voice& voice_;
  JobOutput output_;
  std::uint32_t question_ = 0;
  std::uint32_t connection_ = 0;
  int interrupts_ = 0;
  std::optional<Outcome> ended_;
  std::optional<Error> refused_;
  std::optional<int> exit_instead_;
};

ExecRun::ExecRun(Session& session, const OutputTargets& targets, const Voice& voice)
    : session_(session),
      voice_(voice),
      output_(session.loop(), targets, std::nullopt,
              {[this](std::uint64_t bytes) {
                 if (connected()) session_.say(question_, wire::Taken{question_, bytes});
               },
               [this](wire::OutputStream stream, int error) { output_failed(stream, error); },
               {}}) {}

Result<int> ExecRun::run(const wire::ExecInTask& question) {
  Result<net::Signals> signals =
      net::Signals::create(session_.loop(), {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2},
                           [this](int number) { on_signal(number); });
  if (!signals.ok()) return std::move(signals).error();
  Status there = session_.run_until([this] { return session_.connected(); });
  if (!there.ok()) return std::move(there).error();
  connection_ = session_.connection();
  question_ = session_.ask(question, [this](wire::Answer&& answer) { told(std::move(answer)); });
  Status waited = session_.run_until([this] { return done(); });
  if (exit_instead_) return *exit_instead_;
  if (refused_) return *refused_;
  // What it wrote is all here: the connection has nothing more to give.
  if (ended_) waited = session_.run_until([this] { return exit_instead_ || output_.drained(); });
  if (exit_instead_) return *exit_instead_;
  if (ended_ && output_.drained()) return exit_code();
  if (!waited.ok()) return std::move(waited).error();
  return Error{Code::io,
               "the connection to the peer is lost, and the command is ended with it; the job goes "
               "on"};
}

void ExecRun::told(wire::Answer&& answer) {
  if (auto* output = std::get_if<wire::Output>(&answer)) {
    output_.take(std::move(*output));
  } else if (auto* ended = std::get_if<wire::ExecEnded>(&answer)) {
    ended_ = std::move(ended->outcome);
    // A connection that is lost from now on must not ask for it again.
    session_.forget(question_);
  } else if (const auto* refused = std::get_if<wire::Refused>(&answer)) {
    refused_ = refusal(*refused);
  }
}

void ExecRun::on_signal(int number) {
  if (number == SIGHUP || (number == SIGINT && ++interrupts_ > 1)) {
    exit_instead_ = 128 + number;
    return;
  }
  session_.say(question_, wire::SignalExec{question_, number});
}

void ExecRun::output_failed(wire::OutputStream stream, int error) {
  if (error == EPIPE || error == EBADF) {
    exit_instead_ = 128 + SIGPIPE;
    return;
  }
  const bool out = stream == wire::OutputStream::out;
  voice_.complain(std::string("cannot write to standard ") + (out ? "output" : "error") + ": " +
                  posix::errno_text(error));
  exit_instead_ = 125;
}

int ExecRun::exit_code() const {
  if (const auto* failed = std::get_if<FailedToStart>(&*ended_)) voice_.complain(failed->message);
  if (const auto* lost = std::get_if<Lost>(&*ended_))
    voice_.complain("the command is lost: " + lost->why);
  return exit_status(*ended_);
}

}  // namespace

Result<int> exec_in_task(Session& session, const wire::ExecInTask& question,
                         const OutputTargets& targets, const Voice& voice) {
  return ExecRun(session, targets, voice).run(question);
}

}  // namespace gpl::client
