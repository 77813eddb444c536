#include "gpl/client/embedded_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "gpl/client/attended_loop.h"
#include "gpl/client/embedded_placement.h"
#include "gpl/client/kept_files.h"
#include "gpl/host/guard_runner.h"
#include "gpl/host/job_environment.h"
#include "gpl/host/machine.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::client {
namespace {

// Every try of an embedded job is its first, and it has one task.
constexpr AttemptId only_attempt{1};
constexpr TaskId only_task{0};

Result<host::Command> make_command(const EmbeddedRequest& request, const Workplace& place,
                                   const EmbeddedPlacement& placed) {
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
  Result<DeviceEnvironment> devices =
      device_environment(placed.placement.devices, placed.peer.accelerators);
  if (!devices.ok()) return std::move(devices).error();
  source.devices = std::move(devices).value();
  source.python = python_of(placed);
  source.cpus = request.requirement.cpus;
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
  if (in.valid()) return in;
  if (spec.pass_stdin) return posix::io_error("cannot pass standard input on");
  // No /dev/null in a bare root: a pipe that nobody writes to reads as empty too.
  Result<posix::Pipe> pipe = posix::make_pipe();
  if (!pipe.ok()) return std::move(pipe).error();
  return std::move(pipe.value().read);
}

// Starts the command under its guard; `pipes` gets the ends to read.
Status start(const EmbeddedRequest& request, const Workplace& place,
             const EmbeddedPlacement& placed, host::Runner& runner, OutputPipes& pipes) {
  Result<posix::Fd> in = open_input(request.spec);
  if (!in.ok()) return std::move(in).error();
  Result<Output> output = make_output();
  if (!output.ok()) return std::move(output).error();
  Result<host::Command> command = make_command(request, place, placed);
  if (!command.ok()) return std::move(command).error();
  host::Launch launch;
  launch.command = std::move(command).value();
  launch.stdio = {in.value().get(), output.value().out.get(), output.value().err.get()};
  launch.locks = {place.spool.folder()};
  for (const posix::Fd& lock : placed.locks) launch.locks.push_back(lock.get());
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
                              EmbeddedPlacement placed, SignalWatch& signals, const Voice& voice) {
  EmbeddedReport report;
  report.job = place.spool.job();
  report.started_ms = posix::wall_clock().since_epoch_ms;
  if (Status written = write_spec(request, place, report.started_ms); !written.ok()) {
    return std::move(written).error();
  }
  host::GuardRunner runner;
  OutputPipes pipes;
  if (Status started = start(request, place, placed, runner, pipes); !started.ok()) {
    return std::move(started).error();
  }
  placed.locks.clear();  // the guard's alone, until the last process is gone
  AttachedRun run(runner, {request.spec.command.front(), request.spec.time_limit});
  const OutputTargets targets{request.stdout_to_err ? STDERR_FILENO : STDOUT_FILENO, STDERR_FILENO,
                              request.stdout_closed && !request.stdout_to_err};
  AttendedLoop loop(runner, run, signals, std::move(pipes), targets, place.spool, voice);
  loop.run();
  report.ended_ms = posix::wall_clock().since_epoch_ms;
  report.outcome = run.outcome();
  report.exit_status = run.exit_status();
  if (loop.diverted() && report.exit_status == 0) report.exit_status = 125;
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
  Result<PeerView> here = admit_here(request.requirement, request.configuration);
  if (!here.ok()) return std::move(here).error();
  Result<artifact::Selection> selection = select_files(request.spec, request.source, voice);
  if (!selection.ok()) return std::move(selection).error();
  for (const DataWish& wish : request.data) {
    Status added = add_data(selection.value(), wish.path, wish.name);
    if (!added.ok()) return std::move(added).error();
  }
  Result<host::SpoolFolder> spools = host::SpoolFolder::open(request.folders.state);
  if (!spools.ok()) return std::move(spools).error();
  sweep(spools.value());
  Result<Workplace> place = make_workplace(spools.value(), request.spec, request.source,
                                           std::move(selection).value(), interrupted, voice);
  if (stopped_by != 0) return interrupted_report(stopped_by);
  if (!place.ok()) return std::move(place).error();

  Result<EmbeddedPlacement> placed =
      place_here(request.requirement, std::move(here).value(), place.value().spool.job(),
                 request.spec.time_limit, signals, voice, stopped_by);
  Result<EmbeddedReport> report =
      placed.ok() ? attend(request, place.value(), std::move(placed).value(), signals, voice)
                  : Result<EmbeddedReport>(std::move(placed).error());
  if (!report.ok()) {
    (void)place.value().spool.remove();
    return stopped_by != 0 ? Result<EmbeddedReport>(interrupted_report(stopped_by)) : report;
  }
  report.value().results =
      settle_results(place.value(), request.spec, request.source, report.value().outcome, voice);
  if (!report.value().results.complete && report.value().exit_status == 0) {
    report.value().exit_status = 125;
  }
  return report;
}

}  // namespace gpl::client
