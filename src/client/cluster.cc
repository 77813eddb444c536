#include "gpl/client/cluster.h"

#include <unistd.h>

#include "gpl/net/address.h"

namespace gpl::client {
namespace {

constexpr const char* way_out = "this version runs jobs on this machine only; --local does that";

Status refuse_peers(const std::string& peers) {
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
  return Error{Code::unsupported, "cannot ask the peers " + known + ": " + way_out};
}

}  // namespace

Status require_embedded(const ClusterChoice& choice, const host::Folders& folders) {
  if (choice.local) return success();
  if (!choice.peers.empty()) return refuse_peers(choice.peers);
  const std::string key = folders.configuration + "/cluster.key";
  if (::access(key.c_str(), F_OK) != 0) return success();
  return Error{Code::unsupported,
               "there is a cluster key (" + key + "), but no peer is asked: " + way_out};
}

}  // namespace gpl::client
