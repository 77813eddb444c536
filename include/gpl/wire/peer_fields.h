#pragma once

#include "gpl/core/environment.h"
#include "gpl/core/peer_offer.h"
#include "gpl/wire/device_fields.h"
#include "gpl/wire/requirement_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto fields<FrameworkBuild> = list_of<FrameworkBuild>(
    "framework build", &FrameworkBuild::version, &FrameworkBuild::dist, &FrameworkBuild::dists,
    &FrameworkBuild::editable, &FrameworkBuild::backends, &FrameworkBuild::backend_version,
    &FrameworkBuild::warnings);

template <>
inline constexpr auto fields<PythonEnvironment> = list_of<PythonEnvironment>(
    "python environment", &PythonEnvironment::name, &PythonEnvironment::root,
    &PythonEnvironment::python, &PythonEnvironment::python_version, &PythonEnvironment::frameworks,
    &PythonEnvironment::problems);

template <>
inline constexpr auto fields<PeerOffer> =
    list_of<PeerOffer>("peer offer", &PeerOffer::name, &PeerOffer::host, &PeerOffer::accelerators,
                       &PeerOffer::environments, &PeerOffer::problems, &PeerOffer::labels,
                       &PeerOffer::feature_level, &PeerOffer::closed);

}  // namespace gpl::wire
