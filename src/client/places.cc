#include "gpl/client/places.h"

#include <algorithm>
#include <utility>

namespace gpl::client {
namespace {

constexpr std::size_t most_addresses = 64;
constexpr std::size_t most_reasons = 5;

/// The other end answered, and this will not change by itself.
bool is_refusal(const Error& error) {
  return error.code == Code::denied || error.code == Code::unsupported ||
         error.code == Code::invalid;
}

}  // namespace

Places::Places(std::vector<std::string> sockets, std::vector<net::PeerAddress> addresses)
    : sockets_(std::move(sockets)), addresses_(std::move(addresses)) {}

std::optional<Places::Place> Places::next() {
  if (std::exchange(over_, false)) {
    next_socket_ = next_address_ = failures_ = refusals_ = 0;
    numeric_.clear();
    tried_.clear();
    reasons_.clear();
  }
  if (next_socket_ < sockets_.size()) return current_ = sockets_[next_socket_++];
  while (numeric_.empty() && next_address_ < addresses_.size()) {
    resolve(addresses_[next_address_++]);
  }
  if (!numeric_.empty()) {
    current_ = std::move(numeric_.front());
    numeric_.pop_front();
    return current_;
  }
  over_ = true;
  return std::nullopt;
}

void Places::resolve(const net::PeerAddress& address) {
  Result<std::vector<std::string>> hosts = net::resolve(address.host);
  if (!hosts.ok()) return note(std::move(hosts).error());
  for (std::string& host : hosts.value()) {
    net::PeerAddress numeric{std::move(host), address.port};
    if (tried_.insert(net::to_text(numeric)).second) numeric_.push_back(std::move(numeric));
  }
}

void Places::note(Error why) {
  ++failures_;
  if (reasons_.size() < most_reasons) reasons_.push_back(std::move(why));
}

void Places::failed(Error why) {
  if (!at_socket() && is_refusal(why)) ++refusals_;
  note(std::move(why));
}

void Places::settled() {
  over_ = true;
  failures_ = refusals_ = 0;
  reasons_.clear();
  if (at_socket()) {
    only_socket_ = true;
    sockets_ = {std::get<std::string>(current_)};
    addresses_.clear();
    return;
  }
  sockets_.clear();
  const net::PeerAddress& address = std::get<net::PeerAddress>(current_);
  std::erase(addresses_, address);
  addresses_.insert(addresses_.begin(), address);
}

void Places::learn(const std::vector<net::PeerAddress>& addresses) {
  if (only_socket_) return;
  for (const net::PeerAddress& address : addresses) {
    const bool known = std::find(addresses_.begin(), addresses_.end(), address) != addresses_.end();
    if (!known && addresses_.size() < most_addresses) addresses_.push_back(address);
  }
}

std::string Places::name() const {
  if (const auto* address = std::get_if<net::PeerAddress>(&current_)) return net::to_text(*address);
  return std::get<std::string>(current_);
}

Error Places::why() const {
  if (reasons_.empty()) return Error{Code::not_found, "there is no peer to ask"};
  const auto refusal = std::find_if(reasons_.begin(), reasons_.end(), is_refusal);
  Error all{refusals_ > 0 && refusal != reasons_.end() ? refusal->code : reasons_[0].code, ""};
  for (const Error& reason : reasons_) {
    all.message += (all.message.empty() ? "" : "; ") + reason.message;
  }
  if (failures_ > reasons_.size()) {
    all.message += "; and " + std::to_string(failures_ - reasons_.size()) + " more";
  }
  return all;
}

}  // namespace gpl::client
