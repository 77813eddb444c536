#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpl::artifact {

/// The name of content: its BLAKE2b-256 (RFC 7693, no key), as `b2sum -l 256` gives it.
class Digest {
 public:
  static constexpr std::size_t size_bytes = 32;

  Digest() = default;
  /// Nothing unless there are exactly 32 bytes.
  static std::optional<Digest> from_bytes(std::string_view bytes);
  /// Nothing unless there are exactly 64 digits, letters in lower case.
  static std::optional<Digest> from_hex(std::string_view text);

  std::string_view bytes() const;
  std::string hex() const;

  friend auto operator<=>(const Digest&, const Digest&) = default;

 private:
  std::array<unsigned char, size_bytes> bytes_{};
};

/// Makes the digest of content that comes in pieces.
class Hasher {
 public:
  Hasher();
  void add(std::string_view bytes);
  /// To be called once, as the last.
  Digest finish();

 private:
  // libsodium's state; its header stays out of ours.
  alignas(64) std::array<unsigned char, 384> state_;
};

Digest digest_of(std::string_view bytes);

}  // namespace gpl::artifact
