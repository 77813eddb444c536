#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpl/core/result.h"

namespace gpl {

/// A whole number of any length, kept as decimal digits: dates and commit counts in versions
/// outgrow 64 bits. Compared by value.
class VersionNumber {
 public:
  VersionNumber() = default;
  /// Requires one or more of 0-9; leading zeros are dropped.
  explicit VersionNumber(std::string_view digits);

  const std::string& digits() const { return digits_; }

  friend bool operator==(const VersionNumber&, const VersionNumber&) = default;
  friend std::strong_ordering operator<=>(const VersionNumber& a, const VersionNumber& b);

 private:
  std::string digits_ = "0";
};

/// The a1, b2 or rc3 of a version.
struct PreRelease {
  enum class Phase { alpha, beta, candidate };
  Phase phase = Phase::alpha;
  VersionNumber number;
  friend auto operator<=>(const PreRelease&, const PreRelease&) = default;
};

/// One dotted piece of a local version. The order of the alternatives is PEP 440's: a word sorts
/// before any number.
using LocalSegment = std::variant<std::string, VersionNumber>;

/// What a version consists of: EPOCH!RELEASE[PRE][.postN][.devN][+LOCAL].
struct VersionParts {
  VersionNumber epoch;
  std::vector<VersionNumber> release;  ///< as many numbers as were written, one at least
  std::optional<PreRelease> pre;
  std::optional<VersionNumber> post;
  std::optional<VersionNumber> dev;
  std::vector<LocalSegment> local;  ///< words in lower case; empty when there is none

  /// Number `index` of the release, 0 past its end: 1.0 and 1.0.0 are one release.
  VersionNumber release_at(std::size_t index) const;
};

/// A Python package's version, as PEP 440 writes and orders them. Equality and order are by value:
/// "v1.0" and "1.0.0" are equal, though text() and normalised() tell them apart.
class Version {
 public:
  /// Reads any spelling that PEP 440 can normalise, whitespace around it included. Takes time
  /// linear in the text. Error: Code::invalid, and the message quotes the text.
  static Result<Version> parse(std::string_view text);

  /// Requires a release of one number or more.
  explicit Version(VersionParts parts);

  const VersionParts& parts() const { return parts_; }
  /// As it was written, without whitespace around it: what === compares.
  const std::string& text() const { return text_; }
  /// PEP 440's canonical spelling; zeros at the end of the release stay.
  std::string normalised() const;

  /// A pre-release or a development release.
  bool is_prerelease() const { return parts_.pre || parts_.dev; }
  bool is_postrelease() const { return parts_.post.has_value(); }
  /// The version without its local part.
  Version public_version() const;
  /// The normalised local part ("cu121" of "2.4.0+CU121"), empty when there is none.
  std::string local() const;

  /// The order of the public versions alone.
  std::weak_ordering compare_public(const Version& other) const;
  friend std::weak_ordering operator<=>(const Version& a, const Version& b);
  friend bool operator==(const Version& a, const Version& b) { return (a <=> b) == 0; }

 private:
  Version(VersionParts parts, std::string_view text);

  VersionParts parts_;
  std::string text_;
};

}  // namespace gpl
