#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpl/auth/handshake.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/address.h"
#include "gpl/net/loop.h"

namespace gpl::peer {

/// A cluster that was found: by one of its peers.
struct FoundCluster {
  std::uint64_t cluster = 0;
  net::PeerAddress seed;  ///< who answered
  std::string name;       ///< of that machine
};

/// Looks for peers that hold this key: at the seeds, and by mDNS; each hint is confirmed by the
/// handshake and the other's LinkHello. It goes on until it has found one or is dropped, which a
/// callback may do. Requires the cluster key, not one that was derived from it.
class ClusterSearch {
 public:
  struct Options {
    auth::Key key;
    auth::KeyPair own;
    std::vector<net::PeerAddress> seeds;
    bool mdns = true;
    std::string version;
  };
  struct Told {
    std::function<void(FoundCluster)> found;  ///< once
    /// Who answers but is not it (another key), or does not answer; once each reason.
    std::function<void(const std::string& note)> note;
  };
  ClusterSearch(net::Loop& loop, Options options, Told told);
  ~ClusterSearch();
  ClusterSearch(const ClusterSearch&) = delete;
  ClusterSearch& operator=(const ClusterSearch&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with its own callbacks while they run
};

}  // namespace gpl::peer
