#pragma once

#include "gpl/wire/keeper_message.h"
#include "gpl/wire/worker_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto last_enumerator<OutputStream> = last_is<OutputStream::err>();
template <>
inline constexpr auto fields<KeeperHello> = list_of<KeeperHello>("keeper hello",
                                                                 &KeeperHello::oldest_protocol,
                                                                 &KeeperHello::newest_protocol,
                                                                 &KeeperHello::version,
                                                                 &KeeperHello::instance);
template <>
inline constexpr bool is_extensible<KeeperHello> = true;
template <>
inline constexpr auto fields<Secret> = list_of<Secret>("secret", &Secret::name, &Secret::value);

template <>
inline constexpr auto fields<to_keeper::FromLeader> =
    list_of<to_keeper::FromLeader>("from leader", &to_keeper::FromLeader::message);
template <>
inline constexpr auto fields<to_keeper::SessionLost> =
    list_of<to_keeper::SessionLost>("session lost");
template <>
inline constexpr auto fields<to_keeper::OfferChanged> =
    list_of<to_keeper::OfferChanged>("offer changed", &to_keeper::OfferChanged::offer);
template <>
inline constexpr auto fields<to_keeper::Prepared> =
    list_of<to_keeper::Prepared>("prepared", &to_keeper::Prepared::attempt,
                                 &to_keeper::Prepared::secrets, &to_keeper::Prepared::followed);
template <>
inline constexpr auto fields<to_keeper::NotPrepared> = list_of<to_keeper::NotPrepared>(
    "not prepared", &to_keeper::NotPrepared::attempt, &to_keeper::NotPrepared::failure);
template <>
inline constexpr auto fields<to_keeper::Watch> =
    list_of<to_keeper::Watch>("watch", &to_keeper::Watch::attempt, &to_keeper::Watch::on);
template <>
inline constexpr auto fields<to_keeper::Follow> =
    list_of<to_keeper::Follow>("follow", &to_keeper::Follow::attempt, &to_keeper::Follow::on,
                               &to_keeper::Follow::out_bytes, &to_keeper::Follow::err_bytes);
template <>
inline constexpr auto fields<to_keeper::Signal> =
    list_of<to_keeper::Signal>("signal", &to_keeper::Signal::attempt, &to_keeper::Signal::number);
template <>
inline constexpr auto fields<to_keeper::Input> =
    list_of<to_keeper::Input>("input", &to_keeper::Input::attempt, &to_keeper::Input::offset,
                              &to_keeper::Input::data, &to_keeper::Input::end);
template <>
inline constexpr auto fields<to_keeper::Exec> = list_of<to_keeper::Exec>("exec",
                                                                         &to_keeper::Exec::attempt,
                                                                         &to_keeper::Exec::exec,
                                                                         &to_keeper::Exec::command);
template <>
inline constexpr auto fields<to_keeper::ExecSignal> = list_of<to_keeper::ExecSignal>(
    "exec signal", &to_keeper::ExecSignal::exec, &to_keeper::ExecSignal::number);
template <>
inline constexpr auto fields<to_keeper::ExecTaken> = list_of<to_keeper::ExecTaken>(
    "exec taken", &to_keeper::ExecTaken::exec, &to_keeper::ExecTaken::bytes);
template <>
inline constexpr auto fields<to_keeper::Discard> =
    list_of<to_keeper::Discard>("discard", &to_keeper::Discard::attempt);
template <>
inline constexpr auto fields<to_keeper::Retire> = list_of<to_keeper::Retire>("retire");
template <>
inline constexpr auto fields<from_keeper::ToLeader> =
    list_of<from_keeper::ToLeader>("to leader", &from_keeper::ToLeader::message);
template <>
inline constexpr auto fields<from_keeper::Prepare> = list_of<from_keeper::Prepare>(
    "prepare", &from_keeper::Prepare::attempt, &from_keeper::Prepare::job,
    &from_keeper::Prepare::task, &from_keeper::Prepare::tree);
template <>
inline constexpr auto fields<from_keeper::Listed> = list_of<from_keeper::Listed>("listed");
template <>
inline constexpr auto fields<from_keeper::Grew> =
    list_of<from_keeper::Grew>("grew", &from_keeper::Grew::attempt, &from_keeper::Grew::out_bytes,
                               &from_keeper::Grew::err_bytes, &from_keeper::Grew::ended);
template <>
inline constexpr auto fields<from_keeper::InputTaken> = list_of<from_keeper::InputTaken>(
    "input taken", &from_keeper::InputTaken::attempt, &from_keeper::InputTaken::offset);
template <>
inline constexpr auto fields<from_keeper::Ended> = list_of<from_keeper::Ended>(
    "ended", &from_keeper::Ended::attempt, &from_keeper::Ended::job, &from_keeper::Ended::task,
    &from_keeper::Ended::outcome, &from_keeper::Ended::started_at);
template <>
inline constexpr auto fields<from_keeper::Running> = list_of<from_keeper::Running>(
    "running", &from_keeper::Running::attempt, &from_keeper::Running::job,
    &from_keeper::Running::task, &from_keeper::Running::pid);
template <>
inline constexpr auto fields<from_keeper::ExecGrew> =
    list_of<from_keeper::ExecGrew>("exec grew", &from_keeper::ExecGrew::exec,
                                   &from_keeper::ExecGrew::stream, &from_keeper::ExecGrew::data);
template <>
inline constexpr auto fields<from_keeper::ExecEnded> = list_of<from_keeper::ExecEnded>(
    "exec ended", &from_keeper::ExecEnded::exec, &from_keeper::ExecEnded::outcome);
template <>
inline constexpr auto fields<from_keeper::KeeperNote> =
    list_of<from_keeper::KeeperNote>("keeper note", &from_keeper::KeeperNote::text);

}  // namespace gpl::wire
