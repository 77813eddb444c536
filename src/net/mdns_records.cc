#include "mdns_records.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace gpl::net {
namespace {

constexpr std::size_t longest_text = 255;

bool letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// Which types there are at the name, so that nobody waits for others.
DnsRecord only_types(const DnsName& name, std::uint32_t ttl_s, std::vector<std::uint16_t> types) {
  return DnsRecord{name, true, ttl_s, DnsNsec{name, std::move(types)}};
}

}  // namespace

const DnsName& service_type() {
  static const DnsName name = dns_name("_gpl._tcp.local");
  return name;
}

const DnsName& service_types() {
  static const DnsName name = dns_name("_services._dns-sd._udp.local");
  return name;
}

DnsName instance_name(const std::string& instance) {
  DnsName name = service_type();
  name.labels.insert(name.labels.begin(), instance);
  return name;
}

DnsName host_name(const std::string& instance) {
  // A label has 63 bytes at most; an id in hex is far from that.
  return DnsName{{("gpl-" + instance).substr(0, 63), "local"}};
}

std::string instance_key(std::string_view instance) {
  std::string key(instance);
  for (char& c : key)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return key;
}

bool is_instance(std::string_view label) {
  return !label.empty() && label.size() <= 63 &&
         std::all_of(label.begin(), label.end(),
                     [](char c) { return letter_or_digit(c) || c == '-'; });
}

std::optional<std::string> instance_of(const DnsName& name) {
  if (name.labels.size() != service_type().labels.size() + 1) return std::nullopt;
  if (!is_instance(name.labels.front())) return std::nullopt;
  if (DnsName{{name.labels.begin() + 1, name.labels.end()}} != service_type()) return std::nullopt;
  return name.labels.front();
}

std::map<std::string, std::string> text_of(const DnsTxt& txt) {
  std::map<std::string, std::string> text;
  for (const std::string& entry : txt.strings) {
    const std::size_t equals = std::min(entry.find('='), entry.size());
    if (equals == 0 || !printable(entry)) continue;
    text.emplace(entry.substr(0, equals), entry.substr(std::min(equals + 1, entry.size())));
  }
  return text;
}

DnsTxt txt_of(const std::map<std::string, std::string>& text) {
  DnsTxt txt;
  for (const auto& [key, value] : text) {
    txt.strings.push_back(key);
    txt.strings.back().append("=").append(value);
    assert(!key.empty() && key.find('=') == std::string::npos);
    assert(txt.strings.back().size() <= longest_text);
  }
  return txt;
}

DnsData data_of(const IpAddress& address) {
  if (address.v6) return DnsAaaa{address.bytes};
  DnsA a;
  std::copy_n(address.bytes.begin(), a.address.size(), a.address.begin());
  return a;
}

std::optional<IpAddress> address_of(const DnsData& data) {
  if (const auto* v6 = std::get_if<DnsAaaa>(&data)) return IpAddress{true, v6->address};
  if (const auto* v4 = std::get_if<DnsA>(&data)) {
    IpAddress address;
    std::copy(v4->address.begin(), v4->address.end(), address.bytes.begin());
    return address;
  }
  return std::nullopt;
}

std::vector<DnsRecord> records_of(const MdnsService& service,
                                  const std::vector<IpAddress>& addresses) {
  assert(is_instance(service.instance) && service.port != 0);
  const DnsName instance = instance_name(service.instance);
  const DnsName host = host_name(service.instance);
  std::vector<DnsRecord> records = {
      {service_type(), false, other_ttl_s, DnsPtr{instance}},
      {service_types(), false, other_ttl_s, DnsPtr{service_type()}},
      {instance, true, host_ttl_s, DnsSrv{0, 0, service.port, host}},
      {instance, true, other_ttl_s, txt_of(service.text)},
  };
  bool families[] = {false, false};
  for (const IpAddress& address : addresses) {
    records.push_back({host, true, host_ttl_s, data_of(address)});
    families[address.v6 ? 1 : 0] = true;
  }
  constexpr auto number = [](DnsType type) { return static_cast<std::uint16_t>(type); };
  std::vector<std::uint16_t> at_host;
  if (families[0]) at_host.push_back(number(DnsType::a));
  if (families[1]) at_host.push_back(number(DnsType::aaaa));
  records.push_back(
      only_types(instance, other_ttl_s, {number(DnsType::txt), number(DnsType::srv)}));
  records.push_back(only_types(host, host_ttl_s, std::move(at_host)));
  return records;
}

std::vector<std::string> packed(const DnsMessage& frame, const std::vector<DnsRecord>& answers,
                                const std::vector<DnsRecord>& additionals) {
  std::vector<std::string> packets;
  DnsMessage message = frame;
  std::string bytes = encode_dns(message);
  for (const DnsRecord& record : answers) {
    message.answers.push_back(record);
    std::string longer = encode_dns(message);
    if (longer.size() > packet_bytes && message.answers.size() > 1) {
      packets.push_back(std::move(bytes));
      message.answers = {record};
      longer = encode_dns(message);
    }
    bytes = std::move(longer);
  }
  for (const DnsRecord& record : additionals) {
    message.additionals.push_back(record);
    std::string longer = encode_dns(message);
    if (longer.size() <= packet_bytes) {
      bytes = std::move(longer);
    } else {
      message.additionals.pop_back();
    }
  }
  packets.push_back(std::move(bytes));
  return packets;
}

}  // namespace gpl::net
