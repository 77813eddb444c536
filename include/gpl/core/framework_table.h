#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gpl/core/device.h"

namespace gpl {

/// What a distribution is to a framework.
enum class FrameworkPart {
  build,   ///< it is the framework, or one of its variants
  plugin,  ///< it adds a kind of device to the framework beside it, and is nothing alone
};

/// One distribution that belongs to a framework. Adding a variant is adding a row.
struct FrameworkVariant {
  std::string_view dist;  ///< PEP 503 normalised; the whole name, never a prefix
  std::string_view framework;
  FrameworkPart part = FrameworkPart::build;
  /// What the name alone says that it can drive; nothing: it says nothing, or the CPU alone.
  std::optional<AcceleratorKind> kind = std::nullopt;
  std::string_view kind_version = "";  ///< "12" of cupy-cuda12x
  /// The plain distribution installs it as its content, so that both being there is no clash.
  bool content_of_plain = false;
  /// From this version on it is an empty stand-in; "" never.
  std::string_view stub_from = "";
};

/// Every row, those of one framework together.
std::span<const FrameworkVariant> framework_variants();

/// The row of a distribution by its normalised name; nullptr when it is part of no framework.
const FrameworkVariant* framework_variant(std::string_view normalised_dist);

/// The framework that a conda package holds ("pytorch" holds torch), nothing when none.
std::optional<std::string_view> framework_of_conda_package(std::string_view name);

}  // namespace gpl
