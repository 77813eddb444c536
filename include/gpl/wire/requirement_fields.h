#pragma once

#include "gpl/core/requirement.h"
#include "gpl/core/specifier.h"
#include "gpl/wire/device_fields.h"

namespace gpl::wire {

template <>
inline constexpr bool is_text<SpecifierSet> = true;

template <>
inline constexpr auto fields<FrameworkWish> = list_of<FrameworkWish>("framework wish",
                                                                     &FrameworkWish::name,
                                                                     &FrameworkWish::backend,
                                                                     &FrameworkWish::specifiers);

template <>
inline constexpr auto fields<Label> = list_of<Label>("label", &Label::key, &Label::value);

template <>
inline constexpr auto fields<Requirement> = list_of<Requirement>(
    "requirement", &Requirement::gpus, &Requirement::kind, &Requirement::gpu_memory_bytes,
    &Requirement::gpu_share, &Requirement::gpu_model, &Requirement::compute_capability,
    &Requirement::cpus, &Requirement::memory_bytes, &Requirement::frameworks,
    &Requirement::environment, &Requirement::on, &Requirement::labels);

}  // namespace gpl::wire
