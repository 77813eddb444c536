#pragma once

#include <string>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/core/job.h"
#include "gpl/host/user.h"

namespace gpl::host {

/// What the environment of one attempt is made from.
struct EnvironmentSource {
  std::vector<std::string> inherited;  ///< the worker's own (embedded: the caller's), "NAME=VALUE"
  std::vector<std::string> forward;    ///< globs of further names to take from `inherited`
  std::vector<EnvironmentVariable> asked;  ///< --env: set last, so they win
  User user;
  std::string temp_folder;  ///< becomes TMPDIR
  JobId job;
  TaskId task;
  AttemptId attempt;
  std::string peer;
};

/// The attempt's environment as "NAME=VALUE", ordered by name, each name once. PATH, LANG and
/// VIRTUAL_ENV are inherited; SLURM_*, OMPI_* and PMI_* only when asked for by name. A job without
/// GPUs sees none. Pure.
std::vector<std::string> job_environment(const EnvironmentSource& source);

}  // namespace gpl::host
