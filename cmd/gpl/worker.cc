#include <unistd.h>

#include <csignal>
#include <ctime>

#include "commands.h"
#include "daemon.h"
#include "gpl/core/size.h"
#include "gpl/host/configuration.h"
#include "gpl/host/folders.h"
#include "gpl/host/set_up_check.h"
#include "gpl/net/signals.h"
#include "gpl/peer/offer.h"
#include "gpl/peer/peer.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/file.h"
#include "option_table.h"
#include "output.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

constexpr OptionRow worker_rows[] = {
    {"offer", Kind::value, "DEVICES",
     "What it lends:", "cuda:0,rocm, all or none (default: the configuration's, else all)"},
    {"cpus", Kind::value, "N", "What it lends:", "at most N processors"},
    {"memory", Kind::value, "SIZE", "What it lends:", "at most this memory: 24Gi"},
    {"detach", Kind::flag, "",
     "How it runs:", "in the background; returns once it serves, its log in the state folder"},
    {"log", Kind::value, "FILE", "How it runs:", "append its log to FILE (default: stderr)"},
    {"log-level", Kind::value, "LEVEL",
     "How it runs:", "trouble (what went wrong, the default) or info (what happens, too)"},
    {"help", Kind::flag, "", "How it runs:", "print this"},

    {"join", Kind::later_flag, "", "", ""},
    {"listen", Kind::later, "ADDR:PORT", "", ""},
    {"system", Kind::later_flag, "", "", ""},
};

constexpr OptionRow coordinator_rows[] = {
    {"detach", Kind::flag, "",
     "Options:", "in the background; returns once it serves, its log in the state folder"},
    {"log", Kind::value, "FILE", "Options:", "append its log to FILE (default: stderr)"},
    {"log-level", Kind::value, "LEVEL",
     "Options:", "trouble (what went wrong, the default) or info (what happens, too)"},
    {"help", Kind::flag, "", "Options:", "print this"},

    {"join", Kind::later_flag, "", "", ""},
    {"listen", Kind::later, "ADDR:PORT", "", ""},
    {"system", Kind::later_flag, "", "", ""},
};

constexpr const char* worker_help =
    R"(Lend this machine to jobs: queue, start and keep them, for this user's gpl commands.

  gpl worker                            here, until Ctrl-C; jobs go on without it
  gpl worker --detach                   in the background
  gpl worker --offer cuda:0 --cpus 8    lend a part only

Usage: gpl worker [OPTIONS]
)";

constexpr const char* coordinator_help =
    R"(Be a peer of the cluster that lends nothing: it queues and remembers jobs.

  gpl coordinator --detach

Usage: gpl coordinator [OPTIONS]
)";

struct Service {
  host::Folders folders;
  peer::PeerOptions options;
  std::string log_path;
  bool detached = false;
  bool events = false;
};

std::string count(std::size_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string describe(const peer::Peer& peer) {
  const PeerOffer& offer = *peer.offer();
  std::string line = peer.founded() ? "founded cluster " : "resumed cluster ";
  line += peer::short_name(peer.identity().cluster) + ", lending " +
          count(offer.accelerators.size(), "device") + ", " +
          count(static_cast<std::size_t>(offer.host.cpus), "cpu") + ", " +
          format_memory_size(offer.host.memory_bytes);
  if (!offer.closed.empty()) line += " (not now: " + offer.closed + ")";
  if (::geteuid() == 0) line += "\njobs run as root here: it was root who started this";
  return line;
}

std::string stamp() {
  const std::time_t seconds = posix::wall_clock().since_epoch_ms / 1000;
  std::tm parts;
  char text[32];
  if (::localtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S ", &parts) == 0)
    return "";
  return text;
}

/// Limits that this machine cannot keep are an error of who set them: told before anything runs.
Status check_lending(const Service& service) {
  const peer::Lending& lending = service.options.lending;
  if (!lending.devices && !lending.cpus && !lending.memory_bytes) return success();
  return peer::check_limits(peer::probe_offer(service.options.configuration, lending), lending);
}

/// The loop, until a signal or `gpl leave`.
int serve(Service service, Announcement& announcement) {
  if (!service.log_path.empty() && !service.detached)
    if (std::freopen(service.log_path.c_str(), "a", stderr) == nullptr) {
      announcement.failed("cannot open " + service.log_path, exit_failed);
      return exit_failed;
    }
  auto loop = net::Loop::create();
  if (!loop.ok()) {
    announcement.failed(loop.error().message, exit_failed);
    return exit_failed;
  }
  // Before the first thread: others must not be interrupted.
  auto signals = net::Signals::create(*loop.value(), {SIGINT, SIGTERM, SIGHUP},
                                      [&](int) { loop.value()->stop(); });
  if (!signals.ok()) {
    announcement.failed(signals.error().message, exit_failed);
    return exit_failed;
  }
  ::signal(SIGPIPE, SIG_IGN);
  service.options.log = [stamped = service.detached || !service.log_path.empty(),
                         events = service.events](peer::PeerOptions::Matter matter,
                                                  const std::string& line) {
    if (matter == peer::PeerOptions::Matter::event && !events) return;
    complain((stamped ? stamp() : "") + line);
  };
  auto peer = peer::Peer::open(*loop.value(), service.options);
  if (!peer.ok()) {
    announcement.failed(peer.error().message, exit_failed);
    return exit_failed;
  }
  peer.value()->ready = [&] { announcement.serving(describe(*peer.value())); };
  loop.value()->run();
  const bool left = peer.value()->has_left();
  peer.value().reset();
  if (!left) return 0;
  if (const Status cleaned = peer::Peer::clean_up(service.options.state_folder); !cleaned.ok()) {
    complain(cleaned.error().message);
    return exit_failed;
  }
  return 0;
}

Result<Service> make_service(const ParsedOptions& options, bool lends) {
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return std::move(folders).error();
  Result<host::Configuration> configuration =
      host::read_configuration(folders.value().configuration + "/gpl.toml");
  if (!configuration.ok()) return std::move(configuration).error();
  Service service;
  service.folders = std::move(folders).value();
  service.options.state_folder = service.folders.state;
  service.options.program = "/proc/self/exe";
  service.options.configuration = std::move(configuration).value();
  service.options.lending = peer::lend_nothing();
  if (lends) {
    peer::LendingOptions asked;
    if (options.has("offer")) asked.offer = options.last("offer");
    if (options.has("cpus")) asked.cpus = options.last("cpus");
    if (options.has("memory")) asked.memory = options.last("memory");
    Result<peer::Lending> lending =
        peer::with_options(service.options.configuration.lending, asked);
    if (!lending.ok()) return std::move(lending).error();
    service.options.lending = std::move(lending).value();
    if (const Status fine = check_lending(service); !fine.ok()) return fine.error();
  }
  const std::string level = options.has("log-level") ? options.last("log-level") : "trouble";
  if (level != "trouble" && level != "info")
    return Error{Code::invalid, "--log-level " + level + ": trouble or info"};
  service.events = level == "info";
  service.detached = options.has("detach");
  service.log_path = options.last("log");
  if (service.detached && service.log_path.empty())
    service.log_path = service.folders.state + "/peer.log";
  return service;
}

int start(const ParsedOptions& options, bool lends) {
  if (!options.rest.empty()) {
    complain("takes no words: " + shell_words(options.rest));
    return exit_usage;
  }
  Result<Service> service = make_service(options, lends);
  if (!service.ok()) {
    complain(service.error().message);
    return service.error().code == Code::invalid ? exit_usage : exit_failed;
  }
  if (Status made = posix::make_folders(service.value().folders.state, 0700); !made.ok()) {
    complain(made.error().message);
    return exit_failed;
  }
  const auto in_foreground = [&] {
    Announcement announcement;
    return serve(service.value(), announcement);
  };
  if (service.value().detached) {
    const host::Finding lingering = host::check_lingering(host::current_user(), "");
    if (lingering.level != host::Finding::Level::ok) complain(lingering.text);
    return detach(service.value().log_path,
                  [&](Announcement& announcement) { return serve(service.value(), announcement); });
  }
  return ::getpid() == 1 ? serve_as_init(in_foreground) : in_foreground();
}

}  // namespace

std::span<const OptionRow> worker_options() { return worker_rows; }
std::span<const OptionRow> coordinator_options() { return coordinator_rows; }

int worker_command(const Invocation& invocation) {
  Result<ParsedOptions> options = parse_mixed_options(worker_rows, invocation.args);
  if (!options.ok()) {
    complain("worker: " + options.error().message);
    return exit_usage;
  }
  if (options.value().has("help")) return print(worker_help + describe_options(worker_rows));
  return start(options.value(), true);
}

int coordinator_command(const Invocation& invocation) {
  Result<ParsedOptions> options = parse_mixed_options(coordinator_rows, invocation.args);
  if (!options.ok()) {
    complain("coordinator: " + options.error().message);
    return exit_usage;
  }
  if (options.value().has("help"))
    return print(coordinator_help + describe_options(coordinator_rows));
  return start(options.value(), false);
}

}  // namespace gpl::cmd
