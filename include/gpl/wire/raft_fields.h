#pragma once

#include <algorithm>
#include <vector>

#include "gpl/raft/message.h"
#include "gpl/wire/id_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto last_enumerator<raft::EntryKind> = last_is<raft::EntryKind::configuration>();

template <>
inline constexpr auto fields<raft::Entry> = list_of<raft::Entry>("entry", &raft::Entry::index,
                                                                 &raft::Entry::term,
                                                                 &raft::Entry::kind,
                                                                 &raft::Entry::data);

template <>
inline constexpr auto fields<raft::Configuration> = list_of<raft::Configuration>(
    "configuration", &raft::Configuration::voters, &raft::Configuration::learners);

template <>
inline constexpr Rule<raft::Configuration> rule<raft::Configuration> = {
    [](const raft::Configuration& nodes) { return raft::is_valid(nodes); },
    "its nodes are sorted, and none is both voter and learner"};
template <>
inline constexpr auto fields<raft::SnapshotMark> =
    list_of<raft::SnapshotMark>("snapshot mark", &raft::SnapshotMark::index,
                                &raft::SnapshotMark::term, &raft::SnapshotMark::configuration);

template <>
inline constexpr auto fields<raft::PreVoteRequest> = list_of<raft::PreVoteRequest>(
    "pre-vote request", &raft::PreVoteRequest::last_index, &raft::PreVoteRequest::last_term);

template <>
inline constexpr auto fields<raft::PreVoteReply> =
    list_of<raft::PreVoteReply>("pre-vote reply", &raft::PreVoteReply::granted);

template <>
inline constexpr auto fields<raft::VoteRequest> =
    list_of<raft::VoteRequest>("vote request", &raft::VoteRequest::last_index,
                               &raft::VoteRequest::last_term, &raft::VoteRequest::transfer);

template <>
inline constexpr auto fields<raft::VoteReply> = list_of<raft::VoteReply>("vote reply",
                                                                         &raft::VoteReply::granted);

template <>
inline constexpr auto fields<raft::Append> =
    list_of<raft::Append>("append", &raft::Append::previous_index, &raft::Append::previous_term,
                          &raft::Append::commit, &raft::Append::round, &raft::Append::entries);

template <>
inline constexpr auto fields<raft::AppendReply> = list_of<raft::AppendReply>(
    "append reply", &raft::AppendReply::accepted, &raft::AppendReply::match,
    &raft::AppendReply::hint, &raft::AppendReply::hint_term, &raft::AppendReply::round);

template <>
inline constexpr auto fields<raft::InstallSnapshot> = list_of<raft::InstallSnapshot>(
    "install snapshot", &raft::InstallSnapshot::mark, &raft::InstallSnapshot::offset,
    &raft::InstallSnapshot::data, &raft::InstallSnapshot::last, &raft::InstallSnapshot::round);

template <>
inline constexpr auto fields<raft::InstallSnapshotReply> = list_of<raft::InstallSnapshotReply>(
    "install snapshot reply", &raft::InstallSnapshotReply::index,
    &raft::InstallSnapshotReply::next_offset, &raft::InstallSnapshotReply::installed,
    &raft::InstallSnapshotReply::round);

template <>
inline constexpr auto fields<raft::TimeoutNow> = list_of<raft::TimeoutNow>("timeout now");

template <>
inline constexpr auto fields<raft::Message> = list_of<raft::Message>("message",
                                                                     &raft::Message::from,
                                                                     &raft::Message::to,
                                                                     &raft::Message::term,
                                                                     &raft::Message::body);

}  // namespace gpl::wire
