#include "gpl/core/version.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "gpl/core/ascii.h"

namespace gpl {
namespace {

/// Walks over the text of a version, deaf to case. Every take_ function moves on only when what it
/// is asked for is next.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  bool take(char lower) {
    if (rest_.empty() || to_lower(rest_.front()) != lower) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_word(std::string_view lower) {
    Cursor ahead = *this;
    for (const char c : lower) {
      if (!ahead.take(c)) return false;
    }
    *this = ahead;
    return true;
  }

  bool take_separator() { return take('-') || take('_') || take('.'); }

  /// The digits that are next; empty when none are.
  std::string_view take_digits() { return take_while(is_digit); }
  std::string_view take_alphanumerics() { return take_while(is_alphanumeric); }

 private:
  std::string_view take_while(bool (*belongs)(char)) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), belongs);
    const std::string_view taken =
        rest_.substr(0, static_cast<std::size_t>(std::distance(rest_.begin(), end)));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

/// The number after a word such as rc or post: "rc", "rc1", "rc-1" and even "rc-" are spellings.
VersionNumber read_suffix_number(Cursor& cursor) {
  cursor.take_separator();
  const std::string_view digits = cursor.take_digits();
  return digits.empty() ? VersionNumber() : VersionNumber(digits);
}

std::optional<PreRelease> read_pre(Cursor& cursor) {
  using Phase = PreRelease::Phase;
  // A word stands before those that it begins with.
  static constexpr std::array<std::pair<std::string_view, Phase>, 8> words = {{
      {"alpha", Phase::alpha},
      {"a", Phase::alpha},
      {"beta", Phase::beta},
      {"b", Phase::beta},
      {"preview", Phase::candidate},
      {"pre", Phase::candidate},
      {"rc", Phase::candidate},
      {"c", Phase::candidate},
  }};
  Cursor ahead = cursor;
  ahead.take_separator();
  for (const auto& [word, phase] : words) {
    if (!ahead.take_word(word)) continue;
    cursor = ahead;
    return PreRelease{phase, read_suffix_number(cursor)};
  }
  return std::nullopt;
}

std::optional<VersionNumber> read_post(Cursor& cursor) {
  Cursor ahead = cursor;
  if (ahead.take('-')) {
    const std::string_view digits = ahead.take_digits();
    if (!digits.empty()) {
      cursor = ahead;
      return VersionNumber(digits);
    }
  }
  ahead = cursor;
  ahead.take_separator();
  if (!ahead.take_word("post") && !ahead.take_word("rev") && !ahead.take_word("r")) {
    return std::nullopt;
  }
  cursor = ahead;
  return read_suffix_number(cursor);
}

std::optional<VersionNumber> read_dev(Cursor& cursor) {
  Cursor ahead = cursor;
  ahead.take_separator();
  if (!ahead.take_word("dev")) return std::nullopt;
  cursor = ahead;
  return read_suffix_number(cursor);
}

/// EPOCH!RELEASE; false when there is no number to start with.
bool read_epoch_and_release(Cursor& cursor, VersionParts& parts) {
  std::string_view digits = cursor.take_digits();
  if (digits.empty()) return false;
  if (cursor.take('!')) {
    parts.epoch = VersionNumber(digits);
    digits = cursor.take_digits();
    if (digits.empty()) return false;
  }
  while (!digits.empty()) {
    parts.release.emplace_back(digits);
    Cursor ahead = cursor;
    if (!ahead.take('.')) break;
    digits = ahead.take_digits();
    if (!digits.empty()) cursor = ahead;
  }
  return true;
}

/// What follows the plus sign; false when a piece is empty.
bool read_local(Cursor& cursor, std::vector<LocalSegment>& local) {
  do {
    const std::string_view piece = cursor.take_alphanumerics();
    if (piece.empty()) return false;
    if (std::all_of(piece.begin(), piece.end(), is_digit)) {
      local.emplace_back(VersionNumber(piece));
    } else {
      local.emplace_back(to_lower(piece));
    }
  } while (cursor.take_separator());
  return true;
}

std::optional<VersionParts> read_version(std::string_view text) {
  Cursor cursor(text);
  VersionParts parts;
  cursor.take('v');
  if (!read_epoch_and_release(cursor, parts)) return std::nullopt;
  parts.pre = read_pre(cursor);
  parts.post = read_post(cursor);
  parts.dev = read_dev(cursor);
  if (cursor.take('+') && !read_local(cursor, parts.local)) return std::nullopt;
  if (!cursor.at_end()) return std::nullopt;
  return parts;
}

std::string_view letters(PreRelease::Phase phase) {
  switch (phase) {
    case PreRelease::Phase::alpha:
      return "a";
    case PreRelease::Phase::beta:
      return "b";
    case PreRelease::Phase::candidate:
      return "rc";
  }
  assert(false);
  return "";
}

/// Where a version stands among those of its release: 1.0.dev1 is before 1.0a1, and what has no
/// pre-release part is after every one that has.
enum class Stage { development, pre, final_or_post };

Stage stage_of(const VersionParts& parts) {
  if (parts.pre) return Stage::pre;
  return parts.dev && !parts.post ? Stage::development : Stage::final_or_post;
}

std::strong_ordering compare_release(const VersionParts& a, const VersionParts& b) {
  const std::size_t length = std::max(a.release.size(), b.release.size());
  for (std::size_t i = 0; i < length; ++i) {
    const auto order = a.release_at(i) <=> b.release_at(i);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

/// A development release comes before what it leads to, so "no dev part" sorts last.
std::strong_ordering compare_dev(const VersionParts& a, const VersionParts& b) {
  if (a.dev && b.dev) return *a.dev <=> *b.dev;
  return b.dev.has_value() <=> a.dev.has_value();
}

}  // namespace

VersionNumber::VersionNumber(std::string_view digits) {
  assert(!digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit));
  const std::size_t first = digits.find_first_not_of('0');
  if (first != std::string_view::npos) digits_ = digits.substr(first);
}

std::strong_ordering operator<=>(const VersionNumber& a, const VersionNumber& b) {
  const auto by_length = a.digits_.size() <=> b.digits_.size();
  return by_length != 0 ? by_length : a.digits_ <=> b.digits_;
}

VersionNumber VersionParts::release_at(std::size_t index) const {
  return index < release.size() ? release[index] : VersionNumber();
}

Result<Version> Version::parse(std::string_view text) {
  const std::string_view written = trimmed(text);
  std::optional<VersionParts> parts = read_version(written);
  if (!parts) return Error{Code::invalid, in_quotes(written) + " is not a version (PEP 440)"};
  return Version(std::move(*parts), written);
}

Version::Version(VersionParts parts) : parts_(std::move(parts)) {
  assert(!parts_.release.empty());
  text_ = normalised();
}

Version::Version(VersionParts parts, std::string_view text)
    : parts_(std::move(parts)), text_(text) {}

std::string Version::normalised() const {
  std::string out;
  if (parts_.epoch != VersionNumber()) out += parts_.epoch.digits() + "!";
  for (std::size_t i = 0; i < parts_.release.size(); ++i) {
    if (i > 0) out += '.';
    out += parts_.release[i].digits();
  }
  if (parts_.pre) {
    out += letters(parts_.pre->phase);
    out += parts_.pre->number.digits();
  }
  if (parts_.post) out += ".post" + parts_.post->digits();
  if (parts_.dev) out += ".dev" + parts_.dev->digits();
  if (!parts_.local.empty()) out += "+" + local();
  return out;
}

Version Version::public_version() const {
  VersionParts parts = parts_;
  parts.local.clear();
  return Version(std::move(parts));
}

std::string Version::local() const {
  std::string out;
  for (const LocalSegment& segment : parts_.local) {
    if (!out.empty()) out += '.';
    const auto* number = std::get_if<VersionNumber>(&segment);
    out += number ? number->digits() : std::get<std::string>(segment);
  }
  return out;
}

std::weak_ordering Version::compare_public(const Version& other) const {
  const VersionParts& a = parts_;
  const VersionParts& b = other.parts_;
  if (const auto order = a.epoch <=> b.epoch; order != 0) return order;
  if (const auto order = compare_release(a, b); order != 0) return order;
  if (const auto order = stage_of(a) <=> stage_of(b); order != 0) return order;
  if (const auto order = a.pre <=> b.pre; order != 0) return order;
  if (const auto order = a.post <=> b.post; order != 0) return order;
  return compare_dev(a, b);
}

std::weak_ordering operator<=>(const Version& a, const Version& b) {
  const auto order = a.compare_public(b);
  return order != 0 ? order : a.parts_.local <=> b.parts_.local;
}

}  // namespace gpl
