#pragma once

#include <string>

#include "commands.h"
#include "gpl/client/peer_run.h"
#include "gpl/client/session.h"
#include "gpl/core/result.h"

namespace gpl::cmd {

/// How `gpl run` and `gpl attach` stay with a job of a peer, as their options say.
client::Attachment attachment_of(JobSpec spec, std::string here, const Invocation& invocation,
                                 const ParsedOptions& options);

/// Says how it went: the error, or with --json the report. Returns the exit code.
int finish_attached(client::Session& session, const JobSpec& spec,
                    const Result<client::PeerReport>& report, const ParsedOptions& options);

}  // namespace gpl::cmd
