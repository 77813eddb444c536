#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/artifact/entry.h"
#include "gpl/artifact/made_files.h"
#include "gpl/client/voice.h"
#include "gpl/core/job.h"
#include "gpl/core/result.h"
#include "gpl/host/spool.h"

namespace gpl::client {

/// A run of the past whose files are kept in its spool.
struct KeptRun {
  JobId job;
  std::vector<std::string> command;
  std::string name;
  std::string source_folder;    ///< where it was started
  std::string files_path;       ///< the folder that `files` lie in
  std::int64_t started_ms = 0;  ///< since the epoch
  std::int64_t ended_ms = 0;    ///< 0: it was killed together with its gpl
  std::string outcome;          ///< "exited 3", "signalled 9", "lost"
  std::vector<artifact::Entry> files;
};

/// Whether one of `patterns` takes `path`: a shell's globs, `*` within a folder's name and `**`
/// across, `./` in front and '/' at the end allowed; a pattern that takes a folder takes all of it.
bool matches_any(const std::vector<std::string>& patterns, const std::string& path);

/// Leaves in the spool only what the command made and nobody has: moves `files` from work/ to
/// files/ and removes the rest of work/.
Status keep_files(host::Spool& spool, const std::vector<artifact::Entry>& files);

/// The runs with kept files, oldest first. One whose gpl was killed is finished first: what it had
/// made is kept, and what made nothing is removed. One that cannot be finished (a full disk) hides
/// no other, is tried again the next time, and `voice`, if given, says why.
Result<std::vector<KeptRun>> kept_runs(host::SpoolFolder& spools, const Voice* voice = nullptr);

/// Once an hour: finishes what killed runs have left, and where space is short (less than a tenth
/// of the file system) removes kept files that are older than a week, the oldest first.
void sweep(host::SpoolFolder& spools);

}  // namespace gpl::client
