#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/net/address.h"
#include "gpl/net/loop.h"

namespace gpl::net {

/// What a peer says of itself on the local network: the instance INSTANCE._gpl._tcp.local, at the
/// host gpl-INSTANCE.local.
struct MdnsService {
  std::string instance;  ///< one label, of letters, digits and '-': the peer's id in hex
  std::uint16_t port = 0;
  std::map<std::string, std::string> text;  ///< TXT: id, key (the cluster's fingerprint), version
  friend bool operator==(const MdnsService&, const MdnsService&) = default;
};

/// An instance that was seen, and where: numeric addresses with the service's port, those of the
/// link it was seen on first; link-local IPv6 with its scope ("fe80::1%eth0").
struct MdnsFound {
  MdnsService service;
  std::vector<PeerAddress> addresses;
  friend bool operator==(const MdnsFound&, const MdnsFound&) = default;
};

struct MdnsOptions {
  std::optional<MdnsService> announce;  ///< nothing: only look
};

/// Multicast DNS (RFC 6762) and DNS-based service discovery (RFC 6763) for _gpl._tcp.local, as far
/// as peers need it to announce and find each other, on IPv4 and IPv6, on every interface that is
/// up and takes multicast (loopback and point-to-point ones excluded; interfaces that come and go
/// are noticed). Beside another responder on this machine. A hint, never a proof.
class Mdns {
 public:
  struct Told {
    /// New, or known under other addresses or text. Of announced services also the own one's twin:
    /// the same instance that another machine announces.
    std::function<void(const MdnsFound&)> found;
    /// It said goodbye, or its records were not refreshed.
    std::function<void(const std::string& instance)> gone;
    std::function<void(const std::string& note)> note;  ///< may be empty
  };

  /// Code::io: no socket at all. Without a usable interface it waits for one.
  static Result<std::unique_ptr<Mdns>> open(Loop& loop, MdnsOptions options, Told told);
  /// Silent. Says goodbye first if something is announced.
  ~Mdns();
  Mdns(const Mdns&) = delete;
  Mdns& operator=(const Mdns&) = delete;

  /// Another port, another text.
  void announce(MdnsService service);
  /// Asks again at once, whatever the schedule.
  void look();
  /// So many interfaces can be used now.
  std::size_t interfaces() const;

 private:
  struct State;
  explicit Mdns(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace gpl::net
