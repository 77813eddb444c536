#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/core/result.h"

namespace gpl {

/// Which jobs a person means: `5`, `1-3,8`, `5.17` (one task), `last`, `all`.
struct JobSelector {
  enum class Kind { numbers, last, all };
  struct Range {
    JobId first;
    JobId last;                  ///< inclusive
    std::optional<TaskId> task;  ///< only of a single job
    friend bool operator==(const Range&, const Range&) = default;
  };
  Kind kind = Kind::numbers;
  std::vector<Range> ranges;  ///< of `numbers`, as written

  /// Whether `job` is meant, `newest` being the newest of those to choose from.
  bool takes(JobId job, JobId newest) const;
  friend bool operator==(const JobSelector&, const JobSelector&) = default;
};

/// Code::invalid for what is no selector: the text and the reason.
Result<JobSelector> parse_job_selector(std::string_view text);

}  // namespace gpl
