#include "mdns_browser.h"

#include <algorithm>
#include <utility>

namespace gpl::net {
namespace {

constexpr Duration first_interval = seconds(1);
constexpr std::int64_t interval_factor = 3;
constexpr Duration longest_interval = seconds(3600);

}  // namespace

MdnsBrowser::MdnsBrowser(std::string interface, Prng prng, Moment now)
    : interface_(std::move(interface)),
      prng_(prng),
      cache_(Prng(prng_.next())),
      next_query_(now),
      interval_(first_interval) {}

void MdnsBrowser::set_own(std::optional<MdnsService> service, std::set<IpAddress> addresses) {
  own_ = std::move(service);
  own_addresses_ = std::move(addresses);
}

void MdnsBrowser::look(Moment now) {
  next_query_ = now;
  interval_ = first_interval;
}

void MdnsBrowser::response(const DnsMessage& response, const MdnsSource& from, Moment now) {
  // What this peer says through another interface on the same link is no news.
  const bool echo = from.own_machine && own_.has_value();
  cache_.take(response, echo ? std::optional(own_->instance) : std::nullopt, now);
  tell();
}

void MdnsBrowser::tick(Moment now) {
  const std::vector<DnsQuestion> due = cache_.tick(now);
  std::vector<DnsQuestion> others;
  bool instances = next_query_ <= now;
  for (const DnsQuestion& question : due) {
    if (question.name == service_type()) {
      instances = true;
    } else {
      others.push_back(question);
    }
  }
  if (instances) ask_for_instances(now);
  ask(others);
  tell();
}

Moment MdnsBrowser::wake() const {
  const auto cache = cache_.wake();
  return cache ? std::min(*cache, next_query_) : next_query_;
}

std::vector<std::string> MdnsBrowser::take_queries() { return std::exchange(queries_, {}); }
std::vector<MdnsEvent> MdnsBrowser::take_events() { return std::exchange(events_, {}); }

void MdnsBrowser::ask_for_instances(Moment now) {
  if (next_query_ <= now) {
    // A little apart from the others that began together.
    const auto spread = static_cast<std::uint64_t>(interval_.count_ms / 50);
    next_query_ =
        now + interval_ + milliseconds(static_cast<std::int64_t>(prng_.below(spread + 1)));
    interval_ = std::min(longest_interval, Duration{interval_.count_ms * interval_factor});
  }
  DnsMessage frame;
  frame.questions = {{service_type(), static_cast<std::uint16_t>(DnsType::ptr), false}};
  const std::vector<DnsRecord> known = cache_.known_answers(now);
  // Packets after the first carry known answers only (RFC 6762 section 7.2).
  DnsMessage message = frame;
  for (const DnsRecord& record : known) {
    message.answers.push_back(record);
    // Eight more with the longest labels still fit then.
    if (message.answers.size() % 8 != 0 || encode_dns(message).size() < packet_bytes / 2) continue;
    message.truncated = true;
    queries_.push_back(encode_dns(message));
    message = DnsMessage();
  }
  if (!message.questions.empty() || !message.answers.empty())
    queries_.push_back(encode_dns(message));
}

void MdnsBrowser::ask(const std::vector<DnsQuestion>& questions) {
  DnsMessage message;
  std::string bytes;
  for (const DnsQuestion& question : questions) {
    message.questions.push_back(question);
    std::string longer = encode_dns(message);
    if (longer.size() > packet_bytes && message.questions.size() > 1) {
      queries_.push_back(std::move(bytes));
      message.questions = {question};
      longer = encode_dns(message);
    }
    bytes = std::move(longer);
  }
  if (!bytes.empty()) queries_.push_back(std::move(bytes));
}

void MdnsBrowser::tell() {
  for (const std::string& key : cache_.take_changed()) {
    const auto before = told_.find(key);
    std::optional<MdnsFound> now = found(key);
    if (now) {
      if (before != told_.end() && before->second == *now) continue;
      told_[key] = *now;
      events_.push_back({key, std::move(now)});
    } else if (before != told_.end()) {
      told_.erase(before);
      events_.push_back({key, std::nullopt});
    }
  }
}

std::optional<MdnsFound> MdnsBrowser::found(const std::string& key) const {
  const auto at = cache_.instances().find(key);
  if (at == cache_.instances().end()) return std::nullopt;
  const MdnsCache::Instance& instance = at->second;
  if (!instance.pointer || !instance.srv || !instance.text) return std::nullopt;
  const bool own = own_ && instance_key(own_->instance) == key;
  std::vector<IpAddress> addresses = cache_.addresses(instance.srv->target);
  if (own) {
    addresses.erase(std::remove_if(addresses.begin(), addresses.end(),
                                   [&](const IpAddress& address) {
                                     return own_addresses_.count(address) != 0;
                                   }),
                    addresses.end());
  }
  if (addresses.empty()) return std::nullopt;
  // Those of one link only last: programs that take an address without its scope cannot use them.
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const IpAddress& address) { return !link_local(address); });
  MdnsFound all{{key, instance.srv->port, *instance.text}, {}};
  for (const IpAddress& address : addresses)
    all.addresses.push_back(PeerAddress{to_text(address, interface_), instance.srv->port});
  return all;
}

}  // namespace gpl::net
