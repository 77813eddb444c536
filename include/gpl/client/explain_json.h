#pragma once

#include <string>

#include "gpl/core/explain.h"
#include "gpl/core/requirement.h"

namespace gpl::client {

/// The explanation for programs, one object with "schema": 1 and no newline at its end:
///
///   {"schema":1, "verdict":"fits|waiting|never|held|blocked", "headline":"...",
///    "asked":{"gpus","kind","gpu_memory_bytes","gpu_share","gpu_model","compute_capability","cpus",
///             "memory_bytes","frameworks":[{"name","specifier"}],"environment","on",
///             "labels":[{"key","value"}]},
///    "peers":[{"peer","fits":"yes|soon|no","report_age_ms","free_by_ms",
///              "reasons":[{"code","subject","asked","has","free","holder","text"}],
///              "placement":{"devices":["cuda:0"],"slices":[],"environment","shared_memory_bytes"}}],
///    "nearest":"..."}
///
/// What was not asked, is not known or does not apply is null, apart from 0. Counts and bytes are
/// numbers. `free_by_ms` is since the epoch. Bytes that are no UTF-8 become U+FFFD.
std::string explanation_json(const Explanation& explanation, const Requirement& requirement);

/// The object under "asked" alone.
std::string requirement_json(const Requirement& requirement);

}  // namespace gpl::client
