#pragma once

#include <string>
#include <vector>

namespace gpl::cmd {

/// Says of each log whether a peer would start from it. Returns the highest exit code.
int check_logs(const std::vector<std::string>& paths);

}  // namespace gpl::cmd
