#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpl/artifact/delivery.h"
#include "gpl/client/session.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/wire/client_message.h"

namespace gpl::client {

/// What a job made and its peer keeps. Waits until that is known, after the job's end.
Result<wire::Results> ask_results(Session& session, JobId job);

/// One of them as an entry of a folder.
artifact::Entry entry_of(const wire::ResultFile& file);

/// Told as bytes of `file` arrive: so many of it are here.
using FetchProgress = std::function<void(const wire::ResultFile& file, std::uint64_t here_bytes)>;

/// Brings files and links of a job below the folder `target`, to their paths, with modes and times,
/// each in one step and never outside of it (artifact::deliver). What could not be brought is in
/// `failed`, with the reason: also all that is left when a signal (INT, TERM, HUP) came. An Error
/// when nothing can be written to `target` at all.
Result<artifact::Delivered> fetch_files(Session& session, JobId job,
                                        const std::vector<wire::ResultFile>& files,
                                        const std::string& target, const FetchProgress& progress);

/// Tells the peer that these have been brought to where they are wanted.
Status forget_files(Session& session, JobId job, const std::vector<wire::ResultFile>& files,
                    const std::vector<artifact::Entry>& brought);

}  // namespace gpl::client
