#include <unistd.h>

#include <algorithm>
#include <utility>

#include "gpl/core/hex.h"
#include "gpl/peer/peer.h"

namespace gpl::peer {
namespace {

constexpr Duration leave_at_most = seconds(10);
constexpr Duration stop_at_most = seconds(2);
constexpr Duration hold_at_most = seconds(3600);

Caller::Rights rights_of(auth::Role role) {
  switch (role) {
    case auth::Role::peer:
      return Caller::Rights::all;
    case auth::Role::client:
      return Caller::Rights::own;
    case auth::Role::observer:
      return Caller::Rights::looking;
  }
  return Caller::Rights::looking;
}

}  // namespace

Status Peer::open_mesh(const auth::KeyPair& own) {
  MeshOptions options{.identity = parts_.identity,
                      .key = *options_.key,
                      .own = own,
                      .version = GPL_VERSION,
                      .state_folder = parts_.state_folder,
                      .listen = options_.listen,
                      .seeds = options_.seeds,
                      .mdns = options_.mdns};
  Mesh::Told told;
  told.up = [this](PeerId peer) {
    names_.try_emplace(peer, parts_.mesh->hello_of(peer)->name);
    tell(name_of(peer) + " is linked");
    parts_.consensus->link_changed(peer);
    parts_.mirrors->peer_is_up(peer);
  };
  told.down = [this](PeerId peer) {
    tell("the link with " + name_of(peer) + " is gone");
    parts_.holders->link_lost(peer);
    parts_.far->lost(peer);
    parts_.consensus->link_changed(peer);
  };
  told.message = [this](PeerId from, wire::LinkMessage message) { take(from, message); };
  told.client = [this](net::SecureSocket socket) { accepted(std::move(socket)); };
  told.twin = [this](const Error& error) {
    failure_ = error;
    parts_.loop.stop();
  };
  told.note = [this](const std::string& note) { log(note); };
  auto mesh = Mesh::open(parts_.loop, std::move(options), std::move(told));
  if (!mesh.ok()) return std::move(mesh).error();
  parts_.mesh = std::move(mesh).value();
  return success();
}

void Peer::wire_network() {
  const auto dial = [this](PeerId peer, Mesh::Dialled done) {
    parts_.mesh->dial(peer, std::move(done));
  };
  parts_.far = std::make_unique<FarSessions>(
      parts_.loop, FarSessions::connect_by(parts_.loop, dial), GPL_VERSION);
  parts_.holders = std::make_unique<Holders>(Holders::Around{
      .loop = parts_.loop,
      .send =
          [this](PeerId peer, wire::LinkMessage message) {
            return parts_.mesh->send(peer, std::move(message));
          },
      .up = [this] { return parts_.mesh->up(); },
      .has = [this](wire::Holding what, const std::string& key,
                    std::function<void(bool)> told) { has(what, key, std::move(told)); },
      .hold = [this](PeerId from, wire::Hold asked,
                     std::function<void(Status)> told) { hold(from, asked, std::move(told)); },
      .secrets =
          [this](PeerId, const RequestId& request,
                 const std::function<void(Result<std::vector<wire::Secret>>)>& told) {
            told(parts_.secrets->find(request));
          }});
  parts_.pulls = std::make_unique<TreePulls>(TreePulls::Around{
      .loop = parts_.loop,
      .pool = *parts_.pool,
      .store = *parts_.store,
      .pins = *parts_.pins,
      .far = *parts_.far,
      .find_holders = [this](const ContentId& tree, std::function<void(std::vector<PeerId>)> told) {
        parts_.holders->find(wire::Holding::tree, tree, std::nullopt, std::move(told));
      }});
  parts_.mirrors = std::make_unique<Mirrors>(Mirrors::Around{
      .loop = parts_.loop,
      .pool = *parts_.pool,
      .far = *parts_.far,
      .attempts = *parts_.attempts,
      .self = parts_.identity.peer,
      .state_folder = parts_.state_folder,
      .name_of = [this](PeerId peer) { return name_of(peer); },
      .is_up = [this](PeerId peer) { return parts_.mesh->is_up(peer); },
      .is_attached = [this](JobId job) { return parts_.watch->is_attached(job); },
      .is_under_way =
          [this](const Fence& attempt) {
            const ClusterState* state = parts_.consensus ? parts_.consensus->state() : nullptr;
            const Attempt* known =
                state != nullptr ? state->find_attempt(attempt.attempt) : nullptr;
            return known != nullptr && known->fence == attempt;
          },
      .note = [this](const std::string& note) { log(note); }});
}

/// The handshake has proved the role.
void Peer::accepted(net::SecureSocket socket) {
  const auth::Established& session = socket.session;
  Caller caller;
  caller.submitter = {auth::name_of(session.remote_static), parts_.identity.peer, 0};
  caller.rights = rights_of(session.role);
  // A callback this peer has dialled itself: the role is its own, and who asks is the far end.
  caller.is_peer = session.purpose != auth::Purpose::client;
  if (caller.is_peer) caller.peer = parts_.mesh->peer_of(session.remote_static);
  begin_session(std::move(caller),
                [&](ClientSession& asking) { return asking.adopt(std::move(socket)); });
}

void Peer::take(PeerId from, const wire::LinkMessage& message) {
  parts_.holders->take(from, message);
  parts_.consensus->take(from, message);
}

void Peer::is_whole(const ContentId& tree, std::function<void(bool)> told) {
  const auto id = artifact::Digest::from_bytes(tree);
  if (!id) return told(false);
  const auto whole = std::make_shared<bool>(false);
  parts_.pool->submit(
      ticket_,
      [store = parts_.store.get(), id = *id, whole] {
        const Result<bool> found = store->is_whole(id);
        *whole = found.ok() && found.value();
      },
      [whole, told = std::move(told)] { told(*whole); });
}

/// What an attempt made may not have been looked for yet.
bool Peer::may_have_results(JobId job) const {
  const std::vector<Fence> attempts = parts_.attempts->of(job);
  return parts_.results->usage(job).files > 0 ||
         std::any_of(attempts.begin(), attempts.end(), [&](const Fence& fence) {
           const LocalAttempt& attempt = *parts_.attempts->find(fence);
           return attempt.ran_on == PeerId{} && !attempt.collected;
         });
}

void Peer::has(wire::Holding what, const std::string& key, std::function<void(bool)> told) {
  const std::optional<JobId> job = job_of_key(key);
  switch (what) {
    case wire::Holding::tree:
      return is_whole(key, std::move(told));
    case wire::Holding::secrets: {
      const auto request = request_of_key(key);
      return told(request && parts_.secrets->has(*request));
    }
    case wire::Holding::output:
      return told(job && !parts_.attempts->of(*job).empty());
    case wire::Holding::results:
      return told(job && may_have_results(*job));
  }
}

/// The tree stays pinned until the job's own pin takes over, or this process ends.
void Peer::hold(PeerId from, const wire::Hold& asked, std::function<void(Status)> told) {
  if (!state_ready_) return told(Error{Code::busy, "it is starting"});
  if (const auto full = short_of_space()) return told(*full);
  std::size_t secret_bytes = 0;
  for (const wire::Secret& secret : asked.secrets)
    secret_bytes += secret.name.size() + secret.value.size();
  if (secret_bytes > most_secret_bytes)
    return told(Error{Code::too_large, "its secrets are too long"});
  if (Status kept = parts_.secrets->keep(asked.request, asked.secrets); !kept.ok())
    return told(kept);
  if (asked.tree.empty() || parts_.peer.is_pinned(asked.tree) || held_.contains(asked.tree))
    return told(success());
  const std::uint64_t number = ++last_session_;
  parts_.pulls->bring(asked.tree, from, number, [this, asked, number, told](const Status& brought) {
    if (brought.ok()) hold_until_submitted(asked, number);
    if (!brought.ok()) parts_.pulls->release(number);
    told(brought);
  });
}

/// The job's own pin takes over; its Submit may have been quicker than the tree.
void Peer::hold_until_submitted(const wire::Hold& asked, std::uint64_t number) {
  const ClusterState* state = parts_.consensus->state();
  const auto job = state != nullptr ? state->find_request(asked.request) : std::nullopt;
  if (job) pin(*job, asked.tree);
  const bool is_held =
      !job && held_.emplace(asked.tree, HeldTree{number, parts_.loop.now()}).second;
  if (!is_held) parts_.pins->then([this, number] { parts_.pulls->release(number); });
}

/// Those whose job never came: it was refused, or who took it is gone.
void Peer::let_go_of_held() {
  const Moment now = parts_.loop.now();
  std::erase_if(held_, [&](const auto& entry) {
    const bool is_old = now - entry.second.since >= hold_at_most;
    if (is_old) parts_.pulls->release(entry.second.pin);
    return is_old;
  });
}

/// The leader first: it stays.
void Peer::hold_elsewhere(const wire::SubmitJob& job, std::function<void()> done) {
  std::vector<PeerId> candidates = parts_.mesh->up();
  if (candidates.empty() || (job.job.tree.empty() && job.secrets.empty())) return done();
  const PeerId leader = parts_.consensus->facts().leader;
  std::stable_partition(candidates.begin(), candidates.end(),
                        [&](PeerId peer) { return peer == leader; });
  parts_.holders->hold(job.request, job.job.tree, job.secrets, std::move(candidates),
                       [this, done = std::move(done)](const Status& held) {
                         if (!held.ok())
                           log("no second peer holds a job's files: " + held.error().message);
                         done();
                       });
}

std::string Peer::name_of(PeerId peer) const {
  if (peer == PeerId{} || peer == parts_.identity.peer) return parts_.identity.name;
  if (const auto known = names_.find(peer); known != names_.end()) return known->second;
  const wire::LinkHello* hello = parts_.mesh->hello_of(peer);
  return hello != nullptr ? hello->name : "peer " + hex(peer.value);
}

std::string Peer::address() const { return parts_.mesh->shown_address(); }

void Peer::leave(const std::function<void(Status)>& done) {
  parts_.consensus->give_up(true, leave_at_most, [this, done](const Status& given_up) {
    done(given_up);
    if (!given_up.ok()) return;
    left_ = true;
    was_whole_cluster_ = names_.size() <= 1 && parts_.mesh->up().empty() &&
                         ::access((parts_.state_folder + "/peer/peers").c_str(), F_OK) != 0;
    parts_.keeper->retire();
    // What was said to the client and the keeper goes out first.
    minute_ = parts_.loop.after(milliseconds(200), [this] { parts_.loop.stop(); });
  });
}

void Peer::stop() {
  parts_.consensus->give_up(false, stop_at_most, [this](const Status& given_up) {
    if (!given_up.ok()) tell("it ends without having given up its vote");
    parts_.loop.stop();
  });
}

}  // namespace gpl::peer
