#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mdns_browser.h"
#include "mdns_responder.h"

namespace gpl::net {

/// Multicast DNS on one link, over IPv4 and IPv6 alike, without its sockets: packets and the time
/// in, packets and events out. After each call: take both, and mind `wake`.
class MdnsLink {
 public:
  /// `interface` is the scope of link-local addresses. Looks at the first `tick`.
  MdnsLink(std::string interface, std::uint64_t seed, Moment now);

  /// Nothing: only look.
  void announce(std::optional<MdnsService> service, Moment now);
  /// The link's addresses, and every address of this machine.
  void set_addresses(std::vector<IpAddress> of_link, std::set<IpAddress> own, Moment now);
  void look(Moment now);
  /// After a sleep: says again what is announced, and looks.
  void resume(Moment now);
  /// A packet that anyone may have sent, but none of the own ones that came back (MdnsEcho).
  void receive(std::string_view bytes, const MdnsSource& from, Moment now);
  void tick(Moment now);
  Moment wake() const;

  std::vector<MdnsPacket> take_packets();
  std::vector<MdnsEvent> take_events() { return browser_.take_events(); }
  /// What there is to say to the group at the end.
  std::vector<std::string> goodbye() const { return responder_.goodbye(); }
  /// Whether questions about the service are answered.
  bool announced() const { return responder_.announced(); }

 private:
  struct Heard {
    std::string bytes;
    bool v6 = false;
    Moment at;
  };
  bool heard_over_the_other(std::string_view bytes, bool v6, Moment now);

  MdnsResponder responder_;
  MdnsBrowser browser_;
  std::optional<MdnsService> service_;
  std::set<IpAddress> own_;
  std::deque<Heard> heard_;
};

}  // namespace gpl::net
