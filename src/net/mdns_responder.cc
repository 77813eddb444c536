#include "mdns_responder.h"

#include <algorithm>
#include <utility>

namespace gpl::net {
namespace {

// RFC 6762 section 8.1.
constexpr unsigned probes = 3;
constexpr Duration probe_pause = milliseconds(250);
// Section 8.2: who loses a tie waits for the winner to announce.
constexpr Duration tie_pause = seconds(1);
// Section 8.3.
constexpr unsigned announcements = 2;
constexpr Duration announce_pause = seconds(1);
// Section 6: a record rests after it was sent to the group, less to defend it.
constexpr Duration record_rest = seconds(1);
constexpr Duration defence_rest = milliseconds(250);
// Section 8.1 asks for at least 5 s after many conflicts.
constexpr Duration first_yield = seconds(5);
constexpr unsigned most_doublings = 4;
// Section 6.7.
constexpr std::uint32_t legacy_ttl_s = 10;
constexpr std::uint16_t mdns_port = 5353;

DnsMessage answer_frame() {
  DnsMessage frame;
  frame.response = true;
  frame.authoritative = true;
  return frame;
}

/// As section 8.2 orders records: all of them sorted, then one by one.
std::vector<std::pair<std::uint16_t, std::string>> tie_order(const std::vector<DnsRecord>& records,
                                                             const DnsName& name) {
  std::vector<std::pair<std::uint16_t, std::string>> order;
  for (const DnsRecord& record : records) {
    if (record.name != name) continue;
    order.emplace_back(static_cast<std::uint16_t>(type_of(record.data)), dns_bytes(record.data));
  }
  std::sort(order.begin(), order.end());
  return order;
}

bool is_nsec(const DnsRecord& record) { return std::holds_alternative<DnsNsec>(record.data); }

}  // namespace

void MdnsResponder::announce(std::optional<MdnsService> service, Moment now) {
  if (service == service_) return;
  const bool same_names = service && service_ && service->instance == service_->instance;
  if (!same_names) {
    for (std::string& bytes : goodbye()) packets_.push_back({std::move(bytes), std::nullopt});
  }
  const bool told = announced();
  service_ = std::move(service);
  rebuild();
  if (!service_ || addresses_.empty()) {
    phase_ = Phase::idle;
  } else if (same_names && told) {
    begin_announcing(now);
  } else if (!same_names || phase_ != Phase::yielding) {
    yielded_ = 0;
    begin_probing(now);
  }
}

void MdnsResponder::set_addresses(std::vector<IpAddress> addresses, Moment now) {
  if (addresses == addresses_) return;
  addresses_ = std::move(addresses);
  if (!service_) return;
  rebuild();
  if (addresses_.empty()) {
    phase_ = Phase::idle;
  } else if (announced()) {
    begin_announcing(now);
  } else if (phase_ != Phase::yielding) {
    begin_probing(now);
  }
}

void MdnsResponder::repeat(Moment now) {
  if (announced()) begin_announcing(now);
}

void MdnsResponder::rebuild() {
  owned_.clear();
  if (!service_) return;
  for (DnsRecord& record : records_of(*service_, addresses_))
    owned_.push_back(Owned{std::move(record), {}, {}, {}});
}

void MdnsResponder::begin_probing(Moment at) {
  phase_ = Phase::probing;
  steps_ = 0;
  next_step_ = at + milliseconds(static_cast<std::int64_t>(prng_.below(250)));
  for (Owned& owned : owned_) owned.due.reset();
}

void MdnsResponder::yield(Moment now) {
  phase_ = Phase::yielding;
  const auto factor = std::int64_t{1} << std::min(yielded_, most_doublings);
  ++yielded_;
  next_step_ =
      now + Duration{first_yield.count_ms * factor + static_cast<std::int64_t>(prng_.below(1000))};
  for (Owned& owned : owned_) owned.due.reset();
}

void MdnsResponder::begin_announcing(Moment now) {
  phase_ = Phase::announcing;
  steps_ = 0;
  next_step_ = now;
}

void MdnsResponder::probe() {
  DnsMessage both;
  std::vector<std::string> one_by_one;
  constexpr auto any = static_cast<std::uint16_t>(DnsType::any);
  for (const DnsName& name : {instance_name(service_->instance), host_name(service_->instance)}) {
    DnsMessage one;
    // Answers to the group are asked for: one to this machine could reach another responder.
    one.questions = {{name, any, false}};
    for (const Owned& owned : owned_) {
      if (owned.record.name != name || is_nsec(owned.record)) continue;
      one.authorities.push_back(owned.record);
      one.authorities.back().flush = false;  // section 10.2: not in probes
    }
    one_by_one.push_back(encode_dns(one));
    both.questions.push_back(one.questions.front());
    both.authorities.insert(both.authorities.end(), one.authorities.begin(), one.authorities.end());
  }
  std::string bytes = encode_dns(both);
  if (bytes.size() <= packet_bytes) one_by_one = {std::move(bytes)};
  for (std::string& each : one_by_one) packets_.push_back({std::move(each), std::nullopt});
}

void MdnsResponder::step(Moment now) {
  switch (phase_) {
    case Phase::probing:
      if (steps_ == probes) return begin_announcing(now);
      probe();
      ++steps_;
      next_step_ = now + probe_pause;
      return;
    case Phase::announcing: {
      Chosen all;
      for (std::size_t i = 0; i < owned_.size(); ++i) all.insert(i);
      send(all, now);
      next_step_ = now + announce_pause;
      if (++steps_ == announcements) phase_ = Phase::settled;
      return;
    }
    case Phase::yielding:
      return begin_probing(now);
    case Phase::idle:
    case Phase::settled:
      return;
  }
}

void MdnsResponder::tick(Moment now) {
  // A phase that ends begins the next at once.
  while (phase_ != Phase::idle && phase_ != Phase::settled && next_step_ <= now) step(now);
  if (!announced()) return;
  Chosen due;
  for (std::size_t i = 0; i < owned_.size(); ++i)
    if (owned_[i].due && *owned_[i].due <= now) due.insert(i);
  if (!due.empty()) send(due, now);
}

std::optional<Moment> MdnsResponder::wake() const {
  std::optional<Moment> next;
  if (phase_ != Phase::idle && phase_ != Phase::settled) next = next_step_;
  for (const Owned& owned : owned_)
    if (owned.due && (!next || *owned.due < *next)) next = owned.due;
  return next;
}

std::vector<MdnsPacket> MdnsResponder::take_packets() { return std::exchange(packets_, {}); }

std::vector<std::string> MdnsResponder::goodbye() const {
  if (!announced()) return {};
  std::vector<DnsRecord> last;
  for (const Owned& owned : owned_) {
    // Others have services of this type too.
    if (owned.record.name == service_types() || is_nsec(owned.record)) continue;
    last.push_back(owned.record);
    last.back().ttl_s = 0;
  }
  return packed(answer_frame(), last, {});
}

bool MdnsResponder::loses_tie(const DnsMessage& probe) const {
  std::vector<DnsRecord> ours;
  for (const Owned& owned : owned_)
    if (owned.record.flush && !is_nsec(owned.record)) ours.push_back(owned.record);
  for (const DnsName& name : {instance_name(service_->instance), host_name(service_->instance)}) {
    const auto theirs = tie_order(probe.authorities, name);
    if (!theirs.empty() && tie_order(ours, name) < theirs) return true;
  }
  return false;
}

void MdnsResponder::query(const DnsMessage& query, const MdnsSource& from, Moment now) {
  if (query.opcode != 0) return;
  // From this machine it is this peer itself, heard through another interface on the same link.
  if (phase_ == Phase::probing && !from.own_machine && loses_tie(query)) {
    begin_probing(now + tie_pause);
    return;
  }
  if (!announced()) return;
  if (from.port != mdns_port) return answer_legacy(query, from);

  // Once, not for each question: anyone may send many of both.
  const Chosen known = known_to(query.answers);
  std::set<DnsName> probed;
  for (const DnsRecord& record : query.authorities) probed.insert(record.name);
  for (const std::size_t i : known) {
    if (owned_[i].awaited == from) {
      owned_[i].due.reset();
      owned_[i].awaited.reset();
    }
  }
  Chosen to_group;
  Chosen to_one;
  bool shared = false;
  bool defended = false;
  for (const DnsQuestion& question : query.questions) {
    Chosen chosen = answers_to(question);
    std::erase_if(chosen, [&](std::size_t i) { return known.contains(i); });
    const bool is_probe = probed.contains(question.name);
    defended = defended || (is_probe && !chosen.empty());
    // Section 5.4: all get it when they have not had it for long.
    const bool fresh = std::all_of(chosen.begin(), chosen.end(), [&](std::size_t i) {
      const Owned& owned = owned_[i];
      return owned.sent && now - *owned.sent < seconds(owned.record.ttl_s / 4);
    });
    Chosen& target = question.unicast_answer && !is_probe && fresh ? to_one : to_group;
    target.insert(chosen.begin(), chosen.end());
    for (const std::size_t i : chosen) shared = shared || !owned_[i].record.flush;
  }
  if (!to_one.empty()) answer_one(to_one, from);
  if (defended) {
    put_off(to_group, now, defence_rest, std::nullopt);
  } else if (query.truncated) {  // section 7.2: known answers follow
    const auto wait = static_cast<std::int64_t>(prng_.between(400, 500));
    put_off(to_group, now + milliseconds(wait), record_rest, from);
  } else {  // section 6: only what others may answer too is put off
    const auto wait = shared ? static_cast<std::int64_t>(prng_.between(20, 120)) : 0;
    put_off(to_group, now + milliseconds(wait), record_rest, std::nullopt);
  }
  tick(now);
}

MdnsResponder::Chosen MdnsResponder::answers_to(const DnsQuestion& question) const {
  constexpr auto any = static_cast<std::uint16_t>(DnsType::any);
  Chosen chosen;
  Chosen negative;
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    const DnsRecord& record = owned_[i].record;
    if (record.name != question.name) continue;
    if (question.type == static_cast<std::uint16_t>(type_of(record.data)) ||
        (question.type == any && !is_nsec(record))) {
      chosen.insert(i);
    } else if (is_nsec(record)) {
      negative.insert(i);
    }
  }
  // Section 6.1: that there is no such record is said where the name is ours alone.
  return chosen.empty() ? negative : chosen;
}

/// Those of ours that are among the records of others, with at least half of their life.
MdnsResponder::Chosen MdnsResponder::known_to(const std::vector<DnsRecord>& others) const {
  Chosen known;
  for (const DnsRecord& record : others) {
    for (std::size_t i = 0; i < owned_.size(); ++i) {
      const DnsRecord& ours = owned_[i].record;
      const bool same = record.name == ours.name && record.data == ours.data;
      if (same && record.ttl_s >= ours.ttl_s / 2) known.insert(i);
    }
  }
  return known;
}

MdnsResponder::Chosen MdnsResponder::additional_to(const Chosen& answers) const {
  // What the one who asked needs next (RFC 6763 section 12): all of the instance for its PTR, the
  // host's for SRV and for each other.
  bool instance = false;
  bool host = false;
  for (const std::size_t i : answers) {
    const DnsRecord& record = owned_[i].record;
    instance = instance || record.name == service_type();
    host = host || instance || std::holds_alternative<DnsSrv>(record.data) ||
           address_of(record.data).has_value();
  }
  Chosen additional;
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    const DnsRecord& record = owned_[i].record;
    if (!record.flush || answers.count(i) != 0) continue;
    const bool of_host = record.name == host_name(service_->instance);
    if (of_host ? host : instance) additional.insert(i);
  }
  return additional;
}

std::vector<DnsRecord> MdnsResponder::records(const Chosen& chosen) const {
  std::vector<DnsRecord> all;
  for (const std::size_t i : chosen) all.push_back(owned_[i].record);
  return all;
}

void MdnsResponder::answer_legacy(const DnsMessage& query, const MdnsSource& from) {
  DnsMessage frame = answer_frame();
  frame.id = query.id;
  Chosen chosen;
  // Such a resolver asks one; all that are answered are said again, to an address that may be
  // false.
  for (const DnsQuestion& question : query.questions) {
    if (!chosen.empty()) break;
    chosen = answers_to(question);
    frame.questions = {question};
  }
  if (chosen.empty()) return;
  for (DnsQuestion& question : frame.questions) question.unicast_answer = false;
  std::vector<DnsRecord> answers = records(chosen);
  std::vector<DnsRecord> additionals = records(additional_to(chosen));
  for (auto* part : {&answers, &additionals}) {
    for (DnsRecord& record : *part) {
      record.flush = false;
      record.ttl_s = std::min(record.ttl_s, legacy_ttl_s);
    }
  }
  for (std::string& bytes : packed(frame, answers, additionals))
    packets_.push_back({std::move(bytes), from});
}

void MdnsResponder::answer_one(const Chosen& chosen, const MdnsSource& to) {
  const auto additional = records(additional_to(chosen));
  for (std::string& bytes : packed(answer_frame(), records(chosen), additional))
    packets_.push_back({std::move(bytes), to});
}

void MdnsResponder::put_off(const Chosen& chosen, Moment due, Duration rest,
                            const std::optional<MdnsSource>& awaited) {
  for (const std::size_t i : chosen) {
    Owned& owned = owned_[i];
    const Moment at = owned.sent ? std::max(due, *owned.sent + rest) : due;
    // Who else asks has not said that it is known there.
    owned.awaited = owned.due ? std::nullopt : awaited;
    owned.due = owned.due ? std::min(*owned.due, at) : at;
  }
}

void MdnsResponder::send(const Chosen& answers, Moment now) {
  const Chosen additional = additional_to(answers);
  for (std::string& bytes : packed(answer_frame(), records(answers), records(additional)))
    packets_.push_back({std::move(bytes), std::nullopt});
  for (const Chosen* part : {&answers, &additional}) {
    for (const std::size_t i : *part) {
      owned_[i].sent = now;
      owned_[i].due.reset();
      owned_[i].awaited.reset();
    }
  }
}

bool MdnsResponder::response(const DnsMessage& response, const MdnsSource& from,
                             const std::set<IpAddress>& own, Moment now) {
  if (!service_ || from.own_machine) return false;
  const DnsName instance = instance_name(service_->instance);
  const DnsName host = host_name(service_->instance);
  bool conflict = false;
  for (const auto* part : {&response.answers, &response.additionals}) {
    for (const DnsRecord& record : *part) {
      bool ours = false;
      for (Owned& owned : owned_) {
        if (owned.record.name != record.name || owned.record.data != record.data) continue;
        ours = true;
        // Section 7.4: another has just answered the same.
        if (!owned.record.flush && record.ttl_s >= owned.record.ttl_s) owned.due.reset();
      }
      const auto address = address_of(record.data);
      if (ours || is_nsec(record) || record.ttl_s == 0 || (address && own.count(*address) != 0))
        continue;
      conflict = conflict || record.name == instance || record.name == host;
    }
  }
  if (!conflict) return false;
  if (announced()) {
    begin_probing(now);
  } else if (phase_ == Phase::probing) {
    yield(now);
  }
  return true;
}

}  // namespace gpl::net
