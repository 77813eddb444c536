#include "gpl/core/specifier.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "any_version.h"
#include "case_table.h"

namespace gpl {
namespace {

using test::any_of;
using test::any_public_version;
using test::any_version;

Version version(const std::string& text) {
  const auto parsed = Version::parse(text);
  REQUIRE_MESSAGE(parsed.ok(), text);
  return parsed.value();
}

SpecifierSet set(const std::string& text) {
  const auto parsed = SpecifierSet::parse(text);
  REQUIRE_MESSAGE(parsed.ok(), text);
  return parsed.value();
}

bool contains(const std::string& specifiers, const Version& candidate) {
  return set(specifiers).contains(candidate);
}

bool contains(const std::string& specifiers, const std::string& candidate) {
  return contains(specifiers, version(candidate));
}

std::string error_of(const std::string& text) {
  const auto parsed = SpecifierSet::parse(text);
  return parsed.ok() ? "" : parsed.error().message;
}

/// What column `expected` of the table holds.
std::string answer(const std::string& candidate, const std::string& specifiers) {
  const auto parsed = SpecifierSet::parse(specifiers);
  if (!parsed.ok()) return "invalid-specifier";
  const auto parsed_version = Version::parse(candidate);
  if (!parsed_version.ok()) return "invalid-version";
  return parsed.value().contains(parsed_version.value()) ? "true" : "false";
}

std::string any_clause() {
  const std::string op = any_of({"==", "!=", "<=", ">=", "<", ">", "~=", "===", "==*", "!=*"});
  if (op.ends_with('*')) return op.substr(0, 2) + test::any_release(1, 3) + ".*";
  if (op == "~=") return op + any_public_version(2);
  if (op == "==" || op == "!=" || op == "===") return op + any_version();
  return op + any_public_version();
}

}  // namespace

TEST_CASE("every row of the PEP 440 table gets the expected answer") {
  const test::CaseTable table(GPL_TEST_CASES "/versions/pep440.tsv");
  for (std::size_t row = 0; row < table.size(); ++row) {
    CAPTURE(table.at(row, "id"));
    CHECK(answer(table.at(row, "version"), table.at(row, "specifier")) ==
          table.at(row, "expected"));
  }
}

TEST_CASE("an exclusive comparison leaves out the variants of the version named, and no others") {
  CHECK_FALSE(contains("<1.0", "1.0rc1"));
  CHECK(contains("<1.0.post1", "1.0rc1"));
  CHECK_FALSE(contains("<1.0.post1", "1.0.post1.dev0"));
  CHECK(contains("<1.0.post1", "1.0.post0.dev0"));
  CHECK(contains("<1.0rc2", "1.0rc1"));
  CHECK(contains("<1.0.dev2", "1.0.dev1"));

  CHECK_FALSE(contains(">1.0", "1.0.post1"));
  CHECK_FALSE(contains(">1.0", "1.0.post1.dev0"));
  CHECK_FALSE(contains(">1.0rc1", "1.0rc1.post1"));
  CHECK(contains(">1.0rc1", "1.0.post1"));
  CHECK(contains(">1.0.dev1", "1.0.post1"));
  CHECK(contains(">1.0.post1", "1.0.post2"));

  CHECK_FALSE(contains(">1.0", "1.0+cu121"));
  CHECK_FALSE(contains(">1.0.post1", "1.0.post1+cu121"));
  CHECK(contains(">1.0rc1", "1.0+cu121"));
  CHECK(contains(">1.0.post1", "1.0.post2+cu121"));
}

TEST_CASE("=== compares the text as written, deaf to case, and nothing else") {
  CHECK(contains("===1.0-RC1", "1.0-rc1"));
  CHECK(contains("=== v1.0 ", " V1.0\n"));
  CHECK_FALSE(contains("===1.0", "v1.0"));
  CHECK_FALSE(contains("===1.0rc1", "1.0-rc1"));
  CHECK_FALSE(contains("===anything", "1.0"));
}

TEST_CASE("an epoch counts in prefix matches") {
  CHECK_FALSE(contains("==0.*", "1!0.1"));
  CHECK_FALSE(contains("~=0.1", "1!0.2"));
  CHECK(contains("~=1!0.1", "1!0.2"));
}

TEST_CASE("~= takes any spelling of its version") {
  CHECK(contains("~=v1.0", "1.5"));
  CHECK(contains("~=1.0-beta-1", "1.5"));
  CHECK_FALSE(contains("~=1.0-beta-1", "2.0"));
}

TEST_CASE("a refusal says what, why and where") {
  CHECK(error_of(">=2.x") == "'2.x' is not a version (PEP 440), at column 3");
  CHECK(error_of(" >=1.0 , <  2.x ") == "'2.x' is not a version (PEP 440), at column 13");
  CHECK(error_of("=1.0") ==
        "'=1.0' does not begin with one of ~= == != <= >= < > === (PEP 440), at column 1");
  CHECK(error_of(">=1, >= ") == "no version after '>=' (PEP 440), at column 8");
  CHECK(error_of(">=1.0 <2.0") ==
        "'1.0 <2.0' is not a version (PEP 440); clauses are separated by commas, at column 3");
  CHECK(error_of("<1.*") == "'1.*': .* goes only with == and != (PEP 440), at column 2");
  CHECK(error_of("==1rc1.*") ==
        "'1rc1.*': .* goes only after a plain release, as in 1.0.* (PEP 440), at column 3");
  CHECK(error_of(">1+cpu") ==
        "'1+cpu': a local version (+...) goes only with == and != (PEP 440), at column 2");
  CHECK(error_of("~=1") ==
        "'1': ~= needs two numbers at least, as in ~=1.0 (PEP 440), at column 3");
}

TEST_CASE("the column counts from where the caller says that the text begins") {
  const auto parsed = SpecifierSet::parse(">=2.x", 6);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error() == Error{Code::invalid, "'2.x' is not a version (PEP 440), at column 8"});
}

TEST_CASE("malformed clauses are refused") {
  for (const std::string text :
       {">",       "1.0",       "==1.0 .*", "==.*",          "==1.*.*", "== =1.0", "====1.0 x",
        "!1.0",    "~1.0",      "<>1.0",    "===1.0;x",      "===1.0)", "===a b",  "~=1.0.*",
        "<=1.0+a", "==1.0+a.*", ">=1.0;",   "==1.0\xc2\xa0", "==1!.*",  "~=1!1",   "(>=1.0)"}) {
    CAPTURE(text);
    CHECK_FALSE(SpecifierSet::parse(text).ok());
  }
}

TEST_CASE("a set is written sorted, with each clause once") {
  CHECK(set(" >=2.0 , <3,!= 2.1.0,<3, ").to_string() == "!=2.1.0,<3,>=2.0");
  CHECK(set(">=1,<2") == set("<2 , >=1"));
  CHECK(set(" , ").empty());
  CHECK(set("").to_string().empty());
}

TEST_CASE("property: != is the negation of ==, with prefixes and local versions too") {
  CHECK(rc::check([] {
    const std::string named =
        *rc::gen::inRange(0, 2) == 0 ? any_version() : test::any_release(1, 3) + ".*";
    const Version candidate = version(any_version());
    RC_ASSERT(contains("==" + named, candidate) != contains("!=" + named, candidate));
  }));
}

TEST_CASE("property: ~=X.Y is >=X.Y,==X.*") {
  CHECK(rc::check([] {
    const std::string bound = any_public_version(2);
    VersionParts parts = version(bound).parts();
    std::string prefix = parts.epoch.digits() + "!";
    parts.release.pop_back();
    for (const VersionNumber& number : parts.release) prefix += number.digits() + ".";
    const Version candidate = version(any_version());
    RC_ASSERT(contains("~=" + bound, candidate) ==
              contains(">=" + bound + ",==" + prefix + "*", candidate));
  }));
}

TEST_CASE("property: >=V is >V or ==V, but for the post-releases that > leaves out") {
  CHECK(rc::check([] {
    const Version bound = version(any_public_version());
    const std::string named = bound.normalised();
    const Version candidate = version(any_version());
    const bool above_or_equal =
        contains(">" + named, candidate) || contains("==" + named, candidate);
    if (above_or_equal) RC_ASSERT(contains(">=" + named, candidate));
    const bool bound_takes_post = bound.is_postrelease() || bound.parts().dev;
    if (bound_takes_post || !candidate.is_postrelease()) {
      RC_ASSERT(above_or_equal == contains(">=" + named, candidate));
    }
  }));
}

TEST_CASE("property: <=V is <V or ==V, but for the pre-releases that < leaves out") {
  CHECK(rc::check([] {
    const Version bound = version(any_public_version());
    const std::string named = bound.normalised();
    const Version candidate = version(any_version());
    const bool below_or_equal =
        contains("<" + named, candidate) || contains("==" + named, candidate);
    if (below_or_equal) RC_ASSERT(contains("<=" + named, candidate));
    if (bound.is_prerelease() || !candidate.is_prerelease()) {
      RC_ASSERT(below_or_equal == contains("<=" + named, candidate));
    }
  }));
}

TEST_CASE("property: opposite comparisons exclude each other, and >= with <= is ==") {
  CHECK(rc::check([] {
    const std::string named = any_public_version();
    const Version candidate = version(any_version());
    RC_ASSERT_FALSE(contains("<" + named, candidate) && contains(">=" + named, candidate));
    RC_ASSERT_FALSE(contains(">" + named, candidate) && contains("<=" + named, candidate));
    RC_ASSERT(contains(">=" + named, candidate) || contains("<=" + named, candidate));
    RC_ASSERT(contains(">=" + named + ",<=" + named, candidate) ==
              contains("==" + named, candidate));
  }));
}

TEST_CASE("property: the inclusive comparisons are the order of public versions") {
  CHECK(rc::check([] {
    const Version bound = version(any_public_version());
    const Version candidate = version(any_version());
    const Version compared = candidate.public_version();
    RC_ASSERT(contains(">=" + bound.normalised(), candidate) == (compared >= bound));
    RC_ASSERT(contains("<=" + bound.normalised(), candidate) == (compared <= bound));
  }));
}

TEST_CASE("property: a local part matters only where a local part is named, and to ===") {
  CHECK(rc::check([] {
    const std::string clause = any_clause();
    if (clause.find('+') != std::string::npos || clause.starts_with("===")) return;
    const Version candidate = version(any_version());
    RC_ASSERT(contains(clause, candidate) == contains(clause, candidate.public_version()));
  }));
}

TEST_CASE("property: spelling of candidate and bound matters only to ===") {
  CHECK(rc::check([] {
    const std::string op = any_of({"==", "!=", "<=", ">=", "<", ">", "~="});
    const std::string named = any_public_version(2);
    const Version candidate = version(any_version());
    const bool plain = contains(op + named, candidate);
    RC_ASSERT(plain == contains(op + version(named).normalised(), candidate));
    RC_ASSERT(plain == contains(op + named, version(candidate.normalised())));
  }));
}

TEST_CASE("property: a set is the conjunction of its clauses, in any order") {
  CHECK(rc::check([] {
    const std::string a = any_clause();
    const std::string b = any_clause();
    const std::string c = any_clause();
    const Version candidate = version(any_version());
    const bool all = contains(a, candidate) && contains(b, candidate) && contains(c, candidate);
    RC_ASSERT(contains(a + "," + b + " , " + c, candidate) == all);
    RC_ASSERT(set(a + "," + b + "," + c) == set(c + "," + a + "," + b));
    RC_ASSERT(contains("", candidate));
  }));
}

TEST_CASE("property: a set reads back what it writes") {
  CHECK(rc::check([] {
    const SpecifierSet one = set(any_clause() + "," + any_clause());
    const SpecifierSet again = set(one.to_string());
    RC_ASSERT(again == one);
    RC_ASSERT(again.to_string() == one.to_string());
  }));
}

}  // namespace gpl
