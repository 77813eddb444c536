#pragma once

#include <string>

#include "get_report.h"
#include "gpl/client/session.h"

namespace gpl::cmd {

/// `gpl get` of jobs of a cluster. Returns the exit code.
int get_from_peer(client::Session& session, const std::string& selector, bool everyone,
                  const GetWish& wish);

}  // namespace gpl::cmd
