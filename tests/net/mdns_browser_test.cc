#include "../../src/net/mdns_browser.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "mdns_hall.h"

using namespace gpl;
using namespace gpl::net;
using hall::answer;
using hall::Hall;
using hall::only;
using hall::service;

namespace {

MdnsEvent found(const std::string& instance, std::uint16_t port,
                const std::vector<std::string>& addresses) {
  MdnsFound all{service(instance, port), {}};
  for (const std::string& address : addresses) all.addresses.push_back({address, port});
  return {instance, all};
}
MdnsEvent gone(const std::string& instance) { return {instance, std::nullopt}; }

using Events = std::vector<MdnsEvent>;

/// The moments, in ms since then, at which it asked for instances.
std::vector<std::int64_t> asked(Hall& link, const std::string& name, Moment since) {
  std::vector<std::int64_t> all;
  for (const auto& sent : only(link.take_sent(), name, false)) {
    if (!sent.message.questions.empty() && sent.message.questions[0].name == service_type())
      all.push_back((sent.at - since).count_ms);
  }
  return all;
}

/// A link with one that only looks, and says what it knows of a1.
Hall looking() {
  Hall link;
  link.add("b", 2);
  return link;
}

DnsMessage all_of(const std::string& instance, std::uint8_t number, std::uint16_t port = 7457) {
  return answer(records_of(service(instance, port), {hall::v4(number)}));
}

}  // namespace

TEST_CASE("it asks at once, after 1 s, 3 s, 9 s and so on, up to an hour, a little spread") {
  Hall link = looking();
  const Moment start = link.now;
  link.pass(seconds(6 * 3600));
  const auto moments = asked(link, "b", start);
  REQUIRE(moments.size() == 14);
  CHECK(moments[0] == 0);
  std::int64_t interval_ms = 1000;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    CHECK(moments[i] - moments[i - 1] >= interval_ms);
    CHECK(moments[i] - moments[i - 1] <= interval_ms + interval_ms / 50);
    interval_ms = std::min<std::int64_t>(interval_ms * 3, 3'600'000);
  }
}

TEST_CASE("look asks at once and begins the schedule anew") {
  Hall link = looking();
  link.pass(seconds(1000));
  (void)link.take_sent();
  const Moment start = link.now;
  link.machine("b").link->look(link.now);
  link.pass(seconds(2));
  const auto moments = asked(link, "b", start);
  REQUIRE(moments.size() == 2);
  CHECK(moments[0] == 0);
  CHECK(moments[1] >= 1000);
}

TEST_CASE("an announcer is found within 120 ms of the question, with all that it says") {
  Hall link;
  link.add("a", 1, service("A1", 99));
  link.pass(seconds(5));
  link.add("b", 2);
  link.pass(milliseconds(121));
  MdnsFound all{{"a1", 99, {{"id", "A1"}}}, {{"10.0.0.1", 99}}};
  CHECK(link.take_events("b") == Events{{"a1", all}});
  link.pass(seconds(3600));
  CHECK(link.take_events("b").empty());
  CHECK(link.take_events("a").empty());
}

TEST_CASE("it is found and known for hours, by what it is asked before it is over") {
  Hall link;
  link.add("a", 1, service("a1"));
  link.add("b", 2);
  link.pass(seconds(24 * 3600));
  CHECK(link.take_events("b") == Events{found("a1", 7457, {"10.0.0.1"})});
}

TEST_CASE("answers that are known are said, and so not given again") {
  Hall link;
  link.add("a", 1, service("a1"));
  link.pass(seconds(5));
  link.add("b", 2);
  link.pass(milliseconds(500));
  (void)link.take_sent();
  link.pass(seconds(30));
  const auto sent = link.take_sent();
  CHECK(only(sent, "a", true).empty());
  const auto queries = only(sent, "b", false);
  CHECK(queries.size() == 3);
  for (const auto& query : queries) {
    REQUIRE(query.message.answers.size() == 1);
    CHECK(query.message.answers[0].data == DnsData{DnsPtr{instance_name("a1")}});
  }
}

TEST_CASE("a goodbye is told a second later, if nothing new is said until then") {
  Hall link;
  link.add("a", 1, service("a1"));
  link.add("b", 2);
  link.pass(seconds(5));
  (void)link.take_events("b");
  link.end("a");
  link.pass(milliseconds(900));
  CHECK(link.take_events("b").empty());
  link.pass(milliseconds(400));
  CHECK(link.take_events("b") == Events{gone("a1")});

  link.inject(all_of("c3", 3), 3);
  (void)link.take_events("b");
  DnsMessage goodbye = all_of("c3", 3);
  for (DnsRecord& record : goodbye.answers) record.ttl_s = 0;
  link.inject(goodbye, 3);
  link.pass(milliseconds(500));
  link.inject(all_of("c3", 3), 3);
  link.pass(seconds(10));
  CHECK(link.take_events("b").empty());
}

TEST_CASE("who is silent is asked at 80, 85, 90 and 95 % of the time, then gone") {
  Hall link = looking();
  link.pass(seconds(200));
  const Moment heard = link.now;
  link.inject(all_of("a1", 1), 1);
  (void)link.take_sent();
  link.pass(seconds(119));
  std::vector<std::int64_t> moments;
  for (const auto& sent : link.take_sent())
    for (const DnsQuestion& question : sent.message.questions)
      if (question.name == instance_name("a1")) moments.push_back((sent.at - heard).count_ms);
  REQUIRE(moments.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto percent = static_cast<std::int64_t>(80 + 5 * i);
    CHECK(moments[i] >= 1200 * percent);
    CHECK(moments[i] <= 1200 * (percent + 2) + 200);
  }
  CHECK(link.take_events("b") == Events{found("a1", 7457, {"10.0.0.1"})});
  link.pass(seconds(2));
  CHECK(link.take_events("b") == Events{gone("a1")});
}

TEST_CASE("what is missing in an answer is asked for, and no longer than it makes sense") {
  Hall link = looking();
  link.pass(seconds(200));
  (void)link.take_sent();
  const DnsMessage whole = all_of("a1", 1);
  link.inject(answer({whole.answers[0]}), 1);
  link.pass(milliseconds(100));
  auto sent = link.take_sent();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].message.questions == std::vector<DnsQuestion>{{instance_name("a1"), 33, false},
                                                              {instance_name("a1"), 16, false}});
  link.inject(answer({whole.answers[2], whole.answers[3]}), 1);
  link.pass(milliseconds(100));
  sent = link.take_sent();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].message.questions ==
        std::vector<DnsQuestion>{{host_name("a1"), 1, false}, {host_name("a1"), 28, false}});
  CHECK(link.take_events("b").empty());
  link.inject(answer({whole.answers[4]}), 1);
  CHECK(link.take_events("b") == Events{found("a1", 7457, {"10.0.0.1"})});

  link.inject(answer({all_of("c3", 3).answers[0]}), 1);
  (void)link.take_sent();
  link.pass(seconds(60));
  std::size_t questions = 0;
  for (const auto& each : link.take_sent())
    for (const DnsQuestion& question : each.message.questions)
      if (question.name == instance_name("c3")) ++questions;
  CHECK(questions == 10);
}

TEST_CASE("other addresses, another port and another text are told") {
  Hall link = looking();
  link.inject(all_of("a1", 1), 1);
  link.pass(seconds(10));
  link.inject(all_of("a1", 5), 1);
  link.pass(seconds(3));
  CHECK(link.take_events("b") == Events{found("a1", 7457, {"10.0.0.1"}),
                                        found("a1", 7457, {"10.0.0.1", "10.0.0.5"}),
                                        found("a1", 7457, {"10.0.0.5"})});
  link.inject(all_of("a1", 5, 9), 1);
  CHECK(link.take_events("b") == Events{found("a1", 9, {"10.0.0.5"})});
}

TEST_CASE("addresses come with IPv4 first, and those of the link with their interface last") {
  Hall link = looking();
  IpAddress global{true, {0xfd, 0x77}};
  global.bytes[15] = 1;
  link.inject(answer(records_of(service("a1"), {hall::v6(1), global, hall::v4(1)})), 1);
  CHECK(link.take_events("b") ==
        Events{found("a1", 7457, {"10.0.0.1", "fd77::1", "fe80::1%eth0"})});
}

TEST_CASE("addresses that no other machine can have are passed over") {
  Hall link = looking();
  IpAddress loopback{true, {}};
  loopback.bytes[15] = 1;
  IpAddress mapped{true, {}};
  mapped.bytes[10] = mapped.bytes[11] = 0xff;
  mapped.bytes[12] = 10;
  link.inject(answer(records_of(service("a1"),
                                {IpAddress{false, {127, 0, 1, 1}}, IpAddress{false, {224, 0, 0, 1}},
                                 IpAddress{}, loopback, mapped, IpAddress{true, {0xff, 2}}})),
              1);
  CHECK(link.take_events("b").empty());
  link.inject(answer(records_of(service("a1"), {hall::v4(1)})), 1);
  CHECK(link.take_events("b") == Events{found("a1", 7457, {"10.0.0.1"})});
}

TEST_CASE("an answer from another port than 5353, a query's answers and an error are ignored") {
  Hall link = looking();
  link.inject(all_of("a1", 1), 1, 5354);
  DnsMessage query = all_of("a1", 1);
  query.response = false;
  link.inject(query, 1);
  DnsMessage error = all_of("a1", 1);
  error.rcode = 3;
  link.inject(error, 1);
  link.inject_bytes("garbage", 1);
  CHECK(link.take_events("b").empty());
}

TEST_CASE("names and texts that could do harm on a screen are ignored") {
  Hall link = looking();
  link.inject(answer(records_of(service("a1"), {hall::v4(1)})), 1);
  DnsMessage bad = all_of("c3", 3);
  bad.answers[0].data = DnsPtr{DnsName{{"c\x1b[2J", "_gpl", "_tcp", "local"}}};
  link.inject(bad, 3);
  DnsMessage text = all_of("d4", 4);
  text.answers[3].data = DnsTxt{{"id=d4", "\x1b[2J=x", "x=\n", "=y", "id=other"}};
  link.inject(text, 4);
  CHECK(link.take_events("b") ==
        Events{found("a1", 7457, {"10.0.0.1"}), found("d4", 7457, {"10.0.0.4"})});
}

TEST_CASE("a flood of instances is bounded, and those heard of longest ago go first") {
  Hall link = looking();
  for (std::size_t i = 0; i < MdnsCache::most_instances + 200; ++i) {
    link.now = link.now + milliseconds(1);
    link.inject(all_of("x" + std::to_string(i), 1), 1);
  }
  CHECK(link.known("b").size() == MdnsCache::most_instances);
  CHECK(link.known("b").count("x1199") == 1);
  CHECK(link.known("b").count("x199") == 0);
}

TEST_CASE("a flood of promises with nothing behind them costs a bounded number of questions") {
  Hall link = looking();
  for (std::size_t i = 0; i < 3 * MdnsCache::most_instances; ++i)
    link.inject(answer({all_of("x" + std::to_string(i), 1).answers[0]}), 1);
  (void)link.take_sent();
  link.pass(seconds(1));
  std::size_t questions = 0;
  for (const auto& sent : link.take_sent()) questions += sent.message.questions.size();
  CHECK(questions <= 6 * 61);
}

TEST_CASE("records of a second's life are not asked for again") {
  Hall link = looking();
  link.pass(seconds(200));
  (void)link.take_sent();
  DnsMessage brief = all_of("a1", 1);
  for (DnsRecord& record : brief.answers) record.ttl_s = 1;
  link.inject(brief, 1);
  link.pass(seconds(5));
  CHECK(link.take_sent().empty());
  CHECK(link.take_events("b").back() == gone("a1"));
}

TEST_CASE("more known answers than a packet holds go into several") {
  Hall link = looking();
  for (int i = 0; i < 200; ++i)
    link.inject(all_of("an-instance-of-some-length-" + std::to_string(i), 1), 1);
  (void)link.take_sent();
  link.machine("b").link->look(link.now);
  link.pass(milliseconds(1));
  const auto sent = link.take_sent();
  REQUIRE(sent.size() > 2);
  std::size_t answers = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    answers += sent[i].message.answers.size();
    CHECK(sent[i].message.questions.size() == (i == 0 ? 1 : 0));
    CHECK(sent[i].message.truncated == (i + 1 < sent.size()));
  }
  CHECK(answers == 200);
}

TEST_CASE("twenty that come at once all find each other, with few packets") {
  Hall link;
  for (std::uint8_t i = 1; i <= 20; ++i)
    link.add("m" + std::to_string(i), i, service("p" + std::to_string(i)));
  link.pass(seconds(60));
  for (int i = 1; i <= 20; ++i) CHECK(link.known("m" + std::to_string(i)).size() == 19);
  CHECK(link.take_sent().size() < 20 * 40);
}
