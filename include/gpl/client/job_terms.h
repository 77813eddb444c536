#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/client/data_files.h"
#include "gpl/core/job_description.h"
#include "gpl/core/result.h"

namespace gpl::client {

/// What `gpl run`, `gpl submit` and a job file say of a job besides its spec and its requirement.
struct JobTerms {
  std::optional<std::uint32_t> retries;
  std::optional<OnLoss> on_loss;
  std::optional<std::int32_t> priority;
  std::vector<Dependency> after;
  bool allow_pending = false;
  std::vector<std::string> secrets;  ///< names of variables of the caller
  std::vector<DataWish> data;
  friend bool operator==(const JobTerms&, const JobTerms&) = default;
};

/// Each reads one value. Code::invalid without the option's name.
Result<std::uint32_t> parse_retries(std::string_view text);
Result<OnLoss> parse_on_loss(std::string_view text);
Result<std::int32_t> parse_priority(std::string_view text);
Result<Dependency> parse_after(std::string_view text);
/// A name that a variable of the environment can have.
Result<std::string> parse_secret(std::string_view text);

/// `over` where it says something, `under` elsewhere; the lists of both.
JobTerms merge(JobTerms under, JobTerms over);

/// The first of them that makes no sense without a cluster, as a person wrote it ("--retries"); ""
/// when there is none.
std::string needing_cluster(const JobTerms& terms);

/// The description of such a job, but its tree.
JobDescription description_of(JobSpec spec, Requirement requirement, const JobTerms& terms);

}  // namespace gpl::client
