#include "gpl/auth/channel.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "big_endian.h"
#include "cipher.h"
#include "sodium_bytes.h"

namespace gpl::auth {
namespace {

static_assert(record_tag_bytes == tag_bytes);
constexpr std::size_t head_bytes = 2;
constexpr std::size_t most_plain_bytes = record_limit_bytes - record_tag_bytes;

/// One record is done.
void count(std::uint64_t& nonce, std::uint64_t rekey_after, KeyBytes& key) {
  if (++nonce % rekey_after == 0) rekey(key);
}

}  // namespace

Sealer::Sealer(const KeyBytes& key, std::uint64_t rekey_after)
    : key_(key), rekey_after_(rekey_after) {
  assert(rekey_after > 0);
}
Sealer::Sealer(Sealer&& from) noexcept
    : key_(from.key_), rekey_after_(std::exchange(from.rekey_after_, 0)), nonce_(from.nonce_) {
  wipe(from.key_);
}
Sealer& Sealer::operator=(Sealer&& from) noexcept {
  if (this == &from) return *this;
  key_ = from.key_;
  rekey_after_ = std::exchange(from.rekey_after_, 0);
  nonce_ = from.nonce_;
  wipe(from.key_);
  return *this;
}
Sealer::~Sealer() { wipe(key_); }

void Sealer::seal(std::string_view plain, std::string& out) {
  assert(rekey_after_ > 0 && "it was moved from");
  const std::size_t records = (plain.size() + most_plain_bytes - 1) / most_plain_bytes;
  out.reserve(out.size() + plain.size() + records * (head_bytes + record_tag_bytes));
  while (!plain.empty()) {
    const std::string_view part = plain.substr(0, most_plain_bytes);
    plain.remove_prefix(part.size());
    const std::size_t length = part.size() + record_tag_bytes;
    append_u16(out, static_cast<std::uint16_t>(length));
    encrypt(key_, nonce_, {}, part, out);
    count(nonce_, rekey_after_, key_);
  }
}

Opener::Opener(const KeyBytes& key, std::uint64_t rekey_after)
    : key_(key), rekey_after_(rekey_after) {
  assert(rekey_after > 0);
}
Opener::Opener(Opener&& from) noexcept
    : key_(from.key_),
      rekey_after_(std::exchange(from.rekey_after_, 0)),
      nonce_(from.nonce_),
      held_(std::move(from.held_)),
      failure_(std::move(from.failure_)) {
  wipe(from.key_);
}
Opener& Opener::operator=(Opener&& from) noexcept {
  if (this == &from) return *this;
  key_ = from.key_;
  rekey_after_ = std::exchange(from.rekey_after_, 0);
  nonce_ = from.nonce_;
  held_ = std::move(from.held_);
  failure_ = std::move(from.failure_);
  wipe(from.key_);
  return *this;
}
Opener::~Opener() { wipe(key_); }

Status Opener::open_record(std::string_view sealed, std::string& plain) {
  if (!decrypt(key_, nonce_, {}, sealed, plain))
    return Error{Code::denied, "a record of the connection was changed, left out or doubled"};
  count(nonce_, rekey_after_, key_);
  return success();
}

Status Opener::open(std::string_view bytes, std::string& plain) {
  assert(rekey_after_ > 0 && "it was moved from");
  if (failure_) return *failure_;
  const auto fail = [&](Error error) -> Status {
    failure_ = std::move(error);
    held_ = std::string();
    return *failure_;
  };
  while (!bytes.empty()) {
    // What is not a whole record is kept, up to its end and no further.
    const auto keep_to = [&](std::size_t size) {
      const std::string_view more = bytes.substr(0, size - std::min(size, held_.size()));
      held_ += more;
      bytes.remove_prefix(more.size());
      return held_.size() >= size;
    };
    const bool at_start = held_.empty() && bytes.size() >= head_bytes;
    if (!at_start && !keep_to(head_bytes)) break;
    const std::size_t length = read_u16(at_start ? bytes : std::string_view(held_));
    if (length <= record_tag_bytes)
      return fail({Code::invalid,
                   "a record of " + std::to_string(length) + " bytes is too short to be one"});
    const std::size_t whole = head_bytes + length;
    const bool in_place = at_start && bytes.size() >= whole;
    if (!in_place) {
      held_.reserve(whole);
      if (!keep_to(whole)) break;
    }
    const std::string_view record = in_place ? bytes.substr(0, whole) : std::string_view(held_);
    if (Status opened = open_record(record.substr(head_bytes), plain); !opened.ok())
      return fail(std::move(opened).error());
    if (in_place) {
      bytes.remove_prefix(whole);
    } else {
      held_.clear();
    }
  }
  return success();
}

}  // namespace gpl::auth
