#include "gpl/client/cluster.h"

#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "gpl/client/client_key.h"
#include "gpl/client/discovery.h"
#include "gpl/client/seen_peers.h"
#include "gpl/host/configuration.h"
#include "gpl/host/key_file.h"
#include "gpl/host/socket_path.h"
#include "gpl/net/address.h"

namespace gpl::client {
namespace {

using Found = Result<std::unique_ptr<Session>>;

constexpr const char* system_socket = "/run/gpl/peer.sock";
// This machine's own peer may be starting anew. Others are as many as are named.
constexpr Duration own_patience = seconds(10);
constexpr Duration far_patience = seconds(2);
constexpr Duration look_limit = seconds(2);

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// Nobody answered there: what else there is may be tried.
bool is_nobody(const Found& found) { return !found.ok() && found.error().code == Code::not_found; }

/// One search for a peer, and what it has tried.
class Search {
 public:
  Search(const ClusterChoice& choice, const host::Folders& folders, const Voice& voice)
      : choice_(choice),
        folders_(folders),
        voice_(voice),
        identity_(folders.state + "/peer/identity"),
        key_(host::key_file_path(folders.configuration)),
        has_key_(exists(key_)),
        // It is about to be one while a worker founds or joins.
        is_member_(exists(identity_) || (has_key_ && exists(folders.state + "/peer/lock"))) {}

  Found find() {
    if (!choice_.peers.empty() && choice_.only_here)
      return Error{Code::invalid,
                   "this is about the peer of this machine: --peers, or GPL_PEERS, "
                   "names others"};
    if (!choice_.peers.empty()) return ask_named();
    if (Found found = ask_this_machine(); found_or_wrong(found)) return found;
    if (choice_.only_here && !is_member_) return std::unique_ptr<Session>();
    if (!is_member_ && !has_key_) return std::unique_ptr<Session>();
    if (has_key_ && !choice_.only_here) {
      if (Found found = ask_others(); found_or_wrong(found)) return found;
    }
    return nobody();
  }

 private:
  static bool found_or_wrong(const Found& found) {
    return found.ok() ? found.value() != nullptr : !is_nobody(found);
  }

  Found ask_named() {
    Result<std::vector<net::PeerAddress>> addresses = net::parse_peer_addresses(choice_.peers);
    if (!addresses.ok()) return std::move(addresses).error();
    Result<std::optional<Proof>> proof = read_proof(folders_);
    if (!proof.ok()) return std::move(proof).error();
    if (!proof.value()) {
      return Error{Code::denied,
                   "cannot ask the peers " + choice_.peers + ": there is no cluster key here (" +
                       key_ +
                       "): on a machine of the cluster gpl key show tells it, gpl key set takes it "
                       "here; --local runs jobs without a cluster"};
    }
    Found found = ask(std::move(addresses).value(), std::move(*proof.value()));
    if (!is_nobody(found) && !(!found.ok() && found.error().code == Code::invalid)) return found;
    return Error{Code::not_found, "none of the peers " + choice_.peers + " answers: " +
                                      found.error().message + "; --local runs jobs without one"};
  }

  /// Null: there is no peer.
  Found ask_this_machine() {
    PeerPlace place;
    place.version = choice_.version;
    place.patience = is_member_ ? own_patience : Duration();
    Result<std::string> own = host::socket_path(folders_.state, "peer.sock");
    // Where a path is that another user could have made, no peer of the caller's can be.
    if (!own.ok() && is_member_) return std::move(own).error();
    if (own.ok() && (is_member_ || exists(own.value()))) place.sockets.push_back(own.value());
    // A member has jobs of its own cluster: those of another one are not meant.
    if (!is_member_ && ::access(system_socket, R_OK | W_OK) == 0) {
      place.sockets.emplace_back(system_socket);
    }
    if (place.sockets.empty()) return std::unique_ptr<Session>();
    return noted(Session::connect(std::move(place), voice_));
  }

  Found ask_others() {
    Result<std::optional<Proof>> proof = read_proof(folders_);
    if (!proof.ok()) return std::move(proof).error();
    if (!proof.value()) return std::unique_ptr<Session>();
    const std::string file = folders_.configuration + "/gpl.toml";
    Result<host::Configuration> configuration = host::read_configuration(file);
    if (!configuration.ok()) return std::move(configuration).error();
    const host::Meeting& meeting = configuration.value().meeting;
    std::vector<net::PeerAddress> seeds;
    for (const std::string& peer : meeting.peers) {
      Result<net::PeerAddress> address = net::parse_peer_address(peer);
      if (!address.ok())
        return Error{Code::invalid, file + ": 'peers': " + address.error().message};
      seeds.push_back(std::move(address).value());
    }
    if (!seeds.empty()) {
      if (Found found = noted(ask(seeds, *proof.value())); !is_nobody(found)) return found;
    }
    if (!meeting.mdns) return std::unique_ptr<Session>();
    return ask_seen(*proof.value());
  }

  /// Where a peer answered the last time, since looking may take a second; then who is seen now.
  Found ask_seen(const Proof& proof) {
    const std::vector<net::PeerAddress> before = read_seen_peers(folders_.state);
    if (!before.empty()) {
      Found found = ask(before, proof);
      if (found.ok()) return found;
    }
    Result<std::vector<net::PeerAddress>> seen = discover_peers(proof, look_limit);
    if (!seen.ok()) return noted(std::move(seen).error());
    Found found = noted(ask(seen.value(), proof));
    // The first has shaken hands; anyone may have announced the others.
    if (found.ok() && !seen.value().empty())
      keep_seen_peers(folders_.state, {seen.value().front()});
    return found;
  }

  Found ask(std::vector<net::PeerAddress> addresses, Proof proof) {
    PeerPlace place;
    place.addresses = std::move(addresses);
    place.proof = std::move(proof);
    place.patience = far_patience;
    place.version = choice_.version;
    return Session::connect(std::move(place), voice_);
  }

  Found noted(Found found) {
    if (!found.ok()) tried_ += (tried_.empty() ? "" : "; ") + found.error().message;
    return found;
  }

  Error nobody() const {
    const std::string tried = tried_.empty() ? "" : " (" + tried_ + ")";
    if (is_member_) {
      return Error{Code::not_found, "this machine's peer does not answer" + tried +
                                        ", and it belongs to a cluster (" + identity_ +
                                        "): gpl worker --detach starts it; --local runs it here"};
    }
    return Error{Code::not_found,
                 "no peer of the cluster answers" + tried + ", and there is a key of one (" + key_ +
                     "): --peers names a peer, gpl worker --detach makes this machine one; --local "
                     "runs it here"};
  }

  const ClusterChoice& choice_;
  const host::Folders& folders_;
  const Voice& voice_;
  std::string identity_;
  std::string key_;
  bool has_key_;
  bool is_member_;
  std::string tried_;
};

}  // namespace

Result<std::unique_ptr<Session>> find_cluster(const ClusterChoice& choice,
                                              const host::Folders& folders, const Voice& voice) {
  if (choice.local) return std::unique_ptr<Session>();
  return Search(choice, folders, voice).find();
}

Result<std::unique_ptr<Session>> need_cluster(const ClusterChoice& choice,
                                              const host::Folders& folders, const Voice& voice) {
  Result<std::unique_ptr<Session>> session = find_cluster(choice, folders, voice);
  if (!session.ok() || session.value() != nullptr) return session;
  return Error{Code::not_found, choice.local
                                    ? "--local asks for no cluster, and this needs one"
                                    : "there is no cluster here: gpl worker --detach makes this "
                                      "machine one, and lends it"};
}

}  // namespace gpl::client
