#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/auth/key.h"
#include "gpl/core/result.h"

namespace gpl::auth {

/// A stream of bytes as records: the length of what follows in 2 bytes, big-endian, then a Noise
/// transport message of at most 65535 bytes, its tag included. Both sides rekey (Noise section
/// 11.3) after every `records_a_key` records of a direction; the nonce counts on. No record is
/// empty.
inline constexpr std::size_t record_limit_bytes = 65535;
inline constexpr std::size_t record_tag_bytes = 16;
inline constexpr std::uint64_t records_a_key = std::uint64_t{1} << 20U;

/// The sending half. Its key is wiped with it, and is in one place at a time, since nothing else
/// may be sealed with its nonces: what was moved from can only be dropped.
class Sealer {
 public:
  explicit Sealer(const KeyBytes& key, std::uint64_t rekey_after = records_a_key);
  Sealer(Sealer&& from) noexcept;
  Sealer& operator=(Sealer&& from) noexcept;
  ~Sealer();
  /// Appends records that hold `plain` to `out`: as few as possible. Nothing for nothing.
  void seal(std::string_view plain, std::string& out);

 private:
  KeyBytes key_;
  std::uint64_t rekey_after_;  ///< 0: moved from
  std::uint64_t nonce_ = 0;
};

/// The receiving half. Its key is wiped with it; what was moved from can only be dropped.
class Opener {
 public:
  explicit Opener(const KeyBytes& key, std::uint64_t rekey_after = records_a_key);
  Opener(Opener&& from) noexcept;
  Opener& operator=(Opener&& from) noexcept;
  ~Opener();
  /// Takes the next bytes of the stream, in pieces of any size; appends to `plain` what whole
  /// records hold. It keeps what is not a whole record, at most one. Code::denied when a record was
  /// changed, left out or doubled, Code::invalid for one that is too short; the same ever after.
  Status open(std::string_view bytes, std::string& plain);
  /// A record has begun that is not whole: an end of the stream now cuts it short.
  bool within_record() const { return !held_.empty(); }
  std::size_t held_bytes() const { return held_.capacity(); }

 private:
  Status open_record(std::string_view sealed, std::string& plain);

  KeyBytes key_;
  std::uint64_t rekey_after_;  ///< 0: moved from
  std::uint64_t nonce_ = 0;
  std::string held_;
  std::optional<Error> failure_;
};

struct Channel {
  Sealer sealer;
  Opener opener;
};

}  // namespace gpl::auth
