#include "gpl/core/version.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "any_version.h"
#include "case_table.h"

namespace gpl {
namespace {

using test::any_version;

Version version(const std::string& text) {
  const auto parsed = Version::parse(text);
  REQUIRE_MESSAGE(parsed.ok(), text);
  return parsed.value();
}

bool is_version(const std::string& text) { return Version::parse(text).ok(); }

/// -1, 0 or 1.
int order(const Version& a, const Version& b) { return a < b ? -1 : a > b ? 1 : 0; }

}  // namespace

TEST_CASE("every version of the PEP 440 table is normalised as it says") {
  const test::CaseTable table(GPL_TEST_CASES "/versions/pep440.tsv");
  for (std::size_t row = 0; row < table.size(); ++row) {
    CAPTURE(table.at(row, "id"));
    const auto parsed = Version::parse(table.at(row, "version"));
    const std::string& normalised = table.at(row, "normalised");
    CHECK(parsed.ok() == (normalised != "-"));
    if (parsed.ok()) CHECK(parsed.value().normalised() == normalised);
  }
}

TEST_CASE("each spelling that PEP 440 knows comes out in the one normal form") {
  const std::vector<std::pair<std::string, std::string>> spellings = {
      {"1.0", "1.0"},
      {"v1.0", "1.0"},
      {" \t\r\n\f\v1.0 \t\r\n\f\v", "1.0"},
      {"0!1", "1"},
      {"007!1", "7!1"},
      {"00.010", "0.10"},
      {"1.1ALPHA1", "1.1a1"},
      {"1.1-beta_2", "1.1b2"},
      {"1.1.c.3", "1.1rc3"},
      {"1.1preview4", "1.1rc4"},
      {"1.1pre", "1.1rc0"},
      {"1.1a-", "1.1a0"},
      {"1.2-7", "1.2.post7"},
      {"1.2a-7", "1.2a7"},
      {"1.2a--7", "1.2a0.post7"},
      {"1.2rev", "1.2.post0"},
      {"1.2_r_03", "1.2.post3"},
      {"1.2-dev.05", "1.2.dev5"},
      {"1!1.2rc3.post4.dev5+Ab-006_z", "1!1.2rc3.post4.dev5+ab.6.z"},
  };
  for (const auto& [written, normal] : spellings) {
    CAPTURE(written);
    CHECK(version(written).normalised() == normal);
  }
}

TEST_CASE("what PEP 440 does not know is refused") {
  for (const std::string text : {"",
                                 " ",
                                 "v",
                                 "1.",
                                 ".1",
                                 "1..2",
                                 "!1",
                                 "1!",
                                 "1!!2",
                                 "1!2!3",
                                 "1.0+",
                                 "1.0+a..b",
                                 "1.0+a+b",
                                 "1.0+-a",
                                 "1.0 a1",
                                 "1.0.x",
                                 "1.0-",
                                 "1.0a1b2",
                                 "1.0.dev1.post2",
                                 "1.0.post--1",
                                 "vv1",
                                 "-1",
                                 "1.0,",
                                 "1.0.*",
                                 "latest"}) {
    CAPTURE(text);
    CHECK_FALSE(is_version(text));
  }
}

TEST_CASE("only ASCII is read") {
  CHECK_FALSE(is_version("\xef\xbc\x91.0"));   // a full-width one
  CHECK_FALSE(is_version("1.0\xc2\xa0"));      // a no-break space
  CHECK_FALSE(is_version("1.0po\xc5\xbft1"));  // a long s, which folds to s
  CHECK_FALSE(is_version(std::string("1\0", 2)));
}

TEST_CASE("a refused version is quoted, without bytes that could drive a terminal") {
  const auto parsed = Version::parse(" 2.x\x1b[2J ");
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code == Code::invalid);
  CHECK(parsed.error().message == "'2.x\\x1b[2J' is not a version (PEP 440)");
}

TEST_CASE("a refused version of any length makes a short message") {
  const auto parsed = Version::parse(std::string(100'000, 'x'));
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().message.size() < 150);
}

TEST_CASE("versions come in PEP 440's order") {
  const std::vector<std::string> ascending = {
      "0",
      "1.dev0",
      "1.dev1",
      "1a0.dev3",
      "1a0",
      "1a0.post0.dev1",
      "1a0.post0",
      "1a1",
      "1a10",
      "1b0",
      "1rc0",
      "1",
      "1+a",
      "1+a.a",
      "1+a.0",
      "1+b",
      "1+0",
      "1+0.a",
      "1+0.0",
      "1+1",
      "1+10",
      "1.post0.dev1",
      "1.post0",
      "1.post0+local",
      "1.post1.dev0",
      "1.post1",
      "1.0.0.1",
      "1.1.dev1",
      "1.1",
      "1.10",
      "2",
      "18446744073709551616",
      "18446744073709551617",
      "1!0.dev0",
      "1!0",
      "10!0",
  };
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t k = 0; k < ascending.size(); ++k) {
      CAPTURE(ascending[i]);
      CAPTURE(ascending[k]);
      CHECK(order(version(ascending[i]), version(ascending[k])) == (i < k ? -1 : i > k ? 1 : 0));
    }
  }
}

TEST_CASE("zeros at the end of the release do not count") {
  CHECK(version("1") == version("1.0.0"));
  CHECK(version("1a1") == version("1.0a1"));
  CHECK(version("0") == version("0.0"));
  CHECK(version("1.0.1") != version("1.1"));
}

TEST_CASE("pre-releases and development releases are pre-releases, post-releases are not") {
  for (const std::string text : {"1a1", "1rc1", "1.dev0", "1.post1.dev0", "1a1.post1"}) {
    CHECK(version(text).is_prerelease());
  }
  for (const std::string text : {"1", "1.post1", "1+dev1", "1!1"}) {
    CHECK_FALSE(version(text).is_prerelease());
  }
}

TEST_CASE("a version comes apart into its public and its local part") {
  const Version torch = version("v2.4.0-rc1+CU121-01");
  CHECK(torch.public_version().normalised() == "2.4.0rc1");
  CHECK(torch.local() == "cu121.1");
  CHECK(torch.text() == "v2.4.0-rc1+CU121-01");
  CHECK(version("2.4.0").local().empty());
}

TEST_CASE("numbers of a hundred thousand digits are compared by value") {
  const std::string big(100'000, '9');
  CHECK(version("1." + big) > version("1." + big.substr(1)));
  CHECK(version("1." + big) == version("1.000" + big + ".0"));
}

TEST_CASE("a long hostile text is answered: quadratic time would take hours") {
  for (const std::string piece : {"1.", "1", "1-", "a", "+a.", ".post", "0!", " ", "1.dev-"}) {
    std::string text = "1";
    while (text.size() < 1'000'000) text += piece;
    (void)is_version(text + "!");
  }
}

TEST_CASE("property: the order is total, and antisymmetric") {
  CHECK(rc::check([] {
    const Version a = version(any_version());
    const Version b = version(any_version());
    RC_ASSERT(order(a, b) == -order(b, a));
    RC_ASSERT((a < b) + (a == b) + (a > b) == 1);
    RC_ASSERT((a == b) == !(a != b));
    RC_ASSERT((a <= b) == !(a > b));
    RC_ASSERT(order(a, a) == 0);
  }));
}

TEST_CASE("property: the order is transitive") {
  CHECK(rc::check([] {
    const Version a = version(any_version());
    const Version b = version(any_version());
    const Version c = version(any_version());
    if (a <= b && b <= c) RC_ASSERT(a <= c);
    if (a < b && b <= c) RC_ASSERT(a < c);
    if (a == b) RC_ASSERT(order(a, c) == order(b, c));
  }));
}

TEST_CASE("property: the normal form is a version, equal to the first, and its own normal form") {
  CHECK(rc::check([] {
    const Version a = version(any_version());
    const Version again = version(a.normalised());
    RC_ASSERT(again == a);
    RC_ASSERT(again.normalised() == a.normalised());
    RC_ASSERT(again.is_prerelease() == a.is_prerelease());
  }));
}

TEST_CASE("property: two versions of one normal form are equal") {
  CHECK(rc::check([] {
    const Version a = version(any_version());
    const Version b = version(any_version());
    if (a.normalised() == b.normalised()) RC_ASSERT(a == b);
  }));
}

TEST_CASE("property: case, whitespace and a v in front change nothing but the text") {
  CHECK(rc::check([] {
    const std::string text = any_version();
    std::string loud = "\t" + text + "\n";
    for (char& c : loud) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    RC_ASSERT(version(loud).normalised() == version(text).normalised());
  }));
}

TEST_CASE("property: a local part comes after its public version and before the next") {
  CHECK(rc::check([] {
    const std::string text = test::any_public_version();
    const Version local = version(text + test::any_local());
    RC_ASSERT(local > version(text));
    RC_ASSERT(local.public_version() == version(text));
    const Version other = version(test::any_public_version());
    if (other > version(text)) RC_ASSERT(other > local);
  }));
}

}  // namespace gpl
