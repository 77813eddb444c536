#pragma once

#include <string>
#include <vector>

#include "gpl/artifact/entry.h"
#include "gpl/core/id.h"
#include "json.h"

namespace gpl::cmd {

/// What `gpl get` is to bring back, and how.
struct GetWish {
  std::vector<std::string> patterns;  ///< none: everything
  std::string into;                   ///< "": the current folder
  bool force = false;
  bool quiet = false;
  bool as_json = false;
};

/// What was brought back of one job.
struct GotJob {
  JobId job;
  std::vector<std::string> command;
  std::vector<artifact::Entry> files;
};

/// Where the files of a job go: each one's below a folder with its number when there are several.
std::string target_of(const GetWish& wish, bool several, JobId job);

/// Whether `file` is wanted, and may be written below `target`: it was not changed here since
/// `started_ms` (since the epoch). What may not be written is said, and `failed` set.
bool takes(const GetWish& wish, const artifact::Entry& file, const std::string& target,
           std::int64_t started_ms, bool& failed);

/// "job 12 (make): out.bin 3 KB", to stderr.
void say_got(const GotJob& got);

/// The end of `gpl get`: what was written, as --json wants it, and the exit code.
int finish_get(const GetWish& wish, const std::vector<GotJob>& got, bool failed);

}  // namespace gpl::cmd
