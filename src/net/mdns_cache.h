#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpl/core/prng.h"
#include "gpl/core/time.h"
#include "mdns_records.h"

namespace gpl::net {

/// How long a record is still believed, and when to ask for it again: at 80, 85, 90 and 95 % of its
/// life (RFC 6762 section 5.2).
class Lifetime {
 public:
  Lifetime() = default;
  Lifetime(Moment received, std::uint32_t ttl_s, Prng& prng);

  Moment received() const { return received_; }
  Moment end() const { return received_ + life_; }
  /// When something is to be done: to ask again, or to forget.
  Moment due() const;
  bool over(Moment now) const { return end() <= now; }
  /// Requires that it is due and not over: it is asked for now.
  void asked(Prng& prng);
  /// Ends within a second, unless it is heard again (sections 10.1 and 10.2).
  void cut(Moment now);
  /// What is left, in whole seconds, and whether that is more than half (section 7.1).
  std::uint32_t left_s(Moment now) const;
  bool over_half(Moment now) const;

 private:
  static constexpr unsigned all_asked = 4;

  Moment received_;
  Duration life_;
  unsigned times_asked_ = 0;
  unsigned percent_late_ = 0;
};

/// What others have said of instances of _gpl._tcp.local on one link, as long as it holds, and no
/// more than so much: at the limit the instance that was heard of longest ago goes.
class MdnsCache {
 public:
  static constexpr std::size_t most_instances = 1000;
  static constexpr std::size_t most_addresses = 16;  ///< of a host

  explicit MdnsCache(Prng prng) : prng_(prng) {}

  struct Instance {
    std::string label;  ///< as it was spelled first
    std::optional<Lifetime> pointer;
    std::optional<DnsSrv> srv;
    Lifetime srv_life;
    std::optional<std::map<std::string, std::string>> text;
    Lifetime text_life;
    Moment heard;
    unsigned times_asked = 0;  ///< for what is missing
    Moment ask_next;
  };

  /// Takes what a response says. `ignored`: the instance of which nothing is taken, nor its host.
  void take(const DnsMessage& response, const std::optional<std::string>& ignored, Moment now);
  /// Forgets what is over, and gives what is to be asked for: at most so much at once, the rest the
  /// next time.
  std::vector<DnsQuestion> tick(Moment now);
  /// When `tick` has something to do next.
  std::optional<Moment> wake() const { return wake_; }

  /// By their keys.
  const std::map<std::string, Instance>& instances() const { return instances_; }
  std::vector<IpAddress> addresses(const DnsName& host) const;
  /// The keys of instances of which something has changed, or that are gone, since the last call.
  std::set<std::string> take_changed();
  /// Their PTR records that hold for more than half of their life still, with what is left of it.
  std::vector<DnsRecord> known_answers(Moment now) const;

 private:
  struct Host {
    std::set<std::string> instances;  ///< those that are there: without any it is forgotten
    std::map<IpAddress, Lifetime> addresses;
  };

  Instance& instance(const std::string& label, Moment now);
  void take_pointer(const DnsRecord& record, Moment now);
  void take_srv(const DnsRecord& record, const std::string& label, Moment now);
  void take_text(const DnsRecord& record, const std::string& label, Moment now);
  void take_address(const DnsRecord& record, Moment now);
  void flush_address(const DnsRecord& record, Moment now);
  void leave_host(const std::string& key, Instance& instance);
  void forget_oldest();
  bool tick_instance(const std::string& key, Instance& instance, Moment now,
                     std::vector<DnsQuestion>& questions);
  void tick_host(const DnsName& name, Host& host, Moment now, std::vector<DnsQuestion>& questions);
  void ask_for_missing(Instance& instance, Moment now, std::vector<DnsQuestion>& questions);
  void due(Moment at);

  Prng prng_;
  std::map<std::string, Instance> instances_;
  std::map<DnsName, Host> hosts_;
  std::set<std::string> changed_;
  std::optional<Moment> wake_;
};

}  // namespace gpl::net
