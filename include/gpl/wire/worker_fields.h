#pragma once

#include "gpl/core/worker_message.h"
#include "gpl/wire/attempt_fields.h"
#include "gpl/wire/job_fields.h"
#include "gpl/wire/peer_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto fields<Leadership> = list_of<Leadership>("leadership", &Leadership::epoch,
                                                               &Leadership::term);

template <>
inline constexpr auto fields<LiveAttempt> = list_of<LiveAttempt>("live attempt",
                                                                 &LiveAttempt::fence,
                                                                 &LiveAttempt::started_at);

template <>
inline constexpr auto fields<EndedAttempt> =
    list_of<EndedAttempt>("ended attempt", &EndedAttempt::fence, &EndedAttempt::started_at,
                          &EndedAttempt::outcome, &EndedAttempt::at, &EndedAttempt::outlived_lease);

template <>
inline constexpr auto fields<to_leader::Hello> = list_of<to_leader::Hello>(
    "hello", &to_leader::Hello::session, &to_leader::Hello::keeper, &to_leader::Hello::offer,
    &to_leader::Hello::live, &to_leader::Hello::ended);

template <>
inline constexpr auto fields<to_leader::Renew> = list_of<to_leader::Renew>(
    "renew", &to_leader::Renew::session, &to_leader::Renew::leadership, &to_leader::Renew::opening,
    &to_leader::Renew::asked_at, &to_leader::Renew::told);

template <>
inline constexpr auto fields<to_leader::Told> = list_of<to_leader::Told>("told",
                                                                         &to_leader::Told::session,
                                                                         &to_leader::Told::number,
                                                                         &to_leader::Told::attempt);

template <>
inline constexpr auto fields<to_worker::Welcome> =
    list_of<to_worker::Welcome>("welcome", &to_worker::Welcome::session,
                                &to_worker::Welcome::leadership, &to_worker::Welcome::opening);

template <>
inline constexpr auto fields<to_worker::Granted> = list_of<to_worker::Granted>(
    "granted", &to_worker::Granted::session, &to_worker::Granted::leadership,
    &to_worker::Granted::asked_at, &to_worker::Granted::unconfirmed, &to_worker::Granted::ordered);

template <>
inline constexpr auto fields<to_worker::Start> = list_of<to_worker::Start>(
    "start", &to_worker::Start::fence, &to_worker::Start::slot, &to_worker::Start::job,
    &to_worker::Start::task, &to_worker::Start::allocation, &to_worker::Start::description);

template <>
inline constexpr auto fields<to_worker::End> = list_of<to_worker::End>("end",
                                                                       &to_worker::End::fence);

template <>
inline constexpr auto fields<to_worker::Acknowledge> =
    list_of<to_worker::Acknowledge>("acknowledge", &to_worker::Acknowledge::fence);

template <>
inline constexpr auto fields<to_worker::Order> =
    list_of<to_worker::Order>("order", &to_worker::Order::session, &to_worker::Order::leadership,
                              &to_worker::Order::number, &to_worker::Order::what);

template <>
inline constexpr auto fields<to_worker::Reopen> = list_of<to_worker::Reopen>(
    "reopen", &to_worker::Reopen::session, &to_worker::Reopen::leadership);

}  // namespace gpl::wire
