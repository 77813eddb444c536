#include "mdns_cache.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gpl::net {
namespace {

constexpr unsigned first_asked_percent = 80;
constexpr unsigned asked_percent_step = 5;
// Not asked for again: who gives so little time could have us ask all day.
constexpr std::uint32_t short_ttl_s = 20;
// What is missing is asked for after 50 ms, for it may come by itself, and then after 1, 2, 4 s ...
constexpr Duration first_missing = milliseconds(50);
constexpr unsigned most_asked_missing = 5;
constexpr std::size_t most_questions = 60;
constexpr Duration next_questions = milliseconds(200);

DnsQuestion question(const DnsName& name, DnsType type) {
  return DnsQuestion{name, static_cast<std::uint16_t>(type), false};
}

}  // namespace

Lifetime::Lifetime(Moment received, std::uint32_t ttl_s, Prng& prng)
    : received_(received),
      life_(seconds(std::min(ttl_s, other_ttl_s))),
      times_asked_(ttl_s < short_ttl_s ? all_asked : 0),
      percent_late_(static_cast<unsigned>(prng.below(3))) {}

Moment Lifetime::due() const {
  if (times_asked_ >= all_asked) return end();
  const unsigned percent = first_asked_percent + asked_percent_step * times_asked_ + percent_late_;
  return received_ + Duration{life_.count_ms * percent / 100};
}

void Lifetime::asked(Prng& prng) {
  ++times_asked_;
  percent_late_ = static_cast<unsigned>(prng.below(3));
}

void Lifetime::cut(Moment now) {
  const Moment soon = now + seconds(1);
  if (end() > soon) life_ = soon - received_;
  times_asked_ = all_asked;
}

std::uint32_t Lifetime::left_s(Moment now) const {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(0, (end() - now).count_ms / 1000));
}

bool Lifetime::over_half(Moment now) const { return (end() - now).count_ms * 2 > life_.count_ms; }

void MdnsCache::take(const DnsMessage& response, const std::optional<std::string>& ignored,
                     Moment now) {
  const std::optional<DnsName> ignored_host =
      ignored ? std::optional(host_name(*ignored)) : std::nullopt;
  std::vector<const DnsRecord*> addresses;
  for (const auto* part : {&response.answers, &response.additionals}) {
    for (const DnsRecord& record : *part) {
      if (address_of(record.data)) {
        if (record.name != ignored_host) addresses.push_back(&record);
        continue;
      }
      if (record.name == service_type()) {
        const auto* ptr = std::get_if<DnsPtr>(&record.data);
        const auto label = ptr == nullptr ? std::nullopt : instance_of(ptr->target);
        if (label && (!ignored || instance_key(*label) != instance_key(*ignored)))
          take_pointer(record, now);
        continue;
      }
      const auto label = instance_of(record.name);
      if (!label || (ignored && instance_key(*label) == instance_key(*ignored))) continue;
      take_srv(record, *label, now);
      take_text(record, *label, now);
    }
  }
  // Last, for a host counts only if an instance is there.
  for (const DnsRecord* record : addresses) flush_address(*record, now);
  for (const DnsRecord* record : addresses) take_address(*record, now);
}

MdnsCache::Instance& MdnsCache::instance(const std::string& label, Moment now) {
  const std::string key = instance_key(label);
  auto found = instances_.find(key);
  if (found == instances_.end()) {
    if (instances_.size() >= most_instances) forget_oldest();
    found = instances_.emplace(key, Instance{}).first;
    found->second.label = label;
    found->second.ask_next = now + first_missing;
    due(found->second.ask_next);
  }
  found->second.heard = now;
  return found->second;
}

void MdnsCache::take_pointer(const DnsRecord& record, Moment now) {
  const std::string label = *instance_of(std::get<DnsPtr>(record.data).target);
  const auto known = instances_.find(instance_key(label));
  if (record.ttl_s == 0) {
    if (known == instances_.end() || !known->second.pointer) return;
    known->second.pointer->cut(now);
    return due(known->second.pointer->due());
  }
  Instance& found = instance(label, now);
  if (!found.pointer) {
    found.times_asked = 0;
    found.ask_next = now + first_missing;
    due(found.ask_next);
    changed_.insert(instance_key(label));
  }
  found.pointer = Lifetime(now, record.ttl_s, prng_);
  due(found.pointer->due());
}

void MdnsCache::take_srv(const DnsRecord& record, const std::string& label, Moment now) {
  const auto* srv = std::get_if<DnsSrv>(&record.data);
  if (srv == nullptr) return;
  const std::string key = instance_key(label);
  const auto known = instances_.find(key);
  if (record.ttl_s == 0) {
    if (known == instances_.end() || known->second.srv != *srv) return;
    known->second.srv_life.cut(now);
    return due(known->second.srv_life.due());
  }
  if (srv->port == 0 || srv->target.labels.empty()) return;
  Instance& found = instance(label, now);
  found.srv_life = Lifetime(now, record.ttl_s, prng_);
  due(found.srv_life.due());
  if (found.srv == *srv) return;
  leave_host(key, found);
  found.srv = *srv;
  hosts_[srv->target].instances.insert(key);
  found.times_asked = 0;
  found.ask_next = now + first_missing;
  due(found.ask_next);
  changed_.insert(key);
}

void MdnsCache::take_text(const DnsRecord& record, const std::string& label, Moment now) {
  const auto* txt = std::get_if<DnsTxt>(&record.data);
  if (txt == nullptr || record.ttl_s == 0) return;  // the goodbye of PTR or SRV says enough
  Instance& found = instance(label, now);
  found.text_life = Lifetime(now, record.ttl_s, prng_);
  due(found.text_life.due());
  auto text = text_of(*txt);
  if (found.text == text) return;
  found.text = std::move(text);
  changed_.insert(instance_key(label));
}

void MdnsCache::flush_address(const DnsRecord& record, Moment now) {
  const auto host = hosts_.find(record.name);
  if (!record.flush || host == hosts_.end()) return;
  for (auto& [address, life] : host->second.addresses) {
    // Those of the last second may be of the same answer, in another packet (section 10.2).
    if (address.v6 != address_of(record.data)->v6 || now - life.received() <= seconds(1)) continue;
    life.cut(now);
    due(life.due());
  }
}

void MdnsCache::take_address(const DnsRecord& record, Moment now) {
  const auto host = hosts_.find(record.name);
  const IpAddress address = *address_of(record.data);
  if (host == hosts_.end() || !unicast(address)) return;
  auto& addresses = host->second.addresses;
  const auto known = addresses.find(address);
  if (record.ttl_s == 0) {
    if (known == addresses.end()) return;
    known->second.cut(now);
    return due(known->second.due());
  }
  if (known == addresses.end()) {
    if (addresses.size() >= most_addresses) return;
    changed_.insert(host->second.instances.begin(), host->second.instances.end());
  }
  Lifetime& life = addresses[address];
  life = Lifetime(now, record.ttl_s, prng_);
  due(life.due());
}

void MdnsCache::leave_host(const std::string& key, Instance& instance) {
  if (!instance.srv) return;
  const auto host = hosts_.find(instance.srv->target);
  assert(host != hosts_.end());
  host->second.instances.erase(key);
  if (host->second.instances.empty()) hosts_.erase(host);
  instance.srv.reset();
}

void MdnsCache::forget_oldest() {
  const auto oldest = std::min_element(
      instances_.begin(), instances_.end(),
      [](const auto& a, const auto& b) { return a.second.heard < b.second.heard; });
  leave_host(oldest->first, oldest->second);
  changed_.insert(oldest->first);
  instances_.erase(oldest);
}

std::vector<DnsQuestion> MdnsCache::tick(Moment now) {
  std::vector<DnsQuestion> questions;
  if (!wake_ || *wake_ > now) return questions;
  wake_.reset();
  for (auto at = hosts_.begin(); at != hosts_.end(); ++at)
    tick_host(at->first, at->second, now, questions);
  for (auto at = instances_.begin(); at != instances_.end();) {
    const bool stays = tick_instance(at->first, at->second, now, questions);
    at = stays ? std::next(at) : instances_.erase(at);
  }
  return questions;
}

void MdnsCache::tick_host(const DnsName& name, Host& host, Moment now,
                          std::vector<DnsQuestion>& questions) {
  bool ask_v4 = false;
  bool ask_v6 = false;
  for (auto at = host.addresses.begin(); at != host.addresses.end();) {
    auto& [address, life] = *at;
    if (life.over(now)) {
      changed_.insert(host.instances.begin(), host.instances.end());
      at = host.addresses.erase(at);
      continue;
    }
    if (life.due() <= now && questions.size() < most_questions) {
      (address.v6 ? ask_v6 : ask_v4) = true;
      life.asked(prng_);
    }
    due(std::max(life.due(), now + next_questions));
    ++at;
  }
  if (ask_v4) questions.push_back(question(name, DnsType::a));
  if (ask_v6) questions.push_back(question(name, DnsType::aaaa));
}

bool MdnsCache::tick_instance(const std::string& key, Instance& instance, Moment now,
                              std::vector<DnsQuestion>& questions) {
  const auto tend = [&](Lifetime& life, const DnsName& name, DnsType type) {
    if (life.over(now)) return false;
    if (life.due() <= now && questions.size() < most_questions) {
      // Of the type itself only once, however many instances are due.
      const DnsQuestion wanted = question(name, type);
      if (std::find(questions.begin(), questions.end(), wanted) == questions.end())
        questions.push_back(wanted);
      life.asked(prng_);
    }
    due(std::max(life.due(), now + next_questions));
    return true;
  };
  const DnsName name = instance_name(instance.label);
  if (instance.pointer && !tend(*instance.pointer, service_type(), DnsType::ptr)) {
    instance.pointer.reset();
    changed_.insert(key);
  }
  if (instance.srv && !tend(instance.srv_life, name, DnsType::srv)) {
    leave_host(key, instance);
    changed_.insert(key);
  }
  if (instance.text && !tend(instance.text_life, name, DnsType::txt)) {
    instance.text.reset();
    changed_.insert(key);
  }
  if (!instance.pointer && !instance.srv && !instance.text) return false;
  ask_for_missing(instance, now, questions);
  return true;
}

void MdnsCache::ask_for_missing(Instance& instance, Moment now,
                                std::vector<DnsQuestion>& questions) {
  const bool no_address =
      instance.srv && hosts_.find(instance.srv->target)->second.addresses.empty();
  const bool missing = !instance.srv || !instance.text || no_address;
  if (!instance.pointer || !missing || instance.times_asked >= most_asked_missing) return;
  if (instance.ask_next <= now && questions.size() < most_questions) {
    const DnsName name = instance_name(instance.label);
    if (!instance.srv) questions.push_back(question(name, DnsType::srv));
    if (!instance.text) questions.push_back(question(name, DnsType::txt));
    if (no_address) {
      questions.push_back(question(instance.srv->target, DnsType::a));
      questions.push_back(question(instance.srv->target, DnsType::aaaa));
    }
    instance.ask_next = now + seconds(std::int64_t{1} << instance.times_asked);
    ++instance.times_asked;
  }
  due(std::max(instance.ask_next, now + next_questions));
}

std::vector<IpAddress> MdnsCache::addresses(const DnsName& host) const {
  std::vector<IpAddress> all;
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return all;
  for (const auto& [address, life] : found->second.addresses) all.push_back(address);
  return all;
}

std::set<std::string> MdnsCache::take_changed() { return std::exchange(changed_, {}); }

std::vector<DnsRecord> MdnsCache::known_answers(Moment now) const {
  std::vector<DnsRecord> known;
  for (const auto& [key, instance] : instances_) {
    if (!instance.pointer || !instance.pointer->over_half(now)) continue;
    known.push_back({service_type(), false, instance.pointer->left_s(now),
                     DnsPtr{instance_name(instance.label)}});
  }
  return known;
}

void MdnsCache::due(Moment at) {
  if (!wake_ || at < *wake_) wake_ = at;
}

}  // namespace gpl::net
