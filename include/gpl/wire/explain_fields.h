#pragma once

#include "gpl/core/explain.h"
#include "gpl/core/fit.h"
#include "gpl/core/peer_view.h"
#include "gpl/wire/device_fields.h"
#include "gpl/wire/peer_fields.h"
#include "gpl/wire/time_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto last_enumerator<ReasonCode> = last_is<ReasonCode::framework_device>();
template <>
inline constexpr auto last_enumerator<Verdict> = last_is<Verdict::blocked>();
template <>
inline constexpr auto last_enumerator<PeerAnswer::Fits> = last_is<PeerAnswer::Fits::no>();

template <>
inline constexpr auto fields<Remedy> = list_of<Remedy>("remedy", &Remedy::change, &Remedy::now,
                                                       &Remedy::effort);
template <>
inline constexpr auto fields<Reason> = list_of<Reason>("reason", &Reason::code, &Reason::text,
                                                       &Reason::subject, &Reason::asked,
                                                       &Reason::has, &Reason::free, &Reason::holder,
                                                       &Reason::passes, &Reason::remedies);
template <>
inline constexpr auto fields<Placement> = list_of<Placement>("placement", &Placement::devices,
                                                             &Placement::shared_memory_bytes,
                                                             &Placement::environment);
template <>
inline constexpr auto fields<Fit> = list_of<Fit>("fit", &Fit::placement, &Fit::reasons,
                                                 &Fit::free_by);
template <>
inline constexpr auto fields<PeerAnswer> = list_of<PeerAnswer>("peer answer", &PeerAnswer::peer,
                                                               &PeerAnswer::fits, &PeerAnswer::fit,
                                                               &PeerAnswer::report_age,
                                                               &PeerAnswer::environment,
                                                               &PeerAnswer::why);
template <>
inline constexpr auto fields<Explanation> = list_of<Explanation>("explanation",
                                                                 &Explanation::verdict,
                                                                 &Explanation::headline,
                                                                 &Explanation::peers,
                                                                 &Explanation::nearest);
template <>
inline constexpr auto fields<DeviceHold> =
    list_of<DeviceHold>("device hold", &DeviceHold::kind, &DeviceHold::index, &DeviceHold::slice,
                        &DeviceHold::shared_memory_bytes, &DeviceHold::holder, &DeviceHold::since,
                        &DeviceHold::ends_by);
template <>
inline constexpr auto fields<LoadHold> = list_of<LoadHold>("load hold", &LoadHold::cpus,
                                                           &LoadHold::memory_bytes,
                                                           &LoadHold::holder, &LoadHold::since,
                                                           &LoadHold::ends_by);
template <>
inline constexpr auto fields<PeerView> = list_of<PeerView>(
    "peer view", &PeerView::name, &PeerView::id, &PeerView::host, &PeerView::accelerators,
    &PeerView::environments, &PeerView::problems, &PeerView::labels, &PeerView::holds,
    &PeerView::cpus_held, &PeerView::memory_held_bytes, &PeerView::loads, &PeerView::closed,
    &PeerView::reported_at, &PeerView::unreachable_since);

}  // namespace gpl::wire
