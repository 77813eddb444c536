#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../src/net/mdns_link.h"

/// One link with several machines on it, and time that passes only when a test says so. A packet
/// arrives at once, in the order sent.
namespace hall {

using namespace gpl;

inline net::IpAddress v4(std::uint8_t last) { return {false, {10, 0, 0, last}}; }
inline net::IpAddress v6(std::uint8_t last) {
  net::IpAddress address{true, {0xfe, 0x80}};
  address.bytes[15] = last;
  return address;
}

inline net::MdnsService service(const std::string& instance, std::uint16_t port = 7457) {
  return {instance, port, {{"id", instance}}};
}

struct Sent {
  Moment at;
  std::string from;
  net::DnsMessage message;
  bool to_group = true;
};

class Hall {
 public:
  struct Machine {
    std::string name;
    net::MdnsSource source;
    std::unique_ptr<net::MdnsLink> link;
    std::vector<net::MdnsEvent> events;
    bool deaf = false;
    bool off = false;
  };

  /// The machine has the address 10.0.0.NUMBER.
  net::MdnsLink& add(const std::string& name, std::uint8_t number,
                     std::optional<net::MdnsService> announces = std::nullopt) {
    Machine& machine = machines_.emplace_back();
    machine.name = name;
    machine.source = {v4(number), 5353, false};
    machine.link = std::make_unique<net::MdnsLink>("eth0", number, now);
    machine.link->set_addresses({v4(number)}, {v4(number)}, now);
    machine.link->announce(std::move(announces), now);
    return *machine.link;
  }

  Machine& machine(const std::string& name) {
    const auto found = std::find_if(machines_.begin(), machines_.end(),
                                    [&](const Machine& each) { return each.name == name; });
    REQUIRE(found != machines_.end());
    return *found;
  }

  /// All that is due in this time happens.
  void pass(Duration time) {
    const Moment end = now + time;
    carry();
    for (;;) {
      Moment next = end + milliseconds(1);
      for (const Machine& machine : machines_)
        if (!machine.off) next = std::min(next, machine.link->wake());
      if (next > end) break;
      now = std::max(now, next);
      for (Machine& machine : machines_)
        if (!machine.off) machine.link->tick(now);
      carry();
    }
    now = end;
  }

  /// A packet from outside to all, from this address.
  void inject(const net::DnsMessage& message, std::uint8_t number, std::uint16_t port = 5353) {
    inject_bytes(net::encode_dns(message), number, port);
  }
  void inject_bytes(const std::string& bytes, std::uint8_t number, std::uint16_t port = 5353) {
    for (Machine& machine : machines_)
      if (!machine.off) machine.link->receive(bytes, {v4(number), port, false}, now);
    carry();
  }

  /// It says goodbye, and is no more.
  void end(const std::string& name) {
    Machine& ended = machine(name);
    for (const std::string& bytes : ended.link->goodbye()) deliver(ended, {bytes, std::nullopt});
    ended.off = true;
    carry();
  }

  /// What went over the link since the last call.
  std::vector<Sent> take_sent() { return std::exchange(sent_, {}); }
  std::vector<net::MdnsEvent> take_events(const std::string& name) {
    return std::exchange(machine(name).events, {});
  }
  /// Those that are found and not gone.
  std::set<std::string> known(const std::string& name) {
    std::set<std::string> all;
    for (const net::MdnsEvent& event : machine(name).events) {
      if (event.found) {
        all.insert(event.instance);
      } else {
        all.erase(event.instance);
      }
    }
    return all;
  }

  Moment now{1'000'000};

 private:
  void carry() {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (machines_[i].off) continue;
        for (net::MdnsEvent& event : machines_[i].link->take_events())
          machines_[i].events.push_back(std::move(event));
        for (const net::MdnsPacket& packet : machines_[i].link->take_packets()) {
          more = true;
          deliver(machines_[i], packet);
        }
      }
    }
  }

  void deliver(const Machine& from, const net::MdnsPacket& packet) {
    auto message = net::decode_dns(packet.bytes);
    REQUIRE(message.ok());
    REQUIRE(packet.bytes.size() <= net::packet_bytes);
    sent_.push_back({now, from.name, message.value(), !packet.to.has_value()});
    for (Machine& to : machines_) {
      if (to.name == from.name || to.off || to.deaf) continue;
      if (packet.to && packet.to->address != to.source.address) continue;
      to.link->receive(packet.bytes, from.source, now);
    }
  }

  std::vector<Machine> machines_;
  std::vector<Sent> sent_;
};

inline net::DnsMessage question(const net::DnsName& name, net::DnsType type, bool unicast = false) {
  net::DnsMessage message;
  message.questions = {{name, static_cast<std::uint16_t>(type), unicast}};
  return message;
}

inline net::DnsMessage answer(std::vector<net::DnsRecord> records) {
  net::DnsMessage message;
  message.response = true;
  message.authoritative = true;
  message.answers = std::move(records);
  return message;
}

/// Those of what was sent that this machine said, as answers or not.
inline std::vector<Sent> only(const std::vector<Sent>& all, const std::string& from,
                              bool response) {
  std::vector<Sent> some;
  for (const Sent& sent : all)
    if (sent.from == from && sent.message.response == response) some.push_back(sent);
  return some;
}

inline bool holds(const std::vector<net::DnsRecord>& records, const net::DnsName& name,
                  net::DnsType type) {
  return std::any_of(records.begin(), records.end(), [&](const net::DnsRecord& record) {
    return record.name == name && net::type_of(record.data) == type;
  });
}

}  // namespace hall
