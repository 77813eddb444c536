#pragma once

#include "gpl/wire/command_fields.h"
#include "gpl/wire/keeper_fields.h"
#include "gpl/wire/link_message.h"
#include "gpl/wire/raft_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto last_enumerator<Holding> = last_is<Holding::results>();

template <>
inline constexpr auto fields<LinkHello> =
    list_of<LinkHello>("link hello", &LinkHello::peer, &LinkHello::cluster, &LinkHello::name,
                       &LinkHello::version, &LinkHello::process, &LinkHello::process_began,
                       &LinkHello::port, &LinkHello::on_battery, &LinkHello::wireless);
template <>
inline constexpr bool is_extensible<LinkHello> = true;
template <>
inline constexpr auto fields<LinkRefused> = list_of<LinkRefused>("link refused", &LinkRefused::why);
template <>
inline constexpr auto fields<Ping> = list_of<Ping>("ping", &Ping::number);
template <>
inline constexpr auto fields<Pong> = list_of<Pong>("pong", &Pong::number);
template <>
inline constexpr auto fields<KnownPeer> = list_of<KnownPeer>("known peer", &KnownPeer::peer,
                                                             &KnownPeer::name,
                                                             &KnownPeer::addresses);
template <>
inline constexpr auto fields<KnownPeers> = list_of<KnownPeers>("known peers", &KnownPeers::peers);
template <>
inline constexpr auto fields<RaftSays> = list_of<RaftSays>("raft says", &RaftSays::message);
template <>
inline constexpr auto fields<WorkerSays> = list_of<WorkerSays>("worker says", &WorkerSays::message);
template <>
inline constexpr auto fields<LeaderSays> = list_of<LeaderSays>("leader says", &LeaderSays::message);
template <>
inline constexpr auto fields<Propose> = list_of<Propose>("propose", &Propose::number,
                                                         &Propose::command);
template <>
inline constexpr auto fields<Proposed> = list_of<Proposed>("proposed", &Proposed::number,
                                                           &Proposed::index, &Proposed::term);
template <>
inline constexpr auto fields<NotProposed> = list_of<NotProposed>("not proposed",
                                                                 &NotProposed::number,
                                                                 &NotProposed::again,
                                                                 &NotProposed::why);
template <>
inline constexpr auto fields<GiveUp> = list_of<GiveUp>("give up", &GiveUp::leave);
template <>
inline constexpr auto fields<GivenUp> = list_of<GivenUp>("given up");
template <>
inline constexpr auto fields<DoYouHave> = list_of<DoYouHave>("do you have", &DoYouHave::number,
                                                             &DoYouHave::what, &DoYouHave::key);
template <>
inline constexpr auto fields<Has> = list_of<Has>("has", &Has::number, &Has::yes);
template <>
inline constexpr auto fields<Hold> = list_of<Hold>("hold", &Hold::number, &Hold::request,
                                                   &Hold::tree, &Hold::secrets);
template <>
inline constexpr auto fields<Held> = list_of<Held>("held", &Held::number, &Held::failed);
template <>
inline constexpr auto fields<AskSecrets> = list_of<AskSecrets>("ask secrets", &AskSecrets::number,
                                                               &AskSecrets::request);
template <>
inline constexpr auto fields<SecretsAre> = list_of<SecretsAre>("secrets are", &SecretsAre::number,
                                                               &SecretsAre::found,
                                                               &SecretsAre::secrets);
template <>
inline constexpr auto fields<CallBack> = list_of<CallBack>("call back");

}  // namespace gpl::wire
