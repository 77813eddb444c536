#pragma once

#include "gpl/core/allocation.h"
#include "gpl/core/attempt.h"
#include "gpl/core/job_state.h"
#include "gpl/wire/device_fields.h"
#include "gpl/wire/id_fields.h"
#include "gpl/wire/time_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto fields<DeviceClaim> = list_of<DeviceClaim>("device claim",
                                                                 &DeviceClaim::device,
                                                                 &DeviceClaim::shared_memory_bytes);

template <>
inline constexpr auto fields<Allocation> = list_of<Allocation>("allocation", &Allocation::cpus,
                                                               &Allocation::memory_bytes,
                                                               &Allocation::devices,
                                                               &Allocation::environment);

template <>
inline constexpr auto fields<Fence> = list_of<Fence>("fence", &Fence::epoch, &Fence::attempt);

template <>
inline constexpr auto fields<Placed> = list_of<Placed>("placed");

template <>
inline constexpr auto fields<Started> = list_of<Started>("started", &Started::at);

template <>
inline constexpr auto fields<Attempt> = list_of<Attempt>("attempt", &Attempt::fence, &Attempt::slot,
                                                         &Attempt::job, &Attempt::task,
                                                         &Attempt::peer, &Attempt::allocation,
                                                         &Attempt::placed_at, &Attempt::state,
                                                         &Attempt::cancelled);

template <>
inline constexpr auto fields<FencedAttempt> = list_of<FencedAttempt>(
    "fenced attempt", &FencedAttempt::fence, &FencedAttempt::job, &FencedAttempt::task,
    &FencedAttempt::superseded, &FencedAttempt::ended_before);

template <>
inline constexpr auto fields<Exited> = list_of<Exited>("exited", &Exited::code);

template <>
inline constexpr auto fields<Signalled> = list_of<Signalled>("signalled", &Signalled::signal,
                                                             &Signalled::core_dumped);

template <>
inline constexpr auto fields<TimedOut> = list_of<TimedOut>("timed out", &TimedOut::signal);

template <>
inline constexpr auto fields<Cancelled> = list_of<Cancelled>("cancelled", &Cancelled::signal);

template <>
inline constexpr auto fields<FailedToStart> = list_of<FailedToStart>("failed to start",
                                                                     &FailedToStart::errno_value,
                                                                     &FailedToStart::exit,
                                                                     &FailedToStart::message);

template <>
inline constexpr auto fields<Lost> = list_of<Lost>("lost", &Lost::why);

}  // namespace gpl::wire
