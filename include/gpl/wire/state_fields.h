#pragma once

#include "gpl/core/job_record.h"
#include "gpl/core/peer_record.h"
#include "gpl/core/state_part.h"
#include "gpl/wire/attempt_fields.h"
#include "gpl/wire/job_fields.h"
#include "gpl/wire/peer_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto fields<JobRecord> = list_of<JobRecord>(
    "job record", &JobRecord::id, &JobRecord::request, &JobRecord::submitter,
    &JobRecord::description, &JobRecord::submitted_at, &JobRecord::held, &JobRecord::cancelled,
    &JobRecord::waiting_count, &JobRecord::under_way_count, &JobRecord::ended_count,
    &JobRecord::failed_count, &JobRecord::ended_at, &JobRecord::overlaps);

template <>
inline constexpr auto fields<WaitingTasks> = list_of<WaitingTasks>("waiting tasks",
                                                                   &WaitingTasks::job,
                                                                   &WaitingTasks::tasks);

template <>
inline constexpr auto fields<EndedTasks> = list_of<EndedTasks>("ended tasks", &EndedTasks::job,
                                                               &EndedTasks::tasks,
                                                               &EndedTasks::outcome,
                                                               &EndedTasks::last_at);

template <>
inline constexpr auto fields<RetriedTasks> = list_of<RetriedTasks>("retried tasks",
                                                                   &RetriedTasks::job,
                                                                   &RetriedTasks::tasks,
                                                                   &RetriedTasks::count);

template <>
inline constexpr auto fields<PeerRecord> =
    list_of<PeerRecord>("peer record", &PeerRecord::id, &PeerRecord::keeper, &PeerRecord::offer,
                        &PeerRecord::up_at, &PeerRecord::reported_at, &PeerRecord::down_at);

template <>
inline constexpr auto fields<StateCounters> = list_of<StateCounters>(
    "state counters", &StateCounters::next_job, &StateCounters::next_attempt, &StateCounters::epoch,
    &StateCounters::feature_level, &StateCounters::digest);

template <>
inline constexpr auto fields<JobsPart> = list_of<JobsPart>("jobs part", &JobsPart::jobs);

template <>
inline constexpr auto fields<WaitingPart> = list_of<WaitingPart>("waiting part",
                                                                 &WaitingPart::tasks);

template <>
inline constexpr auto fields<EndedPart> = list_of<EndedPart>("ended part", &EndedPart::tasks);

template <>
inline constexpr auto fields<RetriedPart> = list_of<RetriedPart>("retried part",
                                                                 &RetriedPart::tasks);

template <>
inline constexpr auto fields<AttemptsPart> = list_of<AttemptsPart>("attempts part",
                                                                   &AttemptsPart::attempts);

template <>
inline constexpr auto fields<FencedPart> = list_of<FencedPart>("fenced part",
                                                               &FencedPart::attempts);

template <>
inline constexpr auto fields<PeersPart> = list_of<PeersPart>("peers part", &PeersPart::peers);

}  // namespace gpl::wire
