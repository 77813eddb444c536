#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/core/time.h"

namespace gpl {

struct EnvironmentVariable {
  std::string name;
  std::string value;
  friend bool operator==(const EnvironmentVariable&, const EnvironmentVariable&) = default;
};

/// Where a job's command runs.
enum class StagingMode {
  copy,  ///< in a private copy of the submitter's directory
  none,  ///< in the same path on the worker (--no-stage): a shared file system
};

/// What a submitter asks for: the options of `gpl run`, and the keys of a job file. All strings are
/// bytes as the submitter gave them.
struct JobSpec {
  std::vector<std::string> command;      ///< argv; command[0] is looked up on the job's PATH
  std::string name;                      ///< for listings; empty: none
  std::vector<EnvironmentVariable> env;  ///< set in this order, so the last of equal names counts
  std::vector<std::string> stage;        ///< taken although ignore rules leave them out
  StagingMode staging = StagingMode::copy;
  std::string folder;  ///< the submitter's, absolute: with StagingMode::none it runs there
  std::vector<std::string> outputs;    ///< patterns of results to bring back, relative to the copy
  bool pass_stdin = false;             ///< else the job reads end of file
  std::vector<std::string> secrets;    ///< names of variables whose values travel outside of this
  std::optional<Duration> time_limit;  ///< of running, not of waiting
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

/// Whether the spec can be run at all, anywhere: Code::invalid names the field and the value.
/// Lengths are not judged, since only the worker's kernel knows its limit.
Status validate(const JobSpec& spec);

}  // namespace gpl
