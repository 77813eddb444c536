#include "gpl/net/dns_message.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace gpl;
using namespace gpl::net;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

constexpr auto number(DnsType type) { return static_cast<std::uint16_t>(type); }

std::string refusal(std::string_view bytes) {
  const auto decoded = decode_dns(bytes);
  return decoded.ok() ? "taken" : decoded.error().message;
}

/// A head that says how many questions and answers follow.
std::string head(int questions, int answers) {
  std::string bytes(12, '\0');
  bytes[5] = static_cast<char>(questions);
  bytes[7] = static_cast<char>(answers);
  return bytes;
}

DnsMessage every_record() {
  DnsMessage message;
  message.id = 7;
  message.response = true;
  message.authoritative = true;
  message.truncated = true;
  message.opcode = 4;
  message.rcode = 3;
  message.questions = {{dns_name("_gpl._tcp.local"), number(DnsType::ptr), true},
                       {dns_name("x.local"), 6, false}};
  message.answers = {
      {dns_name("_gpl._tcp.local"), false, 4500, DnsPtr{dns_name("A1._gpl._tcp.local")}},
      {dns_name("A1._gpl._tcp.local"), true, 120, DnsSrv{1, 2, 7457, dns_name("gpl-A1.local")}}};
  message.authorities = {{dns_name("a1._gpl._tcp.local"), true, 4500, DnsTxt{{"id=1", "key"}}}};
  message.additionals = {
      {dns_name("gpl-A1.local"), true, 120, DnsA{{10, 0, 0, 7}}},
      {dns_name("gpl-A1.local"), true, 120, DnsAaaa{{0xfe, 0x80, 0, 1}}},
      {dns_name("gpl-A1.local"), true, 120, DnsNsec{dns_name("gpl-A1.local"), {1, 28, 255}}}};
  return message;
}

DnsName any_name() {
  DnsName name;
  const auto count = *rc::gen::inRange(1, 5);
  for (int i = 0; i < count; ++i) {
    const auto size = *rc::gen::inRange<std::size_t>(1, 40);
    name.labels.push_back(*rc::gen::container<std::string>(size, rc::gen::arbitrary<char>()));
  }
  return name;
}

DnsData any_data() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return DnsA{*rc::gen::arbitrary<std::array<std::uint8_t, 4>>()};
    case 1:
      return DnsAaaa{*rc::gen::arbitrary<std::array<std::uint8_t, 16>>()};
    case 2:
      return DnsPtr{any_name()};
    case 3:
      return DnsSrv{*rc::gen::arbitrary<std::uint16_t>(), *rc::gen::arbitrary<std::uint16_t>(),
                    *rc::gen::arbitrary<std::uint16_t>(), any_name()};
    case 4:
      return DnsTxt{
          *rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty<std::string>())};
  }
  const auto types =
      *rc::gen::container<std::set<std::uint16_t>>(rc::gen::inRange<std::uint16_t>(0, 256));
  return DnsNsec{any_name(), {types.begin(), types.end()}};
}

std::vector<DnsRecord> any_records() {
  std::vector<DnsRecord> records;
  const auto count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i)
    records.push_back({any_name(), *rc::gen::arbitrary<bool>(),
                       *rc::gen::arbitrary<std::uint32_t>(), any_data()});
  return records;
}

}  // namespace

TEST_CASE("a message with every kind of record reads back as it was written") {
  const auto decoded = decode_dns(encode_dns(every_record()));
  REQUIRE(decoded.ok());
  CHECK(decoded.value() == every_record());
  CHECK(decoded.value().answers[1].name.labels[0] == "A1");
}

TEST_CASE("any message within the limit reads back as it was written") {
  CHECK(rc::check([] {
    DnsMessage message;
    message.response = *rc::gen::arbitrary<bool>();
    message.answers = any_records();
    message.authorities = any_records();
    message.additionals = any_records();
    const std::string bytes = encode_dns(message);
    RC_PRE(bytes.size() <= largest_dns_message);
    const auto decoded = decode_dns(bytes);
    RC_ASSERT(decoded.ok());
    RC_ASSERT(decoded.value() == message);
  }));
}

TEST_CASE("any part of a message, and any byte of it changed, is read or refused, no more") {
  const std::string bytes = encode_dns(every_record());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_dns(std::string_view(bytes).substr(0, size)).ok());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      (void)decode_dns(changed);
    }
  }
}

TEST_CASE("names compare without regard to the case of ASCII letters alone") {
  CHECK(dns_name("GPL-a.Local") == dns_name("gpl-A.lOCAL"));
  CHECK(dns_name("a.b") != dns_name("a.b.c"));
  CHECK(DnsName{{"\xc4"}} != DnsName{{"\xe4"}});
  CHECK(DnsName{{"a.b"}} != dns_name("a.b"));
  CHECK(dns_name("a.z") < dns_name("B.a"));
}

TEST_CASE("names are compressed but in SRV") {
  DnsMessage message;
  message.answers = {
      {dns_name("_gpl._tcp.local"), false, 1, DnsPtr{dns_name("a._gpl._tcp.local")}},
      {dns_name("a._gpl._tcp.local"), false, 1, DnsSrv{0, 0, 1, dns_name("gpl-a.local")}}};
  const std::string bytes = encode_dns(message);
  CHECK(bytes.size() == 12 + (17 + 10 + 4) + (2 + 10 + 6 + 13));
  CHECK(bytes.find("\x05gpl-a\x05local") != std::string::npos);
}

TEST_CASE("a pointer in a name must point back, so that none loops") {
  // To itself, forward, and two that point at each other.
  CHECK(refusal(head(1, 0) + "\xc0\x0c\0\x01\0\x01"s) ==
        "not a DNS message: a name's pointer does not point back at byte 12");
  CHECK(refusal(head(1, 0) + "\xc0\x20\0\x01\0\x01"s).ends_with("does not point back at byte 12"));
  CHECK(refusal(head(1, 0) + "\x01x\xc0\x0c\0\x01\0\x01"s)
            .ends_with("does not point back at byte 12"));
  CHECK(refusal(head(2, 0) + "\x01x\xc0\x12\0\x01\0\x01"s + "\x01y\xc0\x0c\0\x01\0\x01"s)
            .ends_with("does not point back at byte 12"));
  CHECK(refusal(head(1, 0) + "\x01x\xc0"s).ends_with("a name ends too early at byte 12"));
}

TEST_CASE("a name of more than 255 bytes is refused, also when pointers make it long") {
  std::string bytes = head(5, 0);
  const std::string label = "\x3f"s + std::string(63, 'a');
  std::size_t before = bytes.size();
  bytes += label + "\0"s + "\0\x01\0\x01"s;
  for (int i = 0; i < 4; ++i) {
    const std::size_t here = bytes.size();
    bytes += label + "\xc0" + static_cast<char>(before);
    bytes += "\0\x01\0\x01"s;
    before = here;
    if (here > 255) bytes[here + 64] = static_cast<char>(0xc0 | (here >> 8));
  }
  CHECK(refusal(bytes).find("a name is too long") != std::string::npos);
  CHECK(refusal(head(1, 0) + "\x40"s + std::string(70, 'a')).find("a label of an unknown kind") !=
        std::string::npos);
}

TEST_CASE("data that does not fill its length, or needs more, is refused") {
  const auto record = [](std::string_view type, std::string_view data) {
    return head(0, 1) + "\0\0"s + std::string(type) + "\0\x01\0\0\0\x09\0"s +
           static_cast<char>(data.size()) + std::string(data);
  };
  CHECK(refusal(record("\x01", "abcd")) == "taken");
  CHECK(refusal(record("\x01", "abc")).find("ends too early") != std::string::npos);
  CHECK(refusal(record("\x01", "abcde")).find("ends before its length") != std::string::npos);
  CHECK(refusal(record("\x10", "\x05key")).find("ends too early") != std::string::npos);
  CHECK(refusal(record("\x21", "\0\0\0\0\0\x01"sv)).find("ends too early") != std::string::npos);
  CHECK(refusal(record("\x2f", "\0\0\x21"sv)).find("ends too early") != std::string::npos);
}

TEST_CASE("records and questions of other types and classes are passed over") {
  DnsMessage message = every_record();
  std::string bytes = encode_dns(message);
  const std::string other_type = "\0\0\x29\x05\xc0\0\0\x11\x94\0\x03xyz"s;
  const std::string other_class = "\0\0\x01\0\x03\0\0\0\x09\0\x02xy"s;
  bytes += other_type + other_class;
  bytes[11] = static_cast<char>(bytes[11] + 2);
  const auto decoded = decode_dns(bytes);
  REQUIRE(decoded.ok());
  CHECK(decoded.value() == message);
}

TEST_CASE("counts without what they count, bytes after the end, and too much are refused") {
  CHECK(refusal(head(0, 0)) == "taken");
  CHECK(refusal(head(0, 0) + "x").ends_with("there is more after the end at byte 12"));
  CHECK(refusal(head(-1, -1)).ends_with("a name ends too early at byte 12"));
  CHECK(refusal(std::string(largest_dns_message + 1, 'x')) == "a DNS message of 9001 bytes");
}

TEST_CASE("a message with more questions than make sense is refused, before they are read") {
  DnsMessage message;
  message.questions.assign(256, {dns_name("x.local"), number(DnsType::any), false});
  CHECK(decode_dns(encode_dns(message)).ok());
  message.questions.push_back(message.questions.front());
  CHECK(refusal(encode_dns(message)) == "not a DNS message: too many questions at byte 12");
}

TEST_CASE("a long name that is pointed to again and again is not read for ever") {
  const DnsName deep{std::vector<std::string>(120, "a")};
  const auto pointed_to = [&](std::size_t times) {
    DnsMessage message;
    message.response = true;
    message.answers.assign(times, {deep, false, 120, DnsPtr{deep}});
    return encode_dns(message);
  };
  CHECK(decode_dns(pointed_to(100)).ok());
  REQUIRE(pointed_to(300).size() <= largest_dns_message);
  CHECK(refusal(pointed_to(300)).starts_with("not a DNS message: too many names"));
}
