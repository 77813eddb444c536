#include "gpl/core/specifier.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "gpl/core/ascii.h"

namespace gpl {
namespace {

using Comparison = Specifier::Comparison;

struct Operator {
  std::string_view text;
  Comparison comparison;
};

// An operator stands before those that it begins with.
constexpr std::array<Operator, 8> operators = {{
    {"===", Comparison::identical},
    {"==", Comparison::equal},
    {"!=", Comparison::not_equal},
    {"~=", Comparison::compatible},
    {"<=", Comparison::less_equal},
    {">=", Comparison::greater_equal},
    {"<", Comparison::less},
    {">", Comparison::greater},
}};

const Operator* operator_at_start(std::string_view text) {
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const Operator& op) { return text.starts_with(op.text); });
  return found == operators.end() ? nullptr : found;
}

std::string_view operator_text(Comparison comparison) {
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const Operator& op) { return op.comparison == comparison; });
  assert(found != operators.end());
  return found->text;
}

bool compares_for_equality(Comparison comparison) {
  return comparison == Comparison::equal || comparison == Comparison::not_equal;
}

Error invalid_at(std::size_t column, const std::string& what) {
  return Error{Code::invalid, what + ", at column " + std::to_string(column)};
}

/// How many characters of whitespace the text begins with.
std::size_t leading_whitespace(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_whitespace);
  return static_cast<std::size_t>(std::distance(text.begin(), end));
}

Error no_version(std::string_view text, std::size_t column) {
  std::string what = in_quotes(text) + " is not a version (PEP 440)";
  if (text.find_first_of("<>=!~") != std::string_view::npos) {
    what += "; clauses are separated by commas";
  }
  return invalid_at(column, what);
}

/// Why this version must not stand after this operator, if so (PEP 440, "Version specifiers").
std::optional<std::string> misuse(Comparison comparison, const VersionParts& parts,
                                  bool any_suffix) {
  if (any_suffix) {
    if (!compares_for_equality(comparison)) return ".* goes only with == and !=";
    if (parts.pre || parts.post || parts.dev || !parts.local.empty()) {
      return ".* goes only after a plain release, as in 1.0.*";
    }
  }
  if (!parts.local.empty() && !compares_for_equality(comparison)) {
    return "a local version (+...) goes only with == and !=";
  }
  if (comparison == Comparison::compatible && parts.release.size() < 2) {
    return "~= needs two numbers at least, as in ~=1.0";
  }
  return std::nullopt;
}

/// The version without its post-release part and what comes after it.
Version before_post(const Version& version) {
  VersionParts parts = version.parts();
  parts.post.reset();
  parts.dev.reset();
  parts.local.clear();
  return Version(std::move(parts));
}

/// The first of the version's own pre-releases.
Version first_development_release(const Version& version) {
  VersionParts parts = version.parts();
  parts.dev = VersionNumber();
  return Version(std::move(parts));
}

}  // namespace

Result<Specifier> Specifier::parse(std::string_view text, std::size_t column) {
  column += leading_whitespace(text);
  text = trimmed(text);
  const Operator* op = operator_at_start(text);
  if (op == nullptr) {
    return invalid_at(
        column, in_quotes(text) + " does not begin with one of ~= == != <= >= < > === (PEP 440)");
  }
  const std::size_t skipped = leading_whitespace(text.substr(op->text.size())) + op->text.size();
  column += skipped;
  Specifier specifier(op->comparison, text.substr(skipped));
  std::string_view written = specifier.text_;

  if (op->comparison == Comparison::identical) {
    // What could not stand in a requirement, where a marker or a parenthesis may follow.
    const bool is_word = std::none_of(written.begin(), written.end(), [](char c) {
      return is_whitespace(c) || c == ';' || c == ')';
    });
    return is_word ? Result<Specifier>(std::move(specifier)) : no_version(written, column);
  }
  if (written.empty()) {
    return invalid_at(column, "no version after " + in_quotes(op->text) + " (PEP 440)");
  }
  specifier.any_suffix_ = written.ends_with(".*");
  if (specifier.any_suffix_) written.remove_suffix(2);
  Result<Version> version = Version::parse(written);
  // Version::parse forgives whitespace at the ends, which may not stand before the .* either.
  if (!version || written != trimmed(written)) return no_version(specifier.text_, column);
  if (const auto why = misuse(op->comparison, version.value().parts(), specifier.any_suffix_)) {
    return invalid_at(column, in_quotes(specifier.text_) + ": " + *why + " (PEP 440)");
  }
  specifier.version_ = std::move(version).value();
  return specifier;
}

bool Specifier::contains(const Version& version) const {
  switch (comparison_) {
    case Comparison::compatible:
      return version.compare_public(*version_) >= 0 &&
             has_prefix_of(version, version_->parts().release.size() - 1);
    case Comparison::equal:
      return equals(version);
    case Comparison::not_equal:
      return !equals(version);
    case Comparison::less_equal:
      return version.compare_public(*version_) <= 0;
    case Comparison::greater_equal:
      return version.compare_public(*version_) >= 0;
    case Comparison::less:
      return is_below(version);
    case Comparison::greater:
      return is_above(version);
    case Comparison::identical:
      return to_lower(version.text()) == to_lower(text_);
  }
  assert(false);
  return false;
}

/// Whether epoch and the first `length` numbers of the release are those of the version.
bool Specifier::has_prefix_of(const Version& version, std::size_t length) const {
  const VersionParts& mine = version_->parts();
  const VersionParts& theirs = version.parts();
  if (mine.epoch != theirs.epoch) return false;
  for (std::size_t i = 0; i < length; ++i) {
    if (mine.release_at(i) != theirs.release_at(i)) return false;
  }
  return true;
}

bool Specifier::equals(const Version& version) const {
  if (any_suffix_) return has_prefix_of(version, version_->parts().release.size());
  // Who does not name a local version takes any.
  if (version_->parts().local.empty()) return version.compare_public(*version_) == 0;
  return version == *version_;
}

bool Specifier::is_above(const Version& version) const {
  const VersionParts& bound = version_->parts();
  const bool leaves_out_post = !bound.post && !bound.dev;
  if (leaves_out_post && version.is_postrelease()) return before_post(version) > *version_;
  return version.compare_public(*version_) > 0;
}

bool Specifier::is_below(const Version& version) const {
  if (version_->is_prerelease()) return version.compare_public(*version_) < 0;
  return version < first_development_release(*version_);
}

std::string Specifier::to_string() const { return std::string(operator_text(comparison_)) + text_; }

Result<SpecifierSet> SpecifierSet::parse(std::string_view text, std::size_t column) {
  SpecifierSet set;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view clause = text.substr(begin, end - begin);
    if (!trimmed(clause).empty()) {
      Result<Specifier> specifier = Specifier::parse(clause, column + begin);
      if (!specifier) return std::move(specifier).error();
      set.clauses_.push_back(std::move(specifier).value());
    }
    begin = end + 1;
  }
  std::sort(set.clauses_.begin(), set.clauses_.end(),
            [](const Specifier& a, const Specifier& b) { return a.to_string() < b.to_string(); });
  set.clauses_.erase(std::unique(set.clauses_.begin(), set.clauses_.end()), set.clauses_.end());
  return set;
}

bool SpecifierSet::contains(const Version& version) const {
  return std::all_of(clauses_.begin(), clauses_.end(),
                     [&](const Specifier& clause) { return clause.contains(version); });
}

std::string SpecifierSet::to_string() const {
  std::string out;
  for (const Specifier& clause : clauses_) {
    if (!out.empty()) out += ',';
    out += clause.to_string();
  }
  return out;
}

}  // namespace gpl
