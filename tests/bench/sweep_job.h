#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "gpl/core/command.h"

namespace gpl::bench {

/// One of many like it, as a loop over seeds submits them.
inline Command submit(std::uint64_t number) {
  JobDescription job;
  job.spec.command = {"python3", "train.py", "--seed=" + std::to_string(number)};
  job.spec.name = "sweep";
  job.spec.env = {{"MODE", "fast"}};
  job.requirement.cpus = 1;
  job.tree = std::string(32, 't');
  return command::Submit{{number, 1}, {"", PeerId{1}, 1000}, std::move(job), {}, Instant{1}};
}

}  // namespace gpl::bench
