#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "gpl/client/session.h"
#include "gpl/core/result.h"
#include "gpl/wire/client_message.h"

namespace gpl::client {

/// Asks all of these, many at a time, and tells the one answer to each by its place in `questions`:
/// in any order. An Error when the peer is gone for good.
Status ask_each(Session& session, const std::vector<wire::Question>& questions,
                const std::function<void(std::size_t, const wire::Answer&)>& told);

}  // namespace gpl::client
