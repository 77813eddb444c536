#include "gpl/net/address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

namespace gpl::net {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

Error not_an_address(std::string_view text, std::string_view why) {
  return Error{Code::invalid,
               "'" + std::string(text) + "' is not HOST or HOST:PORT: " + std::string(why)};
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

Result<PeerAddress> parse_address(std::string_view text, std::uint16_t lowest_port) {
  std::string_view host = text;
  std::string_view after;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return not_an_address(text, "']' is missing");
    host = text.substr(1, close - 1);
    after = text.substr(close + 1);
    if (!after.empty() && after.front() != ':')
      return not_an_address(text, "']' needs ':' after it");
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    after = text.substr(text.find(':'));
  }  // several colons without brackets are an IPv6 address
  if (host.empty()) return not_an_address(text, "the host is empty");
  PeerAddress address{std::string(host), default_port};
  if (!after.empty()) {
    const std::optional<std::uint16_t> port = parse_port(after.substr(1));
    if (!port || *port < lowest_port)
      return not_an_address(
          text, "the port is not a number from " + std::to_string(lowest_port) + " to 65535");
    address.port = *port;
  }
  return address;
}

}  // namespace

Result<PeerAddress> parse_peer_address(std::string_view text) { return parse_address(text, 1); }

Result<PeerAddress> parse_listen_address(std::string_view text) { return parse_address(text, 0); }

Result<std::vector<PeerAddress>> parse_peer_addresses(std::string_view text) {
  std::vector<PeerAddress> addresses;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    Result<PeerAddress> address = parse_peer_address(text.substr(0, comma));
    if (!address.ok()) return std::move(address).error();
    addresses.push_back(std::move(address).value());
    if (more) text.remove_prefix(comma + 1);
  }
  return addresses;
}

std::string to_text(const PeerAddress& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + address.host + "]" : address.host;
  return host + ":" + std::to_string(address.port);
}

Result<std::vector<std::string>> resolve(const std::string& host) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), nullptr, &wanted, &list);
  if (failed != 0) {
    return Error{Code::not_found, "cannot resolve host '" + host + "': " + ::gai_strerror(failed)};
  }
  const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
  std::vector<std::string> numeric;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    char text[NI_MAXHOST];
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) != 0) {
      continue;
    }
    if (std::find(numeric.begin(), numeric.end(), text) == numeric.end())
      numeric.emplace_back(text);
  }
  return numeric;
}

}  // namespace gpl::net
