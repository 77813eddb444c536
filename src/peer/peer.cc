#include "gpl/peer/peer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gpl/core/size.h"
#include "gpl/host/socket_path.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/tree.h"

namespace gpl::peer {
namespace {

constexpr std::size_t checks_a_pass = 2000;
constexpr const char* founded_mark = "/peer/founded";

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

Status mark_founded(const std::string& state_folder) {
  const std::string path = state_folder + founded_mark;
  const posix::Fd mark(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!mark.valid() || ::fsync(mark.get()) != 0) return posix::io_error("cannot write " + path);
  return success();
}

}  // namespace

Peer::Peer(net::Loop& loop, PeerOptions options, Identity identity, bool founded)
    : options_(std::move(options)),
      founded_(founded),
      parts_(loop, std::move(identity), options_.state_folder),
      alive_(std::make_shared<char>()) {}

/// Sessions use the parts; the pool's work uses what lives longer than it; the log goes first.
Peer::~Peer() {
  listener_.reset();
  sessions_.clear();
  parts_.consensus.reset();
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
  const bool founded = !known.value().has_value();
  if (founded) {
    Result<Identity> made = found_identity(state);
    if (!made.ok()) return std::move(made).error();
    known = std::optional<Identity>(std::move(made).value());
  }
  std::unique_ptr<Peer> peer(
      new Peer(loop, std::move(options), std::move(*known.value()), founded));
  peer->lock_ = std::move(held).value();
  if (Status started = peer->start(); !started.ok()) return std::move(started).error();
  return peer;
}

Status Peer::start() {
  const Space space = space_of(parts_.state_folder);
  constexpr std::uint64_t kib = 1024;
  constexpr std::uint64_t mib = 1024 * kib;
  segment_bytes_ = std::clamp(space.total_bytes / 64, 256 * kib, 16 * mib);
  reserve_bytes_ = std::clamp(space.total_bytes / 20, 512 * kib, 64 * mib);
  parts_.peer = calls();
  if (Status listening = listen(); !listening.ok()) return listening;
  if (Status opened = open_store(); !opened.ok()) return opened;
  wire_keeper();
  if (Status opened = open_consensus(); !opened.ok()) return opened;
  if (Status marked = mark_founded(parts_.state_folder); !marked.ok()) return marked;
  parts_.keeper->start();
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
  parts_.secrets = std::make_unique<JobSecrets>(parts_.state_folder);
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
  const auto send = [this](const wire::PeerToKeeper& message) { parts_.keeper->send(message); };
  parts_.watch = std::make_unique<OutputWatch>(send, [this](JobId job) { abandoned(job); });
  parts_.calls = std::make_unique<KeeperCalls>(send);
}

Status Peer::open_consensus() {
  ConsensusOptions options;
  options.folder = parts_.state_folder + "/peer/log";
  options.node = parts_.identity.node;
  options.found = ::access((parts_.state_folder + founded_mark).c_str(), F_OK) != 0;
  options.segment_bytes = segment_bytes_;
  const auto rule = [this](const ClusterState& state, Instant now) {
    // What is begun on a full disk fails, and would be told as the job's failure.
    if (short_of_space() || !can_place(state)) return Placements{{}, false};
    Scheduler::Pass pass = scheduler_.pass(state, now, checks_a_pass);
    return Placements{std::move(pass.places), pass.complete};
  };
  Consensus::Told told;
  told.applied = [this](const AppliedEntry& entry) { applied(entry); };
  told.leading = [this] { restored(); };
  told.send = [this](PeerId to, const LeaderToWorker& message) {
    if (to == parts_.identity.peer) parts_.keeper->send(wire::to_keeper::FromLeader{message});
  };
  told.note = [this](const std::string& note) { log(note); };
  told.closed = [this](const Error& error) {
    state_ready_ = false;
    log("the log cannot be written, and is tried again: " + error.message);
    parts_.keeper->send(wire::to_keeper::SessionLost{});
    resume_sessions();
  };
  auto consensus = Consensus::open(parts_.loop, std::move(options), rule, std::move(told));
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

void Peer::accepted(posix::Fd socket) {
  const Result<net::Credentials> who = net::peer_credentials(socket.get());
  if (!who.ok()) return log(who.error().message);
  const std::uint64_t number = ++last_session_;
  auto session = std::make_unique<ClientSession>(parts_, number, who.value(),
                                                 [this, number] { sessions_.erase(number); });
  if (Status adopted = session->adopt(std::move(socket)); !adopted.ok())
    return log(adopted.error().message);
  if (!answers()) session->pause();
  sessions_.emplace(number, std::move(session));
}

bool Peer::can_place(const ClusterState& state) const {
  const PeerRecord* self = state.find_peer(parts_.identity.peer);
  const auto& keeper = parts_.keeper->hello();
  return self != nullptr && keeper && keeper->instance == self->keeper;
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
  calls.leave = [this] {
    left_ = true;
    parts_.keeper->retire();
    // What was said to the client and the keeper goes out first.
    minute_ = parts_.loop.after(milliseconds(200), [this] { parts_.loop.stop(); });
  };
  return calls;
}

Status Peer::clean_up(const std::string& state_folder) {
  Result<posix::Fd> folder = posix::open_folder(state_folder);
  if (!folder.ok()) return std::move(folder).error();
  if (Status removed = remove_identity(state_folder); !removed.ok()) return removed;
  for (const char* name : {"peer", "attempts", "store", "secrets"})
    if (Status removed = posix::remove_tree_at(folder.value().get(), name); !removed.ok())
      return removed;
  return success();
}

}  // namespace gpl::peer
