#include "gpl/client/cluster.h"

#include <unistd.h>

#include "gpl/host/socket_path.h"
#include "gpl/net/address.h"

namespace gpl::client {
namespace {

constexpr const char* system_socket = "/run/gpl/peer.sock";

Error refuse_peers(const std::string& peers) {
  Result<std::vector<net::PeerAddress>> addresses = net::parse_peer_addresses(peers);
  if (!addresses.ok()) return std::move(addresses).error();
  std::string known;
  for (const net::PeerAddress& address : addresses.value()) {
    Result<std::vector<std::string>> numeric = net::resolve(address.host);
    if (!numeric.ok()) return std::move(numeric).error();
    if (!known.empty()) known += ", ";
    known += address.host;
    if (!numeric.value().empty() && numeric.value().front() != address.host) {
      known += " (" + numeric.value().front() + ")";
    }
    known += " port " + std::to_string(address.port);
  }
  return Error{Code::unsupported, "cannot ask the peers " + known +
                                      ": this version asks the peer of this machine only, and "
                                      "--local runs jobs without one"};
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Error nobody_answers(const std::string& why, const Error& reason) {
  return Error{Code::not_found, "this machine's peer does not answer (" + reason.message +
                                    "), and it belongs to a cluster (" + why +
                                    "): gpl worker --detach starts it; --local runs it here"};
}

}  // namespace

Result<std::unique_ptr<Session>> find_cluster(const ClusterChoice& choice,
                                              const host::Folders& folders, const Voice& voice) {
  if (choice.local) return std::unique_ptr<Session>();
  if (!choice.peers.empty()) return refuse_peers(choice.peers);
  const std::string identity = folders.state + "/peer/identity";
  const std::string key = folders.configuration + "/cluster.key";
  const bool is_member = exists(identity);
  const std::string why = is_member ? identity : exists(key) ? key : "";

  PeerPlace place;
  place.version = choice.version;
  if (why.empty()) place.patience = {};
  Result<std::string> own = host::socket_path(folders.state, "peer.sock");
  // Where a path is that another user could have made, no peer of the caller's can be.
  if (!own.ok() && is_member) return std::move(own).error();
  if (own.ok() && (is_member || exists(own.value()))) place.sockets.push_back(own.value());
  // A member has jobs of its own cluster: those of another one are not meant.
  if (!is_member && ::access(system_socket, R_OK | W_OK) == 0) {
    place.sockets.emplace_back(system_socket);
  }
  if (place.sockets.empty() && why.empty()) return std::unique_ptr<Session>();
  if (place.sockets.empty() && own.ok()) place.sockets.push_back(own.value());

  Result<std::unique_ptr<Session>> session = Session::connect(std::move(place), voice);
  if (session.ok() || session.error().code != Code::not_found) return session;
  if (why.empty()) return std::unique_ptr<Session>();
  return nobody_answers(why, session.error());
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
