#include <algorithm>
#include <string>
#include <utility>

#include "gpl/net/dns_message.h"

namespace gpl::net {
namespace {

constexpr std::uint16_t class_in = 1;
constexpr std::uint16_t class_any = 255;
constexpr std::uint16_t top_bit = 0x8000;
constexpr std::size_t longest_name_bytes = 255;
// Pointers of 2 bytes name the same long name again and again: what is read is bounded, too.
constexpr std::size_t most_name_bytes = std::size_t{64} * 1024;
constexpr unsigned most_questions = 256;

/// Reads forward from a place, within an end; notes the first fault.
class DnsReader {
 public:
  explicit DnsReader(std::string_view bytes) : bytes_(bytes), end_(bytes.size()) {}

  bool number8(std::uint8_t& value) {
    if (at_ >= end_) return fail("ends too early");
    value = byte(at_++);
    return true;
  }
  bool number16(std::uint16_t& value) {
    if (end_ - at_ < 2) return fail("ends too early");
    value = static_cast<std::uint16_t>((unsigned{byte(at_)} << 8U) | byte(at_ + 1));
    at_ += 2;
    return true;
  }
  bool number32(std::uint32_t& value) {
    std::uint16_t high = 0;
    std::uint16_t low = 0;
    if (!number16(high) || !number16(low)) return false;
    value = (std::uint32_t{high} << 16U) | low;
    return true;
  }
  bool raw(std::size_t size, std::string_view& value) {
    if (end_ - at_ < size) return fail("ends too early");
    value = bytes_.substr(at_, size);
    at_ += size;
    return true;
  }
  template <std::size_t size>
  bool address(std::array<std::uint8_t, size>& value) {
    for (std::uint8_t& part : value)
      if (!number8(part)) return false;
    return true;
  }

  /// Each pointer must go back to before the part of the name that it ends, so that none loops.
  bool name(DnsName& value) {
    value.labels.clear();
    std::size_t place = at_;
    std::size_t part = at_;
    std::size_t bound = end_;
    std::size_t length = 1;
    bool jumped = false;
    for (;;) {
      if (place >= bound) return fail("a name ends too early");
      const unsigned head = byte(place);
      if (head == 0) break;
      if (head >= 0xc0U) {
        if (bound - place < 2) return fail("a name ends too early");
        const std::size_t target = ((head & 0x3fU) << 8U) | byte(place + 1);
        if (target >= part) return fail("a name's pointer does not point back");
        if (!jumped) at_ = place + 2;
        jumped = true;
        bound = bytes_.size();
        place = part = target;
        continue;
      }
      if (head > 63) return fail("a label of an unknown kind");
      length += head + 1;
      if (length > longest_name_bytes) return fail("a name is too long");
      if (bound - place - 1 < head) return fail("a name ends too early");
      read_ += head + 1;
      if (read_ > most_name_bytes) return fail("too many names");
      value.labels.emplace_back(bytes_.substr(place + 1, head));
      place += head + 1;
    }
    if (!jumped) at_ = place + 1;
    return true;
  }

  bool fail(std::string_view what) {
    if (fault_.empty()) fault_ = std::string(what) + " at byte " + std::to_string(at_);
    return false;
  }

  std::size_t at() const { return at_; }
  std::size_t left() const { return end_ - at_; }
  /// Reads only as far as there; gives the end of before.
  std::size_t limit(std::size_t end) { return std::exchange(end_, end); }
  void skip_to(std::size_t place) { at_ = place; }
  const std::string& fault() const { return fault_; }

 private:
  std::uint8_t byte(std::size_t place) const { return static_cast<std::uint8_t>(bytes_[place]); }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t end_;
  std::size_t read_ = 0;  ///< of names, as often as they were pointed to
  std::string fault_;
};

bool read_srv(DnsReader& reader, DnsSrv& srv) {
  return reader.number16(srv.priority) && reader.number16(srv.weight) &&
         reader.number16(srv.port) && reader.name(srv.target);
}

bool read_txt(DnsReader& reader, DnsTxt& txt) {
  while (reader.left() > 0) {
    std::uint8_t size = 0;
    std::string_view text;
    if (!reader.number8(size) || !reader.raw(size, text)) return false;
    if (!text.empty()) txt.strings.emplace_back(text);
  }
  return true;
}

bool read_nsec(DnsReader& reader, DnsNsec& nsec) {
  if (!reader.name(nsec.next)) return false;
  while (reader.left() > 0) {
    std::uint8_t window = 0;
    std::uint8_t size = 0;
    std::string_view bitmap;
    if (!reader.number8(window) || !reader.number8(size) || !reader.raw(size, bitmap)) return false;
    if (size > 32) return reader.fail("a bitmap is too long");
    if (window != 0) continue;
    for (std::size_t i = 0; i < bitmap.size() * 8; ++i) {
      const auto bits = static_cast<unsigned char>(bitmap[i / 8]);
      if ((bits & (0x80U >> (i % 8))) != 0) nsec.types.push_back(static_cast<std::uint16_t>(i));
    }
  }
  // Windows that come twice make no sense, but no harm.
  std::sort(nsec.types.begin(), nsec.types.end());
  nsec.types.erase(std::unique(nsec.types.begin(), nsec.types.end()), nsec.types.end());
  return true;
}

template <class Data, class Read>
bool read_into(DnsData& data, Read read) {
  return read(data.emplace<Data>());
}

/// False with a fault; `known` tells whether the type is one that is read.
bool read_data(DnsReader& reader, std::uint16_t type, DnsData& data, bool& known) {
  known = true;
  switch (static_cast<DnsType>(type)) {
    case DnsType::a:
      return read_into<DnsA>(data, [&](DnsA& a) { return reader.address(a.address); });
    case DnsType::aaaa:
      return read_into<DnsAaaa>(data, [&](DnsAaaa& a) { return reader.address(a.address); });
    case DnsType::ptr:
      return read_into<DnsPtr>(data, [&](DnsPtr& ptr) { return reader.name(ptr.target); });
    case DnsType::srv:
      return read_into<DnsSrv>(data, [&](DnsSrv& srv) { return read_srv(reader, srv); });
    case DnsType::txt:
      return read_into<DnsTxt>(data, [&](DnsTxt& txt) { return read_txt(reader, txt); });
    case DnsType::nsec:
      return read_into<DnsNsec>(data, [&](DnsNsec& nsec) { return read_nsec(reader, nsec); });
    case DnsType::any:
      break;
  }
  known = false;
  return true;
}

bool read_question(DnsReader& reader, std::vector<DnsQuestion>& questions) {
  DnsQuestion question;
  std::uint16_t kind = 0;
  if (!reader.name(question.name) || !reader.number16(question.type) || !reader.number16(kind))
    return false;
  question.unicast_answer = (kind & top_bit) != 0;
  kind &= static_cast<std::uint16_t>(~top_bit);
  if (kind == class_in || kind == class_any) questions.push_back(std::move(question));
  return true;
}

bool read_record(DnsReader& reader, std::vector<DnsRecord>& records) {
  DnsRecord record;
  std::uint16_t type = 0;
  std::uint16_t kind = 0;
  std::uint16_t length = 0;
  if (!reader.name(record.name) || !reader.number16(type) || !reader.number16(kind) ||
      !reader.number32(record.ttl_s) || !reader.number16(length)) {
    return false;
  }
  if (reader.left() < length) return reader.fail("a record ends too early");
  record.flush = (kind & top_bit) != 0;
  const std::size_t end = reader.at() + length;
  bool known = false;
  if ((kind & ~unsigned{top_bit}) == class_in) {
    const std::size_t before = reader.limit(end);
    if (!read_data(reader, type, record.data, known)) return false;
    if (known && reader.left() > 0) return reader.fail("a record's data ends before its length");
    (void)reader.limit(before);
  }
  reader.skip_to(end);
  if (known) records.push_back(std::move(record));
  return true;
}

bool read_message(DnsReader& reader, DnsMessage& message) {
  std::uint16_t flags = 0;
  std::array<std::uint16_t, 4> counts = {};
  if (!reader.number16(message.id) || !reader.number16(flags)) return false;
  for (std::uint16_t& count : counts)
    if (!reader.number16(count)) return false;
  message.response = (flags & 0x8000U) != 0;
  message.opcode = static_cast<std::uint8_t>((flags >> 11U) & 0xfU);
  message.authoritative = (flags & 0x0400U) != 0;
  message.truncated = (flags & 0x0200U) != 0;
  message.rcode = static_cast<std::uint8_t>(flags & 0xfU);
  if (counts[0] > most_questions) return reader.fail("too many questions");
  for (unsigned i = 0; i < counts[0]; ++i)
    if (!read_question(reader, message.questions)) return false;
  const std::array parts = {&message.answers, &message.authorities, &message.additionals};
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (unsigned i = 0; i < counts[part + 1]; ++i)
      if (!read_record(reader, *parts[part])) return false;
  }
  return reader.left() == 0 || reader.fail("there is more after the end");
}

}  // namespace

Result<DnsMessage> decode_dns(std::string_view bytes) {
  if (bytes.size() > largest_dns_message) {
    return Error{Code::too_large, "a DNS message of " + std::to_string(bytes.size()) + " bytes"};
  }
  DnsReader reader(bytes);
  DnsMessage message;
  if (!read_message(reader, message))
    return Error{Code::invalid, "not a DNS message: " + reader.fault()};
  return message;
}

}  // namespace gpl::net
