#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/device_visibility.h"
#include "gpl/core/id.h"
#include "gpl/core/job.h"
#include "gpl/host/user.h"

namespace gpl::host {

/// The Python environment that a job asked for; an empty `folder`: it asked for none.
struct PythonChoice {
  std::string folder;    ///< of its programs: goes first on PATH
  std::string variable;  ///< VIRTUAL_ENV or CONDA_PREFIX; "" for an installation that is neither
  std::string root;      ///< that variable's value
};

/// What the environment of one attempt is made from.
struct EnvironmentSource {
  std::vector<std::string> inherited;  ///< the worker's own (embedded: the caller's), "NAME=VALUE"
  std::vector<std::string> forward;    ///< globs of further names to take from `inherited`
  std::vector<EnvironmentVariable> asked;  ///< --env: set last, so they win
  User user;
  std::string temp_folder;    ///< becomes TMPDIR
  DeviceEnvironment devices;  ///< the variables of what the job got, GPL_GPUS among them
  PythonChoice python;
  std::optional<int> cpus;  ///< as asked for
  JobId job;
  TaskId task;
  AttemptId attempt;
  std::string peer;
};

/// The attempt's environment as "NAME=VALUE", ordered by name, each name once. PATH, LANG and
/// VIRTUAL_ENV are inherited; SLURM_*, OMPI_* and PMI_* only when asked for by name. Pure.
std::vector<std::string> job_environment(const EnvironmentSource& source);

}  // namespace gpl::host
