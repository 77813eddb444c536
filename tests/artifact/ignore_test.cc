#include "gpl/artifact/ignore.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

#include "gpl/artifact/glob.h"

using gpl::artifact::Glob;
using gpl::artifact::IgnoreList;
using gpl::artifact::IgnoreVerdict;

namespace {

bool ignores(std::string_view text, std::string_view path, bool is_folder = false) {
  return IgnoreList::parse(text).verdict(path, is_folder) == IgnoreVerdict::exclude;
}

bool silent(std::string_view text, std::string_view path, bool is_folder = false) {
  return !IgnoreList::parse(text).verdict(path, is_folder);
}

}  // namespace

TEST_CASE("comments, blank lines and patterns of blanks ignore nothing") {
  CHECK(IgnoreList::parse("").empty());
  CHECK(IgnoreList::parse("# all\n\n   \n\r\n/\n!\n!/\n").empty());
  CHECK(silent("# all\n\n   \n", "# all"));
}

TEST_CASE("an escaped # or ! stands for itself") {
  CHECK(ignores("\\#x", "#x"));
  CHECK(ignores("\\!x", "!x"));
  CHECK(ignores("!!x\n\\!x", "!x"));
}

TEST_CASE("trailing blanks go, escaped ones and tabs stay") {
  CHECK(ignores("a  ", "a"));
  CHECK(ignores("a\\ ", "a "));
  CHECK(ignores("a\\   ", "a "));
  CHECK(ignores("a\t", "a\t"));
  CHECK(ignores(" a", " a"));
  CHECK(silent("a b ", "a"));
}

TEST_CASE("line ends of Windows and a byte order mark are no part of a pattern") {
  CHECK(
      ignores("\xef\xbb\xbf"
              "a\r\nb\r\n",
              "a"));
  CHECK(ignores("a\r\nb\r", "b"));
  CHECK(ignores("a \r\n", "a"));
  CHECK(ignores("a\r\r\n", "a\r"));
  CHECK(
      silent("\n\xef\xbb\xbf"
             "a",
             "a"));
}

TEST_CASE("a pattern ends at a NUL, as git's strings do") {
  CHECK(ignores(std::string_view("a\0b\n", 4), "a"));
}

TEST_CASE("the last pattern that matches decides") {
  const auto list = IgnoreList::parse("*.log\n!keep.log\n");
  CHECK(list.verdict("x.log", false) == IgnoreVerdict::exclude);
  CHECK(list.verdict("d/keep.log", false) == IgnoreVerdict::include);
  CHECK(list.verdict("x.txt", false) == std::nullopt);
  CHECK(ignores("!a\na", "a"));
}

TEST_CASE("a slash at the end matches folders only") {
  CHECK(ignores("foo/", "foo", true));
  CHECK(silent("foo/", "foo"));
  CHECK(silent("foo//", "foo", true));
  CHECK(ignores("*/", "a/b", true));
}

TEST_CASE("a slash elsewhere anchors a pattern at its file's folder") {
  CHECK(ignores("a", "x/a"));
  CHECK(ignores("/a", "a"));
  CHECK(silent("/a", "x/a"));
  CHECK(ignores("x/a", "x/a"));
  CHECK(silent("x/a", "y/x/a"));
  CHECK(silent("x/a", "x/a/b"));
}

TEST_CASE("one star stops at a slash, two between slashes do not") {
  CHECK(silent("/x/*b", "x/a/b"));
  CHECK(ignores("x/*", "x/a"));
  CHECK(silent("x/*/b", "x/a/a/b"));
  CHECK(ignores("x/**/b", "x/b"));
  CHECK(ignores("x/**/b", "x/a/a/b"));
  CHECK(ignores("**/b", "b"));
  CHECK(ignores("**/b", "a/b"));
  CHECK(ignores("x/**", "x/a/b"));
  CHECK(silent("x/**", "x"));
  CHECK(silent("?/x**b", "a/x/b"));
  CHECK(ignores("a/**\\/b", "a/c/b"));
  CHECK(silent("a/**\\/b", "a/b"));
}

TEST_CASE("a pattern's literal beginning is cut off before its stars are judged, as git does") {
  CHECK(ignores("x/foo**/bar", "x/foobar"));
  CHECK(ignores("x/foo**", "x/foo/a/b"));
  CHECK(silent("?/foo**", "x/foo/a/b"));
}

TEST_CASE("brackets hold bytes, ranges, negations and POSIX classes") {
  CHECK(ignores("[ab]", "b"));
  CHECK(ignores("[!ab]", "c"));
  CHECK(ignores("[^ab]", "c"));
  CHECK(silent("[^ab]", "a"));
  CHECK(ignores("[]-]", "]"));
  CHECK(ignores("[!]]", "a"));
  CHECK(ignores("[a-c]x", "bx"));
  CHECK(ignores("[a-]", "-"));
  CHECK(ignores("[\\]]", "]"));
  CHECK(ignores("[a\\-c]", "-"));
  CHECK(silent("[a\\-c]", "b"));
  CHECK(silent("[c-a]", "b"));
  CHECK(ignores("[[:digit:][:upper:]]", "Q"));
  CHECK(silent("[[:space:]]", "\v"));
  CHECK(ignores("[[:punct:]]", "~"));
  CHECK(silent("[[:alpha:]]", "\xe9"));
  CHECK(ignores("[[:a]", ":"));
  CHECK(silent("x/[!a]b", "x//b"));
}

TEST_CASE("a pattern that cannot be read matches nothing") {
  for (const auto* text : {"a\\", "[a", "[!", "[[:none:]]", "[a-\\", "[[:alpha:"}) {
    CAPTURE(text);
    CHECK(silent(text, "a"));
    CHECK(silent(text, text));
  }
}

TEST_CASE("ignoreCase folds ASCII letters, but no escaped capital") {
  const auto folded = [](std::string_view text, std::string_view path) {
    return IgnoreList::parse(text, true).verdict(path, false) == IgnoreVerdict::exclude;
  };
  CHECK(folded("ReadMe", "README"));
  CHECK(folded("*.LOG", "x.log"));
  CHECK(folded("SRC/?B", "src/aB"));
  CHECK(folded("[A-C]*", "b"));
  CHECK(folded("[[:upper:]]?", "ab"));
  CHECK_FALSE(folded("\\Ab", "ab"));
  CHECK_FALSE(folded("[A]", "a"));
  CHECK_FALSE(folded("\xc3\x89", "\xc3\xa9"));
  CHECK(silent("ReadMe", "README"));
}

TEST_CASE("a hostile pattern is answered: exponential time would not end") {
  std::string stars;
  for (int i = 0; i < 200; ++i) stars += "a*";
  const std::string folders = "**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b";
  const std::string name(4000, 'a');
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "a/";
  CHECK_FALSE(Glob(stars + "b").matches(name));
  CHECK(Glob(stars).matches(name));
  CHECK_FALSE(Glob(folders).matches(deep + "a"));
}

TEST_CASE("an escaped name matches itself and nothing else") {
  CHECK(rc::check("escaped literal", [](const std::string& name, const std::string& other) {
    std::string pattern;
    for (const char c : name) (pattern += '\\') += c;
    RC_ASSERT(Glob(pattern).matches(name));
    RC_ASSERT(Glob(pattern).matches(other) == (name == other));
  }));
}

TEST_CASE("a star is any bytes but a slash, whatever stands around it") {
  CHECK(rc::check("star", [](const std::string& before, const std::string& inside,
                             const std::string& after) {
    std::string pattern;
    for (const char c : before) (pattern += '\\') += c;
    pattern += '*';
    for (const char c : after) (pattern += '\\') += c;
    RC_PRE(before.empty() || !after.empty());
    const bool crosses = inside.find('/') != std::string::npos;
    if (!crosses) RC_ASSERT(Glob(pattern).matches(before + inside + after));
    if (crosses && after.find('/') == std::string::npos && before.find('/') == std::string::npos)
      RC_ASSERT(!Glob(pattern).matches(before + inside + after));
  }));
}
