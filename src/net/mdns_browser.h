#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mdns_cache.h"

namespace gpl::net {

/// That an instance is found, or known otherwise than before; with nothing found: that it is gone.
struct MdnsEvent {
  std::string instance;
  std::optional<MdnsFound> found;
  friend bool operator==(const MdnsEvent&, const MdnsEvent&) = default;
};

/// Looks for instances on one link (RFC 6762 section 5.2): at once, after 1 s, 3 s, 9 s ... up to
/// an hour.
class MdnsBrowser {
 public:
  /// `interface` is the scope of link-local addresses.
  MdnsBrowser(std::string interface, Prng prng, Moment now);

  /// The service that this peer announces itself, and every address of this machine.
  void set_own(std::optional<MdnsService> service, std::set<IpAddress> addresses);
  void look(Moment now);
  void response(const DnsMessage& response, const MdnsSource& from, Moment now);
  void tick(Moment now);
  /// When `tick` has something to do next.
  Moment wake() const;

  std::vector<std::string> take_queries();
  std::vector<MdnsEvent> take_events();

 private:
  void ask_for_instances(Moment now);
  void ask(const std::vector<DnsQuestion>& questions);
  void tell();
  std::optional<MdnsFound> found(const std::string& key) const;

  std::string interface_;
  Prng prng_;
  MdnsCache cache_;
  std::optional<MdnsService> own_;
  std::set<IpAddress> own_addresses_;
  Moment next_query_;
  Duration interval_;
  std::vector<std::string> queries_;
  std::vector<MdnsEvent> events_;
  std::map<std::string, MdnsFound> told_;
};

}  // namespace gpl::net
