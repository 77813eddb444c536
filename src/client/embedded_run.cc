#include "gpl/client/embedded_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "gpl/client/attended_loop.h"
#include "gpl/client/kept_files.h"
#include "gpl/host/guard_runner.h"
#include "gpl/host/job_environment.h"
#include "gpl/host/machine.h"
#include "gpl/posix/error.h"

namespace gpl::client {
namespace {

std::int64_t now_ms() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Every try of an embedded job is its first, and it has one task.
constexpr AttemptId only_attempt{1};
constexpr TaskId only_task{0};

host::Command make_command(const EmbeddedRequest& request, const Workplace& place) {
  host::EnvironmentSource source;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    source.inherited.emplace_back(*entry);
  }
  source.forward = request.configuration.forward_env;
  source.asked = request.spec.env;
  source.user = host::current_user();
  source.temp_folder = place.temp.path();
  source.job = place.spool.job();
  source.task = only_task;
  source.attempt = only_attempt;
  source.peer = host::host_name();
  return host::Command{request.spec.command, host::job_environment(source), place.folder};
}

// Written when the private copy is whole: its time is that of the command's start.
Status write_spec(const EmbeddedRequest& request, Workplace& place, std::int64_t started_ms) {
  host::Record spec;
  for (const std::string& word : request.spec.command) spec.add("argv", word);
  spec.add("name", request.spec.name);
  spec.add("source_folder", request.source);
  spec.add("temp_folder", place.temp.path());
  spec.add("started_ms", started_ms);
  return place.spool.write_spec(spec);
}

struct Output {
  OutputPipes read;
  posix::Fd out;
  posix::Fd err;
};

Result<Output> make_output() {
  Result<posix::Pipe> out = posix::make_pipe();
  if (!out.ok()) return std::move(out).error();
  Result<posix::Pipe> err = posix::make_pipe();
  if (!err.ok()) return std::move(err).error();
  return Output{{std::move(out.value().read), std::move(err.value().read)},
                std::move(out.value().write),
                std::move(err.value().write)};
}

Result<posix::Fd> open_input(const JobSpec& spec) {
  posix::Fd in(spec.pass_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                               : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!in.valid()) return posix::io_error("cannot open the job's standard input");
  return in;
}

// Starts the command under its guard; `pipes` gets the ends to read.
Status start(const EmbeddedRequest& request, const Workplace& place, host::Runner& runner,
             OutputPipes& pipes) {
  Result<posix::Fd> in = open_input(request.spec);
  if (!in.ok()) return std::move(in).error();
  Result<Output> output = make_output();
  if (!output.ok()) return std::move(output).error();
  host::Launch launch;
  launch.command = make_command(request, place);
  launch.stdio = {in.value().get(), output.value().out.get(), output.value().err.get()};
  launch.locks = {place.spool.folder()};
  pipes = std::move(output.value().read);
  return runner.start(launch);
}

EmbeddedReport interrupted_report(int signal_number) {
  EmbeddedReport report;
  report.outcome = Cancelled{};
  report.exit_status = 128 + signal_number;
  return report;
}

Result<EmbeddedReport> attend(const EmbeddedRequest& request, Workplace& place,
                              SignalWatch& signals, const Voice& voice) {
  EmbeddedReport report;
  report.job = place.spool.job();
  report.started_ms = now_ms();
  if (Status written = write_spec(request, place, report.started_ms); !written.ok()) {
    return std::move(written).error();
  }
  host::GuardRunner runner;
  OutputPipes pipes;
  if (Status started = start(request, place, runner, pipes); !started.ok()) {
    return std::move(started).error();
  }
  AttachedRun run(runner, {request.spec.command.front(), request.spec.time_limit});
  const OutputTargets targets{request.stdout_to_err ? STDERR_FILENO : STDOUT_FILENO, STDERR_FILENO,
                              request.stdout_closed && !request.stdout_to_err};
  AttendedLoop loop(runner, run, signals, std::move(pipes), targets, place.spool, voice);
  loop.run();
  report.ended_ms = now_ms();
  report.outcome = run.outcome();
  report.exit_status = run.exit_status();
  report.usage = run.usage();
  return report;
}

}  // namespace

Result<EmbeddedReport> run_embedded(const EmbeddedRequest& request, const Voice& voice) {
  SignalWatch signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  int stopped_by = 0;
  const auto interrupted = [&] {
    for (const int number : signals.take()) stopped_by = number;
    return stopped_by != 0;
  };
  Result<artifact::Selection> selection = select_files(request.spec, request.source, voice);
  if (!selection.ok()) return std::move(selection).error();
  Result<host::SpoolFolder> spools = host::SpoolFolder::open(request.folders.state);
  if (!spools.ok()) return std::move(spools).error();
  sweep(spools.value());
  Result<Workplace> place = make_workplace(spools.value(), request.spec, request.source,
                                           std::move(selection).value(), interrupted, voice);
  if (stopped_by != 0) return interrupted_report(stopped_by);
  if (!place.ok()) return std::move(place).error();

  Result<EmbeddedReport> report = attend(request, place.value(), signals, voice);
  if (!report.ok()) {
    (void)place.value().spool.remove();
    return report;
  }
  report.value().results =
      settle_results(place.value(), request.spec, request.source, report.value().outcome, voice);
  if (!report.value().results.complete && report.value().exit_status == 0) {
    report.value().exit_status = 125;
  }
  return report;
}

}  // namespace gpl::client
