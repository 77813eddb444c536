#include "gpl/net/dns_message.h"

#include <algorithm>
#include <cassert>

#include "gpl/core/overloaded.h"

namespace gpl::net {
namespace {

unsigned char lower(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 'A' && byte <= 'Z' ? static_cast<unsigned char>(byte + ('a' - 'A')) : byte;
}

std::weak_ordering compare(const std::string& a, const std::string& b) {
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (const auto order = lower(a[i]) <=> lower(b[i]); order != 0) return order;
  }
  return a.size() <=> b.size();
}

}  // namespace

std::weak_ordering operator<=>(const DnsName& a, const DnsName& b) {
  const std::size_t common = std::min(a.labels.size(), b.labels.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (const auto order = compare(a.labels[i], b.labels[i]); order != 0) return order;
  }
  return a.labels.size() <=> b.labels.size();
}

DnsName dns_name(std::string_view dotted) {
  DnsName name;
  while (!dotted.empty()) {
    const std::size_t dot = std::min(dotted.find('.'), dotted.size());
    assert(dot >= 1 && dot <= 63);
    name.labels.emplace_back(dotted.substr(0, dot));
    dotted.remove_prefix(std::min(dot + 1, dotted.size()));
  }
  return name;
}

DnsType type_of(const DnsData& data) {
  return std::visit(
      Overloaded{
          [](const DnsA&) { return DnsType::a; }, [](const DnsAaaa&) { return DnsType::aaaa; },
          [](const DnsPtr&) { return DnsType::ptr; }, [](const DnsSrv&) { return DnsType::srv; },
          [](const DnsTxt&) { return DnsType::txt; }, [](const DnsNsec&) { return DnsType::nsec; }},
      data);
}

}  // namespace gpl::net
