#include "gpl/peer/address_book.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "gpl/host/record.h"
#include "gpl/posix/file.h"

namespace gpl::peer {
namespace {

constexpr std::int64_t form = 1;  ///< of the file
constexpr std::size_t most_name_bytes = 255;
constexpr std::size_t most_file_bytes = std::size_t{2} << 20;

std::string file_of(const std::string& state) { return state + "/peer/peers"; }

std::string scope_of(const std::string& host) {
  const std::size_t at = host.find('%');
  return at == std::string::npos ? "" : host.substr(at);
}

std::string without_scope(const std::string& host) { return host.substr(0, host.find('%')); }

AddressReach reach_of_v4(const in_addr& address) {
  const std::uint32_t number = ntohl(address.s_addr);
  if (number >> 24 == 127) return AddressReach::loopback;
  const bool is_one_machine = number >> 24 != 0 && number < 0xe0000000;
  return is_one_machine ? AddressReach::wide : AddressReach::nowhere;
}

AddressReach reach_of_v6(const in6_addr& address) {
  if (IN6_IS_ADDR_LOOPBACK(&address)) return AddressReach::loopback;
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return AddressReach::link_local;
  const bool is_none = IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_MULTICAST(&address) ||
                       IN6_IS_ADDR_V4MAPPED(&address) || IN6_IS_ADDR_V4COMPAT(&address);
  return is_none ? AddressReach::nowhere : AddressReach::wide;
}

}  // namespace

AddressReach reach_of(const std::string& host) {
  in_addr v4;
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return reach_of_v4(v4);
  in6_addr v6;
  if (::inet_pton(AF_INET6, without_scope(host).c_str(), &v6) == 1) return reach_of_v6(v6);
  return AddressReach::nowhere;
}

AddressBook::AddressBook(std::string state) : state_(std::move(state)) {}

Status AddressBook::load() {
  if (state_.empty()) return success();
  const std::string path = file_of(state_);
  const Result<std::string> bytes = posix::read_file_at(AT_FDCWD, path, most_file_bytes);
  if (!bytes.ok() && bytes.error().code == Code::not_found) return success();
  if (!bytes.ok()) return bytes.error();
  const Result<host::Record> record = host::Record::decode(bytes.value());
  if (!record.ok() || record.value().number("form") != form)
    return Error{Code::invalid,
                 path + " is damaged, or of a later gpl: addresses of other peers are found anew"};
  PeerId peer;
  std::string name;
  for (const auto& [key, value] : record.value().pairs()) {
    if (key == "peer") {
      host::Record one;
      one.add("peer", value);
      const std::int64_t number = one.number("peer");
      peer = PeerId{number > 0 ? static_cast<std::uint64_t>(number) : 0};
      name.clear();
    } else if (key == "name") {
      name = value;
    } else if (key == "address" && peer.value != 0) {
      const Result<net::PeerAddress> address = net::parse_peer_address(value);
      if (address.ok() && reach_of(address.value().host) != AddressReach::nowhere)
        put(peer, name, {address.value(), true}, false);
    }
  }
  changed_ = false;
  return success();
}

Status AddressBook::save() {
  if (!changed_ || state_.empty()) return success();
  host::Record record;
  record.add("form", form);
  for (const auto& [peer, entry] : entries_) {
    if (entry.known.empty() || !entry.known.front().own) continue;
    record.add("peer", static_cast<std::int64_t>(peer.value));
    record.add("name", entry.name);
    for (const Known& known : entry.known)
      if (known.own) record.add("address", net::to_text(known.address));
  }
  const Result<posix::Fd> folder = posix::open_folder(state_ + "/peer");
  if (!folder.ok()) return folder.error();
  Status written = posix::replace_file_at(folder.value().get(), "peers", record.encode());
  changed_ = !written.ok();
  return written;
}

void AddressBook::worked(PeerId peer, const std::string& name, const net::PeerAddress& address) {
  remember(peer);
  put(peer, name, {address, true}, true);
}

bool AddressBook::seen(PeerId peer, const std::string& name, const net::PeerAddress& address) {
  return put(peer, name, {address, true}, false);
}

bool AddressBook::hinted(PeerId peer, const net::PeerAddress& address) {
  const AddressReach reach = reach_of(address.host);
  if (reach == AddressReach::nowhere || reach == AddressReach::loopback) return false;
  return put(peer, "", {address, false}, false);
}

bool AddressBook::told(const wire::KnownPeer& known, const net::PeerAddress& from) {
  bool is_news = false;
  std::size_t taken = 0;
  for (const std::string& text : known.addresses) {
    if (++taken > most_addresses) break;
    Result<net::PeerAddress> address = net::parse_peer_address(text);
    if (!address.ok() || !scope_of(address.value().host).empty()) continue;
    const AddressReach reach = reach_of(address.value().host);
    if (reach == AddressReach::nowhere) continue;
    if (reach == AddressReach::loopback && reach_of(from.host) != AddressReach::loopback) continue;
    if (reach == AddressReach::link_local) {
      if (reach_of(from.host) != AddressReach::link_local) continue;
      address.value().host += scope_of(from.host);
    }
    is_news = put(known.peer, known.name, {std::move(address).value(), false}, false) || is_news;
  }
  return is_news;
}

void AddressBook::wrong(PeerId peer, const net::PeerAddress& address) {
  const auto found = entries_.find(peer);
  if (found == entries_.end()) return;
  auto& known = found->second.known;
  const auto gone = std::remove_if(known.begin(), known.end(),
                                   [&](const Known& one) { return one.address == address; });
  if (gone == known.end()) return;
  known.erase(gone, known.end());
  if (known.empty()) entries_.erase(found);
  changed_ = true;
}

void AddressBook::forget(PeerId peer) {
  if (entries_.erase(peer) > 0) changed_ = true;
  if (forgotten_.size() >= most_peers) forgotten_.erase(forgotten_.begin());
  forgotten_.insert(peer);
}

std::vector<PeerId> AddressBook::peers() const {
  std::vector<PeerId> all;
  for (const auto& [peer, entry] : entries_) all.push_back(peer);
  return all;
}

std::vector<net::PeerAddress> AddressBook::addresses(PeerId peer) const {
  std::vector<net::PeerAddress> all;
  const auto found = entries_.find(peer);
  if (found == entries_.end()) return all;
  for (const Known& known : found->second.known) all.push_back(known.address);
  return all;
}

std::optional<wire::KnownPeer> AddressBook::telling(PeerId peer, const net::PeerAddress& to) const {
  const auto found = entries_.find(peer);
  if (found == entries_.end()) return std::nullopt;
  std::vector<std::string> wide;
  std::vector<std::string> on_link;
  for (const Known& known : found->second.known) {
    if (!known.own) continue;
    const auto& [host, port] = known.address;
    switch (reach_of(host)) {
      case AddressReach::nowhere:
        break;
      case AddressReach::loopback:
        if (reach_of(to.host) == AddressReach::loopback)
          wide.push_back(net::to_text(known.address));
        break;
      case AddressReach::link_local:
        if (reach_of(to.host) == AddressReach::link_local && scope_of(host) == scope_of(to.host))
          on_link.push_back(net::to_text({without_scope(host), port}));
        break;
      case AddressReach::wide:
        wide.push_back(net::to_text(known.address));
        break;
    }
  }
  std::vector<std::string>& chosen = wide.empty() ? on_link : wide;
  if (chosen.empty()) return std::nullopt;
  return wire::KnownPeer{peer, found->second.name, std::move(chosen)};
}

/// Room for it, or nothing: who is only hearsay makes way for who was found.
AddressBook::Entry* AddressBook::entry(PeerId peer, bool own) {
  const auto found = entries_.find(peer);
  if (found != entries_.end()) return &found->second;
  if (entries_.size() >= most_peers) {
    const auto hearsay = std::find_if(entries_.begin(), entries_.end(), [](const auto& one) {
      return !one.second.known.front().own;
    });
    if (!own || hearsay == entries_.end()) return nullptr;
    entries_.erase(hearsay);
  }
  return &entries_[peer];
}

bool AddressBook::put(PeerId peer, const std::string& name, Known known, bool first) {
  if (peer.value == 0 || forgotten_.contains(peer)) return false;
  Entry* const entry = this->entry(peer, known.own);
  if (entry == nullptr) return false;
  if (!name.empty() && (known.own || entry->name.empty()) && entry->name != name) {
    entry->name = name.substr(0, most_name_bytes);
    changed_ = true;
  }
  auto& all = entry->known;
  const auto there = std::find_if(all.begin(), all.end(),
                                  [&](const Known& one) { return one.address == known.address; });
  const bool is_news = there == all.end();
  if (!is_news) {
    const bool stays = first ? there == all.begin() : there->own || !known.own;
    if (stays && (there->own || !known.own)) return false;
    all.erase(there);
  }
  const auto place =
      first       ? all.begin()
      : known.own ? std::find_if(all.begin(), all.end(), [](const Known& one) { return !one.own; })
                  : all.end();
  // The one that worked last, of which the first is, is never crowded out.
  const bool is_last = place == all.end();
  if (all.size() >= most_addresses && is_last) {
    if (!known.own) return false;
    all.back() = std::move(known);
  } else {
    all.insert(place, std::move(known));
    if (all.size() > most_addresses) all.pop_back();
  }
  changed_ = true;
  return is_news;
}

}  // namespace gpl::peer
