#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/address.h"
#include "gpl/net/loop.h"
#include "gpl/net/mdns.h"

namespace gpl::peer {

/// What a peer announces: its id is the instance, and in the text with its cluster's fingerprint.
net::MdnsService announced(PeerId peer, const std::string& fingerprint, const std::string& version,
                           std::uint16_t port);

/// The peer that an announcement is of: nothing when it is of another cluster, or makes no sense.
std::optional<PeerId> announced_peer(const net::MdnsService& service,
                                     const std::string& fingerprint);

/// Which peers mDNS shows, and whether it should show more: it is blocked when peers of other
/// machines are linked, and none of them has been seen for 30 s.
class Sightings {
 public:
  void found(PeerId peer);
  void gone(PeerId peer) { seen_.erase(peer); }
  /// `far`: who is linked now and is on another machine. Whether it is only now that multicast
  /// seems blocked: once.
  bool check(Moment now, const std::set<PeerId>& far);
  bool is_blocked() const { return blocked_; }
  std::size_t count() const { return seen_.size(); }

 private:
  std::set<PeerId> seen_;
  std::optional<Moment> none_since_;
  bool blocked_ = false;
  bool told_ = false;
};

/// Finds peers of a cluster by multicast DNS, and announces this one: hints, to be confirmed by a
/// handshake.
class Discovery {
 public:
  struct Options {
    std::string fingerprint;
    std::optional<net::MdnsService> announce;  ///< see `announced`
  };
  struct Told {
    /// New, or at other addresses. The own id too: another machine announces it.
    std::function<void(PeerId, const std::vector<net::PeerAddress>&)> hint;
    /// Of another cluster, by its fingerprint; may be empty.
    std::function<void(const net::MdnsFound&)> stranger;
    std::function<void(const std::string& note)> note;
  };

  /// Errors of net::Mdns.
  static Result<std::unique_ptr<Discovery>> open(net::Loop& loop, Options options, Told told);
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  /// To be called now and then; see Sightings. Notes it once.
  void check(Moment now, const std::set<PeerId>& far);
  const Sightings& sightings() const { return sightings_; }

 private:
  Discovery(Options options, Told told);
  void found(const net::MdnsFound& found);
  void gone(const std::string& instance);

  Options options_;
  Told told_;
  Sightings sightings_;
  std::unique_ptr<net::Mdns> mdns_;
};

}  // namespace gpl::peer
