#pragma once

#include <optional>
#include <string>

#include "kind_fit.h"

namespace gpl {

/// Enough devices of the kind would serve, and too few of them are free.
Reason busy_reason(const Requirement& requirement, const KindFit& fit, Instant now);

/// When time limits will have freed as many as are asked for.
std::optional<Instant> free_by(const Requirement& requirement, const KindFit& fit);

/// " (cuda:0, cuda:1 held by job 12 for 3m; cuda:2 held by job 13)": those that are not free.
std::string describe_uses(const Candidates& candidates, Instant now);

/// Who has those that are not free, each once.
std::vector<std::string> holders_of(const Candidates& candidates);

}  // namespace gpl
