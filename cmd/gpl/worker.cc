#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>

#include "commands.h"
#include "daemon.h"
#include "gpl/auth/key_pair.h"
#include "gpl/core/size.h"
#include "gpl/host/configuration.h"
#include "gpl/host/folders.h"
#include "gpl/host/key_file.h"
#include "gpl/host/set_up_check.h"
#include "gpl/net/signals.h"
#include "gpl/peer/joining.h"
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
    {"join", Kind::optional_value, "HOST:PORT,...",
     "Its cluster:", "the one on this network, or of these peers (needs its key: gpl key set)"},
    {"listen", Kind::value, "ADDR:PORT",
     "Its cluster:", "for other peers (default: every address, port 7457 or a free one)"},
    {"detach", Kind::flag, "",
     "How it runs:", "in the background; returns once it serves, its log in the state folder"},
    {"log", Kind::value, "FILE", "How it runs:", "append its log to FILE (default: stderr)"},
    {"log-level", Kind::value, "LEVEL",
     "How it runs:", "trouble (what went wrong, the default) or info (what happens, too)"},
    {"help", Kind::flag, "", "How it runs:", "print this"},

    {"system", Kind::later_flag, "", "", ""},
};

constexpr OptionRow coordinator_rows[] = {
    {"join", Kind::optional_value, "HOST:PORT,...",
     "Options:", "the cluster on this network, or of these peers (needs its key)"},
    {"listen", Kind::value, "ADDR:PORT",
     "Options:", "for other peers (default: every address, port 7457 or a free one)"},
    {"detach", Kind::flag, "",
     "Options:", "in the background; returns once it serves, its log in the state folder"},
    {"log", Kind::value, "FILE", "Options:", "append its log to FILE (default: stderr)"},
    {"log-level", Kind::value, "LEVEL",
     "Options:", "trouble (what went wrong, the default) or info (what happens, too)"},
    {"help", Kind::flag, "", "Options:", "print this"},

    {"system", Kind::later_flag, "", "", ""},
};

constexpr const char* worker_help =
    R"(Lend this machine to jobs: a peer of a cluster, its first one or one more.

  gpl worker --detach                   the first machine: founds the cluster
  gpl worker --join --detach            the next one, which has its key (gpl key set)
  gpl worker --join=lab1:7457           where multicast is blocked
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
  bool told_to_end = false;  ///< by a signal, before it served
  bool may_found = true;     ///< else it waits until it has found a cluster
  bool new_key = false;      ///< nobody else can have it
};

std::string count(std::size_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string describe(const peer::Peer& peer, bool has_learnt_key) {
  using Begin = peer::Peer::Begin;
  const PeerOffer& offer = *peer.offer();
  std::string line = peer.begin() == Begin::founded  ? "founded cluster "
                     : peer.begin() == Begin::joined ? "joined cluster "
                                                     : "resumed cluster ";
  line += peer::short_name(peer.identity().cluster) + ", listening on " + peer.address() +
          ", lending " + count(offer.accelerators.size(), "device") + ", " +
          count(static_cast<std::size_t>(offer.host.cpus), "cpu") + ", " +
          format_memory_size(offer.host.memory_bytes);
  if (!offer.closed.empty()) line += " (not now: " + offer.closed + ")";
  if (::geteuid() == 0) line += "\njobs run as root here: it was root who started this";
  if (!has_learnt_key)
    line +=
        "\non the next machine:  gpl key set   (paste the output of `gpl key show`; or from here: "
        "gpl key show | ssh HOST gpl key set)"
        "\n                      gpl worker --join";
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

constexpr Duration others_answer_within = seconds(2);
constexpr Duration silent_search = seconds(2);

/// What of a cluster with this key is there, looked for until it is found, a signal came, or
/// `at_most` has passed.
std::optional<peer::FoundCluster> search(net::Loop& loop, const Service& service,
                                         std::optional<Duration> at_most) {
  std::optional<peer::FoundCluster> found;
  peer::ClusterSearch::Options options{*service.options.key, auth::draw_key_pair(),
                                       service.options.seeds, service.options.mdns, GPL_VERSION};
  peer::ClusterSearch::Told told;
  told.found = [&](peer::FoundCluster cluster) {
    found = std::move(cluster);
    loop.stop();
  };
  told.note = [&](const std::string& note) { complain(note); };
  const peer::ClusterSearch searching(loop, std::move(options), std::move(told));
  net::Timer limit;
  net::Timer word;
  if (at_most) {
    limit = loop.after(*at_most, [&] { loop.stop(); });
  } else {
    word = loop.after(silent_search, [&] {
      complain(service.options.seeds.empty()
                   ? "no peer with this key has been seen on this network yet: looking on; where "
                     "multicast is blocked: gpl worker --join=HOST:PORT"
                   : "none of the peers named has answered yet: trying on");
    });
  }
  loop.run();
  return found;
}

/// The cluster that a state folder without one is to join. An Error: it must not be one of its own,
/// or a signal has ended the search.
Status choose_cluster(net::Loop& loop, Service& service) {
  const Result<std::optional<peer::Identity>> known =
      peer::read_identity(service.options.state_folder);
  if (!known.ok()) return known.error();
  if (known.value()) return success();
  if (!service.may_found) {
    const auto found = search(loop, service, std::nullopt);
    if (!found) return Error{Code::busy, "ended before a cluster was found"};
    service.options.join = found->cluster;
    service.options.seeds.push_back(found->seed);
    return success();
  }
  if (service.new_key || (!service.options.mdns && service.options.seeds.empty())) return success();
  const auto found = search(loop, service, others_answer_within);
  if (service.told_to_end)
    return Error{Code::busy, "ended before it was known whether there is a cluster"};
  if (!found) return success();
  return Error{Code::busy, "cluster " + peer::short_name(found->cluster) + " has this key (" +
                               found->name + " at " + net::to_text(found->seed) +
                               " answers): gpl worker --join makes this machine one of it"};
}

/// The loop, until a signal or `gpl leave`.
int serve(Service service, Announcement& announcement) {
  const auto failed = [&](const Error& error) {
    announcement.failed(error.message, exit_failed);
    return exit_failed;
  };
  if (!service.log_path.empty() && !service.detached)
    if (std::freopen(service.log_path.c_str(), "a", stderr) == nullptr)
      return failed(Error{Code::io, "cannot open " + service.log_path});
  auto loop = net::Loop::create();
  if (!loop.ok()) return failed(loop.error());
  std::unique_ptr<peer::Peer> peer;
  // Before the first thread: others must not be interrupted.
  auto signals = net::Signals::create(*loop.value(), {SIGINT, SIGTERM, SIGHUP}, [&](int) {
    service.told_to_end = true;
    peer ? peer->stop() : loop.value()->stop();
  });
  if (!signals.ok()) return failed(signals.error());
  ::signal(SIGPIPE, SIG_IGN);
  if (Status chosen = choose_cluster(*loop.value(), service); !chosen.ok())
    return failed(chosen.error());
  service.options.log = [stamped = service.detached || !service.log_path.empty(),
                         events = service.events](peer::PeerOptions::Matter matter,
                                                  const std::string& line) {
    if (matter == peer::PeerOptions::Matter::event && !events) return;
    complain((stamped ? stamp() : "") + line);
  };
  auto opened = peer::Peer::open(*loop.value(), service.options);
  if (!opened.ok()) return failed(opened.error());
  peer = std::move(opened).value();
  peer->ready = [&] { announcement.serving(describe(*peer, !service.new_key)); };
  if (service.told_to_end) peer->stop();
  loop.value()->run();
  const bool left = peer->has_left();
  const bool key_is_of_no_use = left && peer->was_whole_cluster();
  const std::optional<Error> failure = peer->failure();
  peer.reset();
  if (failure) return failed(*failure);
  if (!left) return 0;
  if (const Status cleaned = peer::Peer::clean_up(service.options.state_folder); !cleaned.ok()) {
    complain(cleaned.error().message);
    return exit_failed;
  }
  // With it every command would look for a cluster that is no more.
  if (key_is_of_no_use) std::remove(host::key_file_path(service.folders.configuration).c_str());
  return 0;
}

/// The cluster's key: the user's, or a new one for who may found a cluster.
Result<auth::Key> find_key(const host::Folders& folders, bool joins, bool& is_new) {
  Result<std::optional<std::string>> line = host::read_key_file(folders.configuration);
  if (!line.ok()) return std::move(line).error();
  if (line.value()) {
    Result<auth::Key> key = auth::Key::parse(*line.value());
    if (!key.ok())
      return Error{key.error().code,
                   host::key_file_path(folders.configuration) + ": " + key.error().message};
    if (key.value().role() == auth::Role::peer) return key;
    return Error{Code::invalid,
                 "the key here is of role " + std::string(auth::name_of(key.value().role())) +
                     ", and a worker needs the cluster's own: gpl key show on a machine that has "
                     "it, gpl key set --force here"};
  }
  if (joins)
    return Error{Code::invalid,
                 "--join needs the cluster's key: gpl key show prints it on a machine of the "
                 "cluster; here: gpl key set"};
  const auth::Key key = auth::Key::draw();
  const Status created = host::create_key_file(folders.configuration, key.text());
  // Another one was quicker.
  if (!created.ok() && created.error().code == Code::busy) return find_key(folders, joins, is_new);
  if (!created.ok()) return created.error();
  is_new = true;
  return key;
}

/// How it meets its cluster: the configuration, and what the command line says beside it.
Status set_meeting(const ParsedOptions& options, Service& service) {
  const host::Meeting& meeting = service.options.configuration.meeting;
  service.may_found = !options.has("join");
  service.options.mdns = meeting.mdns;
  const auto add_seeds = [&](const std::string& list) -> Status {
    Result<std::vector<net::PeerAddress>> seeds = net::parse_peer_addresses(list);
    if (!seeds.ok()) return std::move(seeds).error();
    service.options.seeds.insert(service.options.seeds.end(), seeds.value().begin(),
                                 seeds.value().end());
    return success();
  };
  if (const std::string named = options.last("join"); !named.empty())
    if (Status added = add_seeds(named); !added.ok()) return added;
  for (const std::string& peer : meeting.peers)
    if (Status added = add_seeds(peer); !added.ok()) return added;
  const std::string listen = options.has("listen") ? options.last("listen") : meeting.listen;
  if (listen.empty()) return success();
  Result<net::PeerAddress> address = net::parse_listen_address(listen);
  if (!address.ok()) return std::move(address).error();
  service.options.listen = std::move(address).value();
  return success();
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
  if (Status meeting = set_meeting(options, service); !meeting.ok())
    return std::move(meeting).error();
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
  // At last: nothing is made for words that make no sense.
  Result<auth::Key> key = find_key(service.folders, options.has("join"), service.new_key);
  if (!key.ok()) return std::move(key).error();
  service.options.key = std::move(key).value();
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
