#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/core/specifier.h"

namespace gpl {

/// The name of a Python package in PEP 503's one spelling: lower case, each run of - _ . as one -.
std::string normalised_package_name(std::string_view name);

/// What a person asks of an installed package: "jax[cuda12] >=0.4.30". The part of PEP 508 that can
/// be answered by looking at an environment: no markers, no URLs.
struct PackageRequirement {
  std::string name;                 ///< normalised (PEP 503)
  std::string written_name;         ///< as written: "torch.cuda" is no package, "torch-cuda" may be
  std::vector<std::string> extras;  ///< normalised (PEP 685), sorted, each once
  SpecifierSet specifiers;          ///< empty: any version will do

  /// Error: Code::invalid, or Code::unsupported for a marker or a URL; the message names the column
  /// in the text, from 1, in bytes.
  static Result<PackageRequirement> parse(std::string_view text);

  /// The normal form: "jax[cuda12]<1,>=0.4.30".
  std::string to_string() const;
};

}  // namespace gpl
