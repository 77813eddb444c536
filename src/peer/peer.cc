#include "gpl/peer/peer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gpl/core/size.h"
#include "gpl/host/power.h"
#include "gpl/host/socket_path.h"
#include "gpl/net/credentials.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/tree.h"
#include "keeper_process.h"

namespace gpl::peer {
namespace {

constexpr std::size_t checks_a_pass = 2000;
constexpr std::ptrdiff_t most_sessions_of_a_key = 256;
constexpr Duration clients_come_back = seconds(60);
constexpr Duration joins_within = seconds(10);
constexpr const char* founded_mark = "/peer/founded";  ///< its log was begun
constexpr const char* joined_mark = "/peer/joined";    ///< not as its cluster's first peer

struct Space {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

Space space_of(const std::string& folder) {
  struct statvfs status;
  if (::statvfs(folder.c_str(), &status) != 0) return {};
  return {status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize};
}

/// Held for as long as a peer of this folder lives: what is in there is one process's.
Result<posix::Fd> lock(const std::string& state_folder) {
  const std::string path = state_folder + "/peer/lock";
  posix::Fd held(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!held.valid()) return posix::io_error("cannot open " + path);
  if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
  if (errno != EWOULDBLOCK) return posix::io_error("cannot lock " + path);
  return Error{Code::busy, "a peer of " + state_folder + " already runs: gpl status shows it"};
}

bool has_mark(const std::string& state_folder, const char* mark) {
  return ::access((state_folder + mark).c_str(), F_OK) == 0;
}

Status set_mark(const std::string& state_folder, const char* name) {
  const std::string path = state_folder + name;
  const posix::Fd mark(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!mark.valid() || ::fsync(mark.get()) != 0) return posix::io_error("cannot write " + path);
  return success();
}

}  // namespace

Peer::Peer(net::Loop& loop, PeerOptions options, Identity identity, Begin begin)
    : options_(std::move(options)),
      begin_(begin),
      parts_(loop, std::move(identity), options_.state_folder),
      alive_(std::make_shared<char>()) {}

/// Sessions use the parts; the pool's work uses what lives longer than it; the log goes first.
Peer::~Peer() {
  listener_.reset();
  lingering_.clear();
  parts_.peer.linger = [](const std::unique_ptr<AttemptFollower>&) {};
  sessions_.clear();
  parts_.consensus.reset();
  parts_.mirrors.reset();
  parts_.pulls.reset();
  parts_.holders.reset();
  parts_.far.reset();
  parts_.mesh.reset();
  parts_.results.reset();
  parts_.staging.reset();
  parts_.pins.reset();
  parts_.pool.reset();
}

Result<std::unique_ptr<Peer>> Peer::open(net::Loop& loop, PeerOptions options) {
  const std::string& state = options.state_folder;
  if (Status made = posix::make_folders(state + "/peer", 0700); !made.ok())
    return std::move(made).error();
  Result<posix::Fd> held = lock(state);
  if (!held.ok()) return std::move(held).error();
  Result<std::optional<Identity>> known = read_identity(state);
  if (!known.ok()) return std::move(known).error();
  const Begin begin = known.value().has_value() ? Begin::resumed
                      : options.join            ? Begin::joined
                                                : Begin::founded;
  if (begin != Begin::resumed) {
    if (options.join)
      if (Status marked = set_mark(state, joined_mark); !marked.ok())
        return std::move(marked).error();
    Result<Identity> made =
        options.join ? join_identity(state, *options.join) : found_identity(state);
    if (!made.ok()) return std::move(made).error();
    known = std::optional<Identity>(std::move(made).value());
  }
  std::unique_ptr<Peer> peer(new Peer(loop, std::move(options), std::move(*known.value()), begin));
  peer->lock_ = std::move(held).value();
  if (Status started = peer->start(); !started.ok()) return std::move(started).error();
  return peer;
}

Status Peer::start() {
  raise_open_files();
  const Space space = space_of(parts_.state_folder);
  constexpr std::uint64_t kib = 1024;
  constexpr std::uint64_t mib = 1024 * kib;
  segment_bytes_ = std::clamp(space.total_bytes / 64, 256 * kib, 16 * mib);
  reserve_bytes_ = std::clamp(space.total_bytes / 20, 512 * kib, 64 * mib);
  parts_.peer = calls();
  Result<auth::KeyPair> own = static_key(parts_.state_folder);
  if (!own.ok()) return std::move(own).error();
  if (Status listening = listen(); !listening.ok()) return listening;
  if (Status opened = open_store(); !opened.ok()) return opened;
  parts_.secrets = std::make_unique<JobSecrets>(parts_.state_folder, own.value());
  wire_keeper();
  if (Status opened = open_mesh(own.value()); !opened.ok()) return opened;
  wire_network();
  if (Status restored = parts_.mirrors->restore(); !restored.ok()) log(restored.error().message);
  if (Status opened = open_consensus(); !opened.ok()) return opened;
  if (Status marked = set_mark(parts_.state_folder, founded_mark); !marked.ok()) return marked;
  parts_.keeper->start();
  if (begin_ == Begin::joined)
    without_leader_ = parts_.loop.after(joins_within, [this] {
      if (ready) log("not taken in yet: no leader of the cluster is linked; waiting for one");
    });
  look_for_space();
  each_minute();
  hour_ = parts_.loop.after(seconds(60), [this] { each_hour(); });
  probe();
  return success();
}

Status Peer::open_store() {
  Result<artifact::ChunkStore> store = artifact::ChunkStore::open(parts_.state_folder + "/store");
  if (!store.ok()) return std::move(store).error();
  parts_.store = std::make_unique<artifact::ChunkStore>(std::move(store).value());
  parts_.pool = std::make_unique<Pool>(parts_.loop);
  parts_.pins = std::make_unique<TreePins>(*parts_.pool, *parts_.store);
  parts_.staging = std::make_unique<Staging>(*parts_.pool, *parts_.store, parts_.attempts_folder());
  parts_.results = std::make_unique<Results>(*parts_.pool, parts_.attempts_folder(),
                                             [this](const Fence& fence) { delivered({fence}); });
  if (Status made = posix::make_folders(parts_.attempts_folder(), 0700); !made.ok()) return made;
  if (Status restored = parts_.results->restore(); !restored.ok()) log(restored.error().message);
  return success();
}

void Peer::wire_keeper() {
  parts_.news = std::make_unique<JobNews>(parts_.loop);
  parts_.attempts =
      std::make_unique<LocalAttempts>([this](JobId job) { parts_.news->changed(job); });
  parts_.keeper = std::make_unique<KeeperLink>(
      parts_.loop, parts_.state_folder, options_.program,
      KeeperLink::Told{[this](wire::KeeperToPeer message) { take(std::move(message)); },
                       [this](bool connected) { keeper_changed(connected); },
                       [this](const std::string& note) { log(note); }});
  const auto send = [this](const wire::PeerToKeeper& message) { to_keeper(message); };
  parts_.watch = std::make_unique<OutputWatch>(send, [this](JobId job) { abandoned(job); });
  parts_.calls = std::make_unique<KeeperCalls>(send);
}

Status Peer::open_consensus() {
  ConsensusOptions options;
  options.folder = parts_.state_folder + "/peer/log";
  options.node = parts_.identity.node;
  // Whether it founded or joined, its log is begun once.
  const bool is_begun = has_mark(parts_.state_folder, founded_mark);
  const bool joins = has_mark(parts_.state_folder, joined_mark);
  options.join = !is_begun && joins;
  options.found = !is_begun && !joins;
  options.segment_bytes = segment_bytes_;
  options.standing = {host::has_battery(host::SystemRoot()), host::is_wireless(host::SystemRoot()),
                      posix::wall_clock()};
  const auto rule = [this](const ClusterState& state, Instant now) {
    // What is begun on a full disk fails, and would be told as the job's failure.
    if (short_of_space() || !can_place(state)) return Placements{{}, false};
    const std::set<PeerId> away = unlinked(state);
    Scheduler::Pass pass = scheduler_.pass(state, now, checks_a_pass, away);
    // Links come back without a word in the log.
    pass.complete = pass.complete && away.empty();
    return Placements{std::move(pass.places), pass.complete};
  };
  Consensus::Told told;
  told.applied = [this](const AppliedEntry& entry) { applied(entry); };
  told.ready = [this] { restored(); };
  told.leader_changed = [this] { parts_.keeper->send(wire::to_keeper::SessionLost{}); };
  told.to_worker = [this](const LeaderToWorker& message) {
    prepare_ahead(message);
    parts_.keeper->send(wire::to_keeper::FromLeader{message});
  };
  told.note = [this](const std::string& note) { log(note); };
  told.closed = [this](const Error& error) {
    state_ready_ = false;
    log("the log cannot be written, and is tried again: " + error.message);
    parts_.keeper->send(wire::to_keeper::SessionLost{});
    resume_sessions();
  };
  Reach reach{
      [this] { return parts_.mesh->up(); },
      [this](PeerId to, wire::LinkMessage message) { parts_.mesh->send(to, std::move(message)); },
      [this](PeerId peer) { return parts_.mesh->hello_of(peer); }};
  auto consensus =
      Consensus::open(parts_.loop, std::move(options), rule, std::move(reach), std::move(told));
  if (!consensus.ok()) return std::move(consensus).error();
  parts_.consensus = std::move(consensus).value();
  return success();
}

Status Peer::listen() {
  Result<std::string> path = host::socket_path(parts_.state_folder, "peer.sock");
  if (!path.ok()) return std::move(path).error();
  auto listener = net::Listener::listen_unix(
      parts_.loop, path.value(), 0600,
      {[this](posix::Fd socket, const net::PeerAddress&) { accepted(std::move(socket)); },
       [this](const std::string& note) { log(note); }});
  if (!listener.ok()) return std::move(listener).error();
  listener_.emplace(std::move(listener).value());
  return success();
}

/// The peer's owner and root may do everything.
void Peer::accepted(posix::Fd socket) {
  const Result<net::Credentials> who = net::peer_credentials(socket.get());
  if (!who.ok()) return log(who.error().message);
  const uid_t uid = who.value().uid;
  const bool is_owner = uid == 0 || uid == ::geteuid();
  begin_session({{"", parts_.identity.peer, uid},
                 is_owner ? Caller::Rights::all : Caller::Rights::own,
                 false,
                 std::nullopt},
                [&](ClientSession& session) { return session.adopt(std::move(socket)); });
}

void Peer::begin_session(Caller caller, const std::function<Status(ClientSession&)>& adopt) {
  // A shell's loop in the background has some; a thousand of one key would lock all others out.
  if (!caller.submitter.client.empty()) {
    // A static pair of its own is drawn in no time: of observers all count.
    const bool looks = caller.rights == Caller::Rights::looking;
    const auto of_same_key =
        std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& each) {
          const Caller& other = each.second->caller();
          return looks ? other.rights == Caller::Rights::looking
                       : other.submitter.client == caller.submitter.client;
        });
    if (of_same_key >= most_sessions_of_a_key)
      return tell("a client has too many connections: key " + caller.submitter.client);
  }
  const std::uint64_t number = ++last_session_;
  auto session = std::make_unique<ClientSession>(parts_, number, std::move(caller),
                                                 [this, number] { sessions_.erase(number); });
  if (Status adopted = adopt(*session); !adopted.ok()) return log(adopted.error().message);
  answers() ? session->resume() : session->pause();
  sessions_.emplace(number, std::move(session));
}

/// What is placed on this peer while its keeper is away would be taken for lost with it. Not for
/// long: a peer without one is soon known to be down.
bool Peer::can_place(const ClusterState& state) const {
  const PeerRecord* self = state.find_peer(parts_.identity.peer);
  if (self == nullptr || self->down_at) return !parts_.mesh->up().empty();
  const auto& keeper = parts_.keeper->hello();
  return keeper && keeper->instance == self->keeper;
}

/// By the state they may be up for some seconds after their links are gone.
std::set<PeerId> Peer::unlinked(const ClusterState& state) const {
  std::set<PeerId> peers;
  for (const PeerId peer : state.peers()) {
    const bool is_linked = peer == parts_.identity.peer || parts_.mesh->is_up(peer);
    if (!is_linked && !state.find_peer(peer)->down_at) peers.insert(peer);
  }
  return peers;
}

/// While it is being opened there is nothing to answer with; while it cannot be, there is why.
bool Peer::answers() const {
  return state_ready_ || (parts_.consensus && parts_.consensus->failure());
}

void Peer::resume_sessions() {
  for (const auto& [number, session] : sessions_) session->resume();
}

std::optional<Error> Peer::short_of_space() const {
  const Space space = space_of(parts_.state_folder);
  if (space.total_bytes == 0 || space.free_bytes >= reserve_bytes_) return std::nullopt;
  return Error{Code::io, "the disk of " + parts_.state_folder + " is full (" +
                             format_file_size(space.free_bytes) + " free, of which " +
                             format_file_size(reserve_bytes_) +
                             " are kept for jobs that run): make room, and submit again"};
}

PeerCalls Peer::calls() {
  PeerCalls calls;
  calls.health = [this] { return health(); };
  calls.is_draining = [this] { return peer::is_draining(parts_.state_folder); };
  calls.set_draining = [this](bool draining) {
    Status status = peer::set_draining(parts_.state_folder, draining);
    if (status.ok()) tell_offer();
    return status;
  };
  calls.can_place = [this] {
    const ClusterState* state = parts_.consensus->state();
    return state != nullptr && can_place(*state);
  };
  calls.short_of_space = [this] { return short_of_space(); };
  calls.is_pinned = [this](const ContentId& tree) {
    return std::any_of(pinned_.begin(), pinned_.end(),
                       [&](const auto& entry) { return entry.second == tree; });
  };
  calls.delivered = [this](JobId job) { delivered(parts_.attempts->of(job)); };
  calls.linger = [this](std::unique_ptr<AttemptFollower> follower) {
    follower->mute();
    const std::uint64_t number = ++last_session_;
    lingering_[number] = {std::move(follower), parts_.loop.after(clients_come_back, [this, number] {
                            lingering_.erase(number);
                          })};
  };
  calls.copied = [this](const Fence& attempt) { delivered({attempt}); };
  calls.hold_elsewhere = [this](const wire::SubmitJob& job, std::function<void()> done) {
    hold_elsewhere(job, std::move(done));
  };
  calls.unlinked = [this](const ClusterState& state) { return unlinked(state); };
  calls.name_of = [this](PeerId peer) { return name_of(peer); };
  calls.set_leaving = [this](bool leaving) {
    parts_.leaving = leaving;
    tell_offer();
  };
  calls.leave = [this](const std::function<void(Status)>& done) { leave(done); };
  return calls;
}

Status Peer::clean_up(const std::string& state_folder) {
  Result<posix::Fd> folder = posix::open_folder(state_folder);
  if (!folder.ok()) return std::move(folder).error();
  if (Status removed = remove_identity(state_folder); !removed.ok()) return removed;
  for (const char* name : {"peer", "attempts", "mirrors", "store", "secrets"})
    if (Status removed = posix::remove_tree_at(folder.value().get(), name); !removed.ok())
      return removed;
  return success();
}

}  // namespace gpl::peer
