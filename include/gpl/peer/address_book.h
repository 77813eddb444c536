#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/net/address.h"
#include "gpl/wire/link_message.h"

namespace gpl::peer {

/// How far an address reaches.
enum class AddressReach {
  nowhere,     ///< no numeric address of one machine: a name, 0.0.0.0, multicast
  loopback,    ///< this machine alone
  link_local,  ///< IPv6, fe80::/10: machines on one link; "%eth0" says which
  wide,
};
AddressReach reach_of(const std::string& host);

/// Where the other peers of the cluster have been reached, the best first: hints, since machines
/// move and addresses are handed on. What this peer has found itself comes before what others tell,
/// and only that is told on, and kept on disk: STATE/peer/peers, replaced as a whole and not
/// synced. Bounded, whatever others tell.
class AddressBook {
 public:
  static constexpr std::size_t most_peers = 1000;
  static constexpr std::size_t most_addresses = 8;  ///< of a peer

  /// `state` "": nothing is kept.
  explicit AddressBook(std::string state);

  /// Takes up what was kept. An error only says that what is there is of no use: the book is empty.
  Status load();
  /// Fine when nothing has changed since.
  Status save();
  bool is_changed() const { return changed_; }

  /// It is here itself: no longer forgotten.
  void remember(PeerId peer) { forgotten_.erase(peer); }
  /// A connection to it worked.
  void worked(PeerId peer, const std::string& name, const net::PeerAddress& address);
  /// It said so itself, on a connection that it made. Whether that is news.
  bool seen(PeerId peer, const std::string& name, const net::PeerAddress& address);
  /// Anyone on the network may have said so, by mDNS: hearsay. Whether that is news.
  bool hinted(PeerId peer, const net::PeerAddress& address);
  /// Another peer says so, on a link whose far end is `from`: loopback addresses are taken only
  /// from this machine, link-local ones only on their own link. Whether that is news.
  bool told(const wire::KnownPeer& known, const net::PeerAddress& from);
  /// Somebody else answers there.
  void wrong(PeerId peer, const net::PeerAddress& address);
  /// What others tell of it is not taken any more, until it is here itself.
  void forget(PeerId peer);

  std::vector<PeerId> peers() const;
  std::vector<net::PeerAddress> addresses(PeerId peer) const;
  /// What a peer at `to` is to be told of this one: no loopback address unless it is on this
  /// machine, a link-local one only on the same link and when there is no other kind, and never a
  /// scope. Nothing when no address is left.
  std::optional<wire::KnownPeer> telling(PeerId peer, const net::PeerAddress& to) const;

 private:
  struct Known {
    net::PeerAddress address;
    bool own = false;
  };
  struct Entry {
    std::string name;
    std::vector<Known> known;  ///< own ones first
  };

  Entry* entry(PeerId peer, bool own);
  bool put(PeerId peer, const std::string& name, Known known, bool first);

  std::string state_;
  std::map<PeerId, Entry> entries_;
  std::set<PeerId> forgotten_;
  bool changed_ = false;
};

}  // namespace gpl::peer
