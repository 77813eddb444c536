#pragma once

#include "gpl/core/command.h"
#include "gpl/wire/attempt_fields.h"
#include "gpl/wire/job_fields.h"
#include "gpl/wire/peer_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto fields<command::Placing> = list_of<command::Placing>(
    "placing", &command::Placing::tasks, &command::Placing::peer, &command::Placing::allocation);

template <>
inline constexpr auto fields<command::Submit> = list_of<command::Submit>(
    "submit", &command::Submit::request, &command::Submit::submitter, &command::Submit::job,
    &command::Submit::placings, &command::Submit::at);

template <>
inline constexpr auto fields<command::Place> = list_of<command::Place>("place",
                                                                       &command::Place::job,
                                                                       &command::Place::placing,
                                                                       &command::Place::at);

template <>
inline constexpr auto fields<command::PlaceGang::Node> = list_of<command::PlaceGang::Node>(
    "gang node", &command::PlaceGang::Node::peer, &command::PlaceGang::Node::allocation);

template <>
inline constexpr auto fields<command::PlaceGang> = list_of<command::PlaceGang>(
    "place gang", &command::PlaceGang::job, &command::PlaceGang::task, &command::PlaceGang::nodes,
    &command::PlaceGang::first_port, &command::PlaceGang::port_count, &command::PlaceGang::at);

template <>
inline constexpr auto fields<command::Start> = list_of<command::Start>("start",
                                                                       &command::Start::attempt,
                                                                       &command::Start::at);

template <>
inline constexpr auto fields<command::Report> =
    list_of<command::Report>("report", &command::Report::attempt, &command::Report::outcome,
                             &command::Report::at, &command::Report::outlived_lease);

template <>
inline constexpr auto fields<command::Cancel> = list_of<command::Cancel>("cancel",
                                                                         &command::Cancel::job,
                                                                         &command::Cancel::tasks,
                                                                         &command::Cancel::at);

template <>
inline constexpr auto fields<command::Hold> = list_of<command::Hold>("hold", &command::Hold::job,
                                                                     &command::Hold::at);

template <>
inline constexpr auto fields<command::Release> = list_of<command::Release>("release",
                                                                           &command::Release::job,
                                                                           &command::Release::at);

template <>
inline constexpr auto fields<command::PeerUp> = list_of<command::PeerUp>("peer up",
                                                                         &command::PeerUp::peer,
                                                                         &command::PeerUp::keeper,
                                                                         &command::PeerUp::offer,
                                                                         &command::PeerUp::at);

template <>
inline constexpr auto fields<command::PeerDown> =
    list_of<command::PeerDown>("peer down", &command::PeerDown::peer, &command::PeerDown::at);

template <>
inline constexpr auto fields<command::PeerForgotten> = list_of<command::PeerForgotten>(
    "peer forgotten", &command::PeerForgotten::peer, &command::PeerForgotten::at);

template <>
inline constexpr auto fields<command::AttemptsLost> = list_of<command::AttemptsLost>(
    "attempts lost", &command::AttemptsLost::peer, &command::AttemptsLost::attempts,
    &command::AttemptsLost::why, &command::AttemptsLost::at);

template <>
inline constexpr auto fields<command::LeasesOver> =
    list_of<command::LeasesOver>("leases over", &command::LeasesOver::peer,
                                 &command::LeasesOver::attempts, &command::LeasesOver::at);

template <>
inline constexpr auto fields<command::Prune> = list_of<command::Prune>("prune",
                                                                       &command::Prune::before,
                                                                       &command::Prune::at);

template <>
inline constexpr auto fields<command::SetFeatureLevel> = list_of<command::SetFeatureLevel>(
    "set feature level", &command::SetFeatureLevel::level, &command::SetFeatureLevel::at);

template <>
inline constexpr auto fields<command::SetEpoch> =
    list_of<command::SetEpoch>("set epoch", &command::SetEpoch::epoch, &command::SetEpoch::at);

}  // namespace gpl::wire
