// Any bytes given as a job file: no crash, and what is accepted is valid.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpl/client/job_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto job = gpl::client::parse_job_file(text, "job.toml");
  if (job.ok() && !gpl::validate(job.value().spec).ok()) std::abort();
  if (!job.ok() && job.error().message.rfind("job.toml:", 0) != 0) std::abort();
  return 0;
}
