#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/core/version.h"

namespace gpl {

/// One clause of a PEP 440 version specifier, such as ">=2.1" or "==2.4.*".
class Specifier {
 public:
  enum class Comparison {
    compatible,     ///< ~=
    equal,          ///< ==, also with .*
    not_equal,      ///< !=, also with .*
    less_equal,     ///< <=
    greater_equal,  ///< >=
    less,           ///< <
    greater,        ///< >
    identical,      ///< ===, of the text as written
  };

  /// Reads one clause, whitespace around it included. `column` is where the text begins in what the
  /// person wrote, from 1: a message counts from there, in bytes. Error: Code::invalid.
  static Result<Specifier> parse(std::string_view text, std::size_t column = 1);

  /// Whether an installed version satisfies the clause. Unlike for an index to choose from,
  /// pre-releases count like any other version. Where an exclusive comparison is concerned, a
  /// pre-release, post-release or local version of exactly the version named is left out (PEP 440).
  bool contains(const Version& version) const;

  Comparison comparison() const { return comparison_; }
  /// The operator and the version as it was written, without whitespace.
  std::string to_string() const;

  friend bool operator==(const Specifier& a, const Specifier& b) {
    return a.comparison_ == b.comparison_ && a.text_ == b.text_;
  }

 private:
  Specifier(Comparison comparison, std::string_view text) : comparison_(comparison), text_(text) {}

  bool has_prefix_of(const Version& version, std::size_t length) const;
  bool equals(const Version& version) const;
  bool is_above(const Version& version) const;
  bool is_below(const Version& version) const;

  Comparison comparison_;
  std::string text_;                ///< the version as written, a .* at its end included
  std::optional<Version> version_;  ///< without the .*; absent for ===, whose text may be anything
  bool any_suffix_ = false;         ///< a .* was written
};

/// Clauses that must all hold: ">=2.1, <3". No clause at all holds for every version.
class SpecifierSet {
 public:
  SpecifierSet() = default;
  /// Reads clauses between commas; whitespace and empty clauses are passed over. `column` and
  /// errors as for Specifier::parse.
  static Result<SpecifierSet> parse(std::string_view text, std::size_t column = 1);

  /// Whether an installed version satisfies every clause.
  bool contains(const Version& version) const;

  bool empty() const { return clauses_.empty(); }
  /// The clauses sorted as text, each once, between commas.
  std::string to_string() const;

  friend bool operator==(const SpecifierSet&, const SpecifierSet&) = default;

 private:
  std::vector<Specifier> clauses_;  ///< in the order of to_string(), each once
};

}  // namespace gpl
