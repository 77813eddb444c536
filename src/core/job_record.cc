#include "gpl/core/job_record.h"

#include <tuple>

namespace gpl {

bool operator==(const JobRecord& a, const JobRecord& b) {
  const auto fields = [](const JobRecord& job) {
    return std::tie(job.id, job.request, job.submitter, job.submitted_at, job.held, job.cancelled,
                    job.waiting_count, job.under_way_count, job.ended_count, job.failed_count,
                    job.ended_at, job.overlaps);
  };
  if (fields(a) != fields(b)) return false;
  if (a.description == nullptr || b.description == nullptr) return a.description == b.description;
  return a.description == b.description || *a.description == *b.description;
}

}  // namespace gpl
