#pragma once

#include "gpl/core/time.h"
#include "gpl/wire/fields.h"

namespace gpl::wire {

template <>
inline constexpr auto fields<Duration> = list_of<Duration>("duration", &Duration::count_ms);
template <>
inline constexpr bool is_bare<Duration> = true;

template <>
inline constexpr auto fields<Instant> = list_of<Instant>("instant", &Instant::since_epoch_ms);
template <>
inline constexpr bool is_bare<Instant> = true;

template <>
inline constexpr auto fields<Moment> = list_of<Moment>("moment", &Moment::since_boot_ms);
template <>
inline constexpr bool is_bare<Moment> = true;

}  // namespace gpl::wire
