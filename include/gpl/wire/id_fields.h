#pragma once

#include "gpl/core/id.h"
#include "gpl/core/task_range.h"
#include "gpl/wire/fields.h"

namespace gpl::wire {

template <class Tag>
inline constexpr auto fields<Id<Tag>> = list_of<Id<Tag>>("id", &Id<Tag>::value);
template <class Tag>
inline constexpr bool is_bare<Id<Tag>> = true;

template <>
inline constexpr auto fields<RequestId> = list_of<RequestId>("request id", &RequestId::high,
                                                             &RequestId::low);

template <>
inline constexpr auto fields<TaskRange> = list_of<TaskRange>("task range", &TaskRange::first,
                                                             &TaskRange::last);

template <>
inline constexpr Rule<TaskRange> rule<TaskRange> = {
    [](const TaskRange& range) { return range.first <= range.last; },
    "the first task is not after the last"};

}  // namespace gpl::wire
