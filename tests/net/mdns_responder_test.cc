#include "../../src/net/mdns_responder.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "mdns_hall.h"

using namespace gpl;
using namespace gpl::net;
using hall::answer;
using hall::Hall;
using hall::holds;
using hall::only;
using hall::question;
using hall::Sent;
using hall::service;

namespace {

std::vector<std::int64_t> times(const std::vector<Sent>& sent, Moment since) {
  std::vector<std::int64_t> all;
  for (const Sent& each : sent) all.push_back((each.at - since).count_ms);
  return all;
}

/// One that announces a1 and has done so, its records rested.
Hall settled() {
  Hall link;
  link.add("a", 1, service("a1"));
  link.pass(seconds(5));
  (void)link.take_sent();
  return link;
}

/// What it answers to a question within a second.
std::vector<Sent> answers(Hall& link, const DnsMessage& query, std::uint16_t port = 5353) {
  (void)link.take_sent();
  link.inject(query, 9, port);
  link.pass(seconds(1));
  return only(link.take_sent(), "a", true);
}

}  // namespace

TEST_CASE("three probes 250 ms apart come before two announcements a second apart") {
  Hall link;
  const Moment start = link.now;
  link.add("a", 1, service("a1"));
  link.pass(seconds(10));
  std::vector<Sent> sent = link.take_sent();
  std::vector<Sent> probes;
  for (const Sent& each : only(sent, "a", false))
    if (!each.message.authorities.empty()) probes.push_back(each);
  const std::vector<Sent> announcements = only(sent, "a", true);
  REQUIRE(probes.size() == 3);
  REQUIRE(announcements.size() == 2);
  const auto probed = times(probes, start);
  CHECK(probed[0] < 250);
  CHECK(probed[1] - probed[0] == 250);
  CHECK(probed[2] - probed[1] == 250);
  const auto announced = times(announcements, start);
  CHECK(announced[0] - probed[2] == 250);
  CHECK(announced[1] - announced[0] == 1000);

  const DnsMessage& probe = probes[0].message;
  CHECK(probe.questions ==
        std::vector<DnsQuestion>{{instance_name("a1"), 255, false}, {host_name("a1"), 255, false}});
  CHECK(holds(probe.authorities, instance_name("a1"), DnsType::srv));
  CHECK(holds(probe.authorities, host_name("a1"), DnsType::a));
  for (const DnsRecord& record : probe.authorities) CHECK_FALSE(record.flush);

  const DnsMessage& told = announcements[0].message;
  CHECK(told.answers == records_of(service("a1"), {hall::v4(1)}));
}

TEST_CASE("nothing is answered before the probes are over") {
  Hall link;
  link.add("a", 1, service("a1"));
  link.pass(milliseconds(600));
  CHECK(answers(link, question(host_name("a1"), DnsType::a)).size() == 1);  // the announcement
  link.pass(seconds(5));
  CHECK(answers(link, question(host_name("a1"), DnsType::a)).size() == 1);
}

TEST_CASE("a question for the type is answered after 20 to 120 ms with all that is needed next") {
  Hall link = settled();
  const Moment asked = link.now;
  const auto sent = answers(link, question(service_type(), DnsType::ptr));
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].to_group);
  CHECK((sent[0].at - asked) >= milliseconds(20));
  CHECK((sent[0].at - asked) <= milliseconds(120));
  CHECK(sent[0].message.answers ==
        std::vector<DnsRecord>{{service_type(), false, other_ttl_s, DnsPtr{instance_name("a1")}}});
  const auto& more = sent[0].message.additionals;
  CHECK(holds(more, instance_name("a1"), DnsType::srv));
  CHECK(holds(more, instance_name("a1"), DnsType::txt));
  CHECK(holds(more, host_name("a1"), DnsType::a));
  CHECK(holds(more, host_name("a1"), DnsType::nsec));
}

TEST_CASE("the list of service types is answered") {
  Hall link = settled();
  const auto sent = answers(link, question(service_types(), DnsType::ptr));
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].message.answers ==
        std::vector<DnsRecord>{{service_types(), false, other_ttl_s, DnsPtr{service_type()}}});
}

TEST_CASE("what is ours alone is answered at once") {
  Hall link = settled();
  for (const auto& [name, type] :
       std::vector<std::pair<DnsName, DnsType>>{{instance_name("A1"), DnsType::srv},
                                                {instance_name("a1"), DnsType::txt},
                                                {host_name("a1"), DnsType::a}}) {
    link.pass(seconds(2));
    const Moment asked = link.now;
    const auto sent = answers(link, question(name, type));
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].at == asked);
    CHECK(type_of(sent[0].message.answers.at(0).data) == type);
    CHECK(sent[0].message.answers[0].flush);
  }
}

TEST_CASE("that there is no such record is said for names of ours, and nothing for others") {
  Hall link = settled();
  const auto sent = answers(link, question(host_name("a1"), DnsType::aaaa));
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].message.answers ==
        std::vector<DnsRecord>{{host_name("a1"), true, host_ttl_s, DnsNsec{host_name("a1"), {1}}}});
  CHECK(answers(link, question(host_name("zz"), DnsType::a)).empty());
  CHECK(answers(link, question(dns_name("_ssh._tcp.local"), DnsType::ptr)).empty());
  CHECK(answers(link, question(service_type(), DnsType::srv)).empty());
}

TEST_CASE("what the asker knows for half of its life is not answered") {
  Hall link = settled();
  DnsMessage query = question(service_type(), DnsType::ptr);
  query.answers = {{service_type(), false, other_ttl_s / 2, DnsPtr{instance_name("a1")}}};
  CHECK(answers(link, query).empty());
  query.answers[0].ttl_s -= 1;
  CHECK(answers(link, query).size() == 1);
}

TEST_CASE("known answers in further packets count where the query is cut") {
  Hall link = settled();
  DnsMessage query = question(service_type(), DnsType::ptr);
  query.truncated = true;
  DnsMessage rest;
  rest.answers = {{service_type(), false, other_ttl_s, DnsPtr{instance_name("a1")}}};
  link.inject(query, 9);
  link.pass(milliseconds(300));
  link.inject(rest, 8);  // of another it says nothing
  link.pass(milliseconds(50));
  CHECK(only(link.take_sent(), "a", true).empty());
  link.pass(milliseconds(150));
  CHECK(only(link.take_sent(), "a", true).size() == 1);
  link.pass(seconds(5));
  link.inject(query, 9);
  link.pass(milliseconds(300));
  link.inject(rest, 9);
  link.pass(seconds(2));
  CHECK(only(link.take_sent(), "a", true).empty());
}

TEST_CASE("a record rests for a second after it was sent to all") {
  Hall link = settled();
  const Moment asked = link.now;
  link.inject(question(host_name("a1"), DnsType::a), 9);
  link.pass(milliseconds(200));
  link.inject(question(host_name("a1"), DnsType::a), 8);
  link.pass(milliseconds(10));
  link.inject(question(host_name("a1"), DnsType::a), 7);
  link.pass(seconds(3));
  CHECK(times(only(link.take_sent(), "a", true), asked) == std::vector<std::int64_t>{0, 1000});
}

TEST_CASE("the same question over the other family is answered once") {
  Hall link = settled();
  link.inject(question(host_name("a1"), DnsType::a), 9);
  link.machine("a").link->receive(encode_dns(question(host_name("a1"), DnsType::a)),
                                  {hall::v6(9), 5353, false}, link.now);
  link.pass(seconds(3));
  CHECK(only(link.take_sent(), "a", true).size() == 1);
}

TEST_CASE("an answer to one goes to one, if all have had it lately") {
  Hall link = settled();
  auto sent = answers(link, question(host_name("a1"), DnsType::a, true));
  REQUIRE(sent.size() == 1);
  CHECK_FALSE(sent[0].to_group);
  CHECK(sent[0].message.id == 0);
  CHECK(sent[0].message.answers[0].flush);
  link.pass(seconds(host_ttl_s / 4));
  sent = answers(link, question(host_name("a1"), DnsType::a, true));
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].to_group);
}

TEST_CASE("who asks from another port is answered as plain DNS does") {
  Hall link = settled();
  DnsMessage query = question(service_type(), DnsType::ptr);
  query.id = 4711;
  const Moment asked = link.now;
  const auto sent = answers(link, query, 40000);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].at == asked);
  CHECK_FALSE(sent[0].to_group);
  CHECK(sent[0].message.id == 4711);
  CHECK(sent[0].message.questions == query.questions);
  REQUIRE(sent[0].message.answers.size() == 1);
  for (const auto* part : {&sent[0].message.answers, &sent[0].message.additionals}) {
    for (const DnsRecord& record : *part) {
      CHECK(record.ttl_s <= 10);
      CHECK_FALSE(record.flush);
    }
  }
}

TEST_CASE("one that was put off is not sent when another has answered the same") {
  Hall link = settled();
  link.inject(question(service_types(), DnsType::ptr), 9);
  link.inject(answer({{service_types(), false, other_ttl_s, DnsPtr{service_type()}}}), 8);
  link.pass(seconds(2));
  CHECK(only(link.take_sent(), "a", true).empty());
}

TEST_CASE("a probe for our names is answered at once, to all") {
  Hall link = settled();
  (void)answers(link, question(host_name("a1"), DnsType::a));
  const Moment asked = link.now;
  DnsMessage probe = question(host_name("a1"), DnsType::any, true);
  probe.authorities = {{host_name("a1"), false, 120, DnsA{{10, 0, 0, 99}}}};
  const auto sent = answers(link, probe);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].at == asked);
  CHECK(sent[0].to_group);
  CHECK(holds(sent[0].message.answers, host_name("a1"), DnsType::a));
}

TEST_CASE("the goodbye takes back all but the list of types") {
  Hall link = settled();
  link.end("a");
  const auto sent = link.take_sent();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].message.answers.size() == 4);
  for (const DnsRecord& record : sent[0].message.answers) CHECK(record.ttl_s == 0);
  CHECK_FALSE(holds(sent[0].message.answers, service_types(), DnsType::ptr));
}

TEST_CASE("what is not announced yet needs no goodbye") {
  Hall link;
  link.add("a", 1, service("a1"));
  link.pass(milliseconds(300));
  CHECK(link.machine("a").link->goodbye().empty());
}

TEST_CASE("another port or address is announced at once, without probes") {
  Hall link = settled();
  link.machine("a").link->announce(service("a1", 9), link.now);
  link.pass(seconds(3));
  auto sent = link.take_sent();
  CHECK(only(sent, "a", true).size() == 2);
  link.machine("a").link->set_addresses({hall::v4(5)}, {hall::v4(5)}, link.now);
  link.pass(seconds(3));
  sent = only(link.take_sent(), "a", true);
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].message.answers == records_of(service("a1", 9), {hall::v4(5)}));
}

TEST_CASE("another instance says goodbye to the old one and probes for the new one") {
  Hall link = settled();
  link.machine("a").link->announce(service("b2"), link.now);
  link.pass(seconds(3));
  const auto sent = link.take_sent();
  REQUIRE(!sent.empty());
  CHECK(sent[0].message.answers[0].data == DnsData{DnsPtr{instance_name("a1")}});
  CHECK(sent[0].message.answers[0].ttl_s == 0);
  CHECK(only(sent, "a", true).size() == 3);
  CHECK(only(sent, "a", false).size() == 3);
}

TEST_CASE("without an address nothing is said, and with one it begins") {
  Hall link;
  link.add("a", 1, service("a1"));
  link.machine("a").link->set_addresses({}, {}, link.now);
  link.pass(seconds(5));
  for (const Sent& sent : link.take_sent()) CHECK(sent.message.authorities.empty());
  link.machine("a").link->set_addresses({hall::v4(1)}, {hall::v4(1)}, link.now);
  link.pass(seconds(5));
  CHECK(only(link.take_sent(), "a", true).size() == 2);
}

TEST_CASE("announcements that are too long for a packet are split") {
  Hall link;
  MdnsService large = service("a1");
  for (int i = 0; i < 5; ++i) large.text["key" + std::to_string(i)] = std::string(220, 'x');
  std::vector<IpAddress> addresses;
  for (std::uint8_t i = 1; i <= 16; ++i) addresses.push_back(hall::v6(i));
  MdnsLink& a = link.add("a", 1);
  a.set_addresses(addresses, {addresses.begin(), addresses.end()}, link.now);
  a.announce(large, link.now);
  link.pass(milliseconds(1200));
  const auto sent = only(link.take_sent(), "a", true);
  std::vector<DnsRecord> all;
  for (const Sent& each : sent)
    all.insert(all.end(), each.message.answers.begin(), each.message.answers.end());
  CHECK(sent.size() == 2);
  CHECK(all == records_of(large, addresses));
}

TEST_CASE("of many questions from another port one is answered, so that no flood comes of them") {
  Hall link = settled();
  DnsMessage query = question(host_name("a1"), DnsType::a);
  query.id = 77;
  query.questions.assign(200, query.questions.front());
  query.questions.insert(query.questions.begin(), {dns_name("x.local"), 1, false});
  const auto sent = answers(link, query, 40000);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].message.id == 77);
  REQUIRE(sent[0].message.questions.size() == 1);
  CHECK(sent[0].message.questions[0].name == host_name("a1"));
  CHECK(holds(sent[0].message.answers, host_name("a1"), DnsType::a));
}

TEST_CASE("what is known is left out of the answers to all questions of a query") {
  Hall link = settled();
  DnsMessage query = question(host_name("a1"), DnsType::a);
  query.questions.push_back({instance_name("a1"), static_cast<std::uint16_t>(DnsType::srv), false});
  query.questions.push_back(query.questions.front());
  query.answers = {{host_name("a1"), false, host_ttl_s, data_of(hall::v4(1))}};
  const auto sent = answers(link, query);
  REQUIRE(sent.size() == 1);
  CHECK(holds(sent[0].message.answers, instance_name("a1"), DnsType::srv));
  CHECK_FALSE(holds(sent[0].message.answers, host_name("a1"), DnsType::a));
}
