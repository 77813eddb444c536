#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpl/artifact/entry.h"

namespace gpl::client {

/// "1 new and 2 changed files".
std::string describe_made(const std::vector<artifact::Entry>& made,
                          const std::function<bool(const artifact::Entry&)>& was_staged);

/// The first few by name: "model.pt 5.1 MB, log.csv 3 KB, and 7 more".
std::string name_some(const std::vector<artifact::Entry>& files);

}  // namespace gpl::client
