// Versions, specifier sets and requirements: any bytes get an answer, and what is taken keeps its
// promises. The input is VERSION|VERSION|SPECIFIERS|REQUIREMENT.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpl/core/package_requirement.h"
#include "gpl/core/specifier.h"
#include "gpl/core/version.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// The text up to the next bar, which is taken off `rest`.
std::string_view next_field(std::string_view& rest) {
  const std::size_t end = rest.find('|');
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return field;
}

void check_error(const gpl::Error& error) {
  require(error.code == gpl::Code::invalid || error.code == gpl::Code::unsupported);
  for (const char c : error.message) require(c >= ' ' && c <= '~');
}

void check_version(const gpl::Version& version) {
  const auto again = gpl::Version::parse(version.normalised());
  require(again.ok() && again.value() == version);
  require(again.value().normalised() == version.normalised());
  require(version.public_version() <= version);
  require(version.compare_public(version.public_version()) == 0);
}

void check_order(const gpl::Version& a, const gpl::Version& b) {
  require((a < b) + (a == b) + (a > b) == 1);
  require((a < b) == (b > a));
  require(a.normalised() != b.normalised() || a == b);
}

void check_set(const gpl::SpecifierSet& set, const gpl::Version& version) {
  const auto again = gpl::SpecifierSet::parse(set.to_string());
  require(again.ok() && again.value() == set);
  require(again.value().contains(version) == set.contains(version));
  require(!set.empty() || set.contains(version));
}

void check_pair(const gpl::Version& bound, const gpl::Version& version) {
  const auto holds = [&](std::string_view op) {
    const auto clause =
        gpl::Specifier::parse(std::string(op) + bound.public_version().normalised());
    require(clause.ok());
    return clause.value().contains(version);
  };
  require(holds("==") != holds("!="));
  require((holds(">=") && holds("<=")) == holds("=="));
  require(!(holds("<") && holds(">=")));
  require(!(holds(">") && holds("<=")));
}

void check_requirement(const gpl::PackageRequirement& requirement) {
  const auto again = gpl::PackageRequirement::parse(requirement.to_string());
  require(again.ok() && again.value().to_string() == requirement.to_string());
  require(gpl::normalised_package_name(requirement.name) == requirement.name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto a = gpl::Version::parse(next_field(rest));
  const auto b = gpl::Version::parse(next_field(rest));
  const auto set = gpl::SpecifierSet::parse(next_field(rest));
  const auto requirement = gpl::PackageRequirement::parse(rest);

  if (!a) check_error(a.error());
  if (!set) check_error(set.error());
  if (!requirement) check_error(requirement.error());
  if (a) check_version(a.value());
  if (a && b) {
    check_order(a.value(), b.value());
    check_pair(a.value(), b.value());
  }
  if (a && set) check_set(set.value(), a.value());
  if (requirement) check_requirement(requirement.value());
  return 0;
}
