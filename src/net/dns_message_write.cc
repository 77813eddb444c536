#include <cassert>
#include <limits>
#include <map>

#include "gpl/core/overloaded.h"
#include "gpl/net/dns_message.h"

namespace gpl::net {
namespace {

constexpr std::uint16_t class_in = 1;
constexpr std::uint16_t top_bit = 0x8000;
// What a pointer of 14 bits reaches (RFC 1035 section 4.1.4).
constexpr std::size_t pointer_reach = 0x3fff;

class DnsWriter {
 public:
  void number8(unsigned value) { bytes_ += static_cast<char>(static_cast<unsigned char>(value)); }
  void number16(std::uint16_t value) {
    number8(value >> 8U);
    number8(value & 0xffU);
  }
  void number32(std::uint32_t value) {
    number16(static_cast<std::uint16_t>(value >> 16U));
    number16(static_cast<std::uint16_t>(value & 0xffffU));
  }
  void raw(std::string_view bytes) { bytes_ += bytes; }

  void name(const DnsName& name, bool compress) {
    std::vector<std::string> rest = name.labels;
    while (!rest.empty()) {
      // By their exact letters, so that a reader gets the case that was written.
      if (const auto known = names_.find(rest); compress && known != names_.end()) {
        number16(static_cast<std::uint16_t>(0xc000U | known->second));
        return;
      }
      if (bytes_.size() <= pointer_reach) names_.emplace(rest, bytes_.size());
      assert(!rest.front().empty() && rest.front().size() <= 63);
      number8(static_cast<unsigned>(rest.front().size()));
      raw(rest.front());
      rest.erase(rest.begin());
    }
    number8(0);
  }

  void data(const DnsData& data, bool compress) {
    std::visit(Overloaded{[&](const DnsA& a) { address(a.address); },
                          [&](const DnsAaaa& a) { address(a.address); },
                          [&](const DnsPtr& ptr) { name(ptr.target, compress); },
                          [&](const DnsSrv& srv) {
                            number16(srv.priority);
                            number16(srv.weight);
                            number16(srv.port);
                            name(srv.target, false);
                          },
                          [&](const DnsTxt& txt) { strings(txt); },
                          [&](const DnsNsec& nsec) { types(nsec); }},
               data);
  }

  void record(const DnsRecord& record) {
    name(record.name, true);
    number16(static_cast<std::uint16_t>(type_of(record.data)));
    number16(static_cast<std::uint16_t>(class_in | (record.flush ? top_bit : 0U)));
    number32(record.ttl_s);
    const std::size_t length_at = bytes_.size();
    number16(0);
    data(record.data, true);
    const std::size_t length = bytes_.size() - length_at - 2;
    assert(length <= std::numeric_limits<std::uint16_t>::max());
    bytes_[length_at] = static_cast<char>(static_cast<unsigned char>(length >> 8U));
    bytes_[length_at + 1] = static_cast<char>(static_cast<unsigned char>(length & 0xffU));
  }

  std::string take() { return std::move(bytes_); }

 private:
  template <std::size_t size>
  void address(const std::array<std::uint8_t, size>& bytes) {
    for (const std::uint8_t byte : bytes) number8(byte);
  }

  void strings(const DnsTxt& txt) {
    if (txt.strings.empty()) number8(0);  // one empty string stands for none (RFC 6763 section 6.1)
    for (const std::string& text : txt.strings) {
      assert(text.size() <= 255);
      number8(static_cast<unsigned>(text.size()));
      raw(text);
    }
  }

  void types(const DnsNsec& nsec) {
    name(nsec.next, false);
    if (nsec.types.empty()) return;
    std::string bitmap;
    for (const std::uint16_t type : nsec.types) {
      assert(type < 256);
      bitmap.resize(std::max(bitmap.size(), std::size_t{type} / 8 + 1));
      const unsigned set = static_cast<unsigned char>(bitmap[type / 8U]) | (0x80U >> (type % 8U));
      bitmap[type / 8U] = static_cast<char>(static_cast<unsigned char>(set));
    }
    number8(0);
    number8(static_cast<unsigned>(bitmap.size()));
    raw(bitmap);
  }

  std::string bytes_;
  std::map<std::vector<std::string>, std::size_t> names_;
};

std::uint16_t flags_of(const DnsMessage& message) {
  unsigned flags = 0;
  if (message.response) flags |= 0x8000U;
  flags |= (message.opcode & 0xfU) << 11U;
  if (message.authoritative) flags |= 0x0400U;
  if (message.truncated) flags |= 0x0200U;
  flags |= message.rcode & 0xfU;
  return static_cast<std::uint16_t>(flags);
}

}  // namespace

std::string dns_bytes(const DnsData& data) {
  DnsWriter writer;
  writer.data(data, false);
  return writer.take();
}

std::string encode_dns(const DnsMessage& message) {
  DnsWriter writer;
  writer.number16(message.id);
  writer.number16(flags_of(message));
  writer.number16(static_cast<std::uint16_t>(message.questions.size()));
  for (const auto* part : {&message.answers, &message.authorities, &message.additionals})
    writer.number16(static_cast<std::uint16_t>(part->size()));
  for (const DnsQuestion& question : message.questions) {
    writer.name(question.name, true);
    writer.number16(question.type);
    writer.number16(
        static_cast<std::uint16_t>(class_in | (question.unicast_answer ? top_bit : 0U)));
  }
  for (const auto* part : {&message.answers, &message.authorities, &message.additionals})
    for (const DnsRecord& record : *part) writer.record(record);
  std::string bytes = writer.take();
  assert(bytes.size() <= std::numeric_limits<std::uint16_t>::max());
  return bytes;
}

}  // namespace gpl::net
