#include "gpl/core/package_requirement.h"

#include <doctest/doctest.h>

#include <string>

#include "case_table.h"

namespace gpl {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}

PackageRequirement requirement(const std::string& text) {
  const auto parsed = PackageRequirement::parse(text);
  REQUIRE_MESSAGE(parsed.ok(), text);
  return parsed.value();
}

Error error_of(const std::string& text) {
  const auto parsed = PackageRequirement::parse(text);
  REQUIRE_FALSE_MESSAGE(parsed.ok(), text);
  return parsed.error();
}

std::string result_of(const std::string& text) {
  const auto parsed = PackageRequirement::parse(text);
  if (parsed.ok()) return "ok";
  return parsed.error().code == Code::unsupported ? "unsupported"
         : parsed.error().code == Code::invalid   ? "invalid"
                                                  : "another error";
}

}  // namespace

TEST_CASE("every row of the requirements table is read, or refused, as it says") {
  const test::CaseTable table(GPL_TEST_CASES "/versions/requirements.tsv");
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string& text = table.at(row, "requirement");
    CAPTURE(text);
    CHECK(result_of(text) == table.at(row, "result"));
    if (table.at(row, "result") != "ok") continue;
    const PackageRequirement read = requirement(text);
    CHECK(read.name == table.at(row, "name_normalised"));
    CHECK(read.specifiers.to_string() == table.at(row, "specifier"));
    CHECK(joined(read.extras) == table.at(row, "extras"));
  }
}

TEST_CASE("what is written in the normal form reads back the same") {
  for (const std::string text :
       {"torch", "torch[]", "Jax [B_b, a,a]>=1 , <2", "torch (==2.4.0+cu121)", "x===Y"}) {
    const PackageRequirement first = requirement(text);
    const PackageRequirement again = requirement(first.to_string());
    CHECK(again.to_string() == first.to_string());
    CHECK(again.name == first.name);
    CHECK(again.extras == first.extras);
    CHECK(again.specifiers == first.specifiers);
  }
  CHECK(requirement("Jax [B_b, a,a]>=1 , <2").to_string() == "jax[a,b-b]<2,>=1");
}

TEST_CASE("the name is kept as written beside its normal form") {
  CHECK(requirement("torch.cuda>=2").written_name == "torch.cuda");
  CHECK(requirement("torch.cuda>=2").name == "torch-cuda");
  CHECK(normalised_package_name("A._-b..C") == "a-b-c");
}

TEST_CASE("a marker or a URL is refused with a clear word") {
  CHECK(error_of("torch>=2.1; python_version<'3.13'") ==
        Error{Code::unsupported,
              "'python_version<'3.13'' is an environment marker, which does not apply to a machine "
              "yet to be chosen: leave it out, at column 11"});
  CHECK(error_of("torch @ https://example.invalid/t.whl") ==
        Error{Code::unsupported,
              "'https://example.invalid/t.whl' is a URL, and only what is installed can be asked "
              "for: write torch and a version, such as torch>=1.0, at column 7"});
}

TEST_CASE("a marker is told from what only stands behind a semicolon") {
  for (const std::string text :
       {"x;os_name=='a'", "x ; 'a' in platform_machine", "x;extra == \"b\" and os_name!='c'",
        "x; (os_name=='a' or (sys_platform>'b')) and python_version not in '3'"}) {
    CAPTURE(text);
    CHECK(result_of(text) == "unsupported");
  }
  for (const std::string text :
       {"x;", "x; ", "x;y", "x;os_name", "x;os_name=='a", "x;os_name=='a' nor os_name=='b'",
        "x;(os_name=='a'", "x;os_name=='a')", "x;os_name=='a' and", "x;os_name not 'a'", "x @",
        "x @ "}) {
    CAPTURE(text);
    CHECK(result_of(text) == "invalid");
  }
}

TEST_CASE("malformed requirements are refused") {
  for (const std::string text :
       {"a[b",    "a[b,]",     "a[,b]", "a[b c]",   "a[-b]", "a[b]]",    "a(",
        "a(>=1",  "a(>=1)2",   "a>=1)", "a((>=1))", "a,>=1", "a>=1,,<2", "a(,>=1)",
        "a\n>=1", "a>=1,\n<2", "a_",    "a b",      "\na",   "a>=1 \\",  "a==1.0 @ b"}) {
    CAPTURE(text);
    CHECK(result_of(text) == "invalid");
  }
}

TEST_CASE("a refusal says what, why and where") {
  CHECK(error_of("torch>=2.x").message == "'2.x' is not a version (PEP 440), at column 8");
  CHECK(error_of(" torch [a] ( >=2, <3x )").message ==
        "'3x' is not a version (PEP 440), at column 20");
  CHECK(error_of("-torch").message ==
        "'-torch' does not begin with a package name (letters and digits, with - _ . between "
        "them), at column 1");
  CHECK(error_of("torch[cuda").message == "a ] is missing after the extras, at column 11");
  CHECK(error_of("torch 2.0").message ==
        "'2.0' does not begin with one of ~= == != <= >= < > === (PEP 440), at column 7");
  CHECK(error_of(" ").message == "no package is named");
}

}  // namespace gpl
