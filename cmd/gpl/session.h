#pragma once

#include <memory>
#include <string>

#include "gpl/client/cluster.h"
#include "gpl/client/session.h"
#include "gpl/client/voice.h"
#include "gpl/core/result.h"
#include "gpl/host/folders.h"
#include "option_table.h"

namespace gpl::cmd {

/// The rows of the options that say which cluster: for the tables of commands that ask one.
inline constexpr OptionRow peers_row = {"peers", OptionRow::Kind::value, "HOST[:PORT],...",
                                        "Where:", "ask these peers (GPL_PEERS)"};

/// What --local and --peers say, or GPL_PEERS.
client::ClusterChoice cluster_choice(const ParsedOptions& options);

/// The session of a command that needs a cluster. `voice` outlives it.
Result<std::unique_ptr<client::Session>> open_session(const ParsedOptions& options,
                                                      const client::Voice& voice);

/// The current folder, absolute.
Result<std::string> current_folder();

/// Says what went wrong, each line with "gpl: " before it, and gives the exit code: 2 for
/// Code::invalid (the caller's words), else `failed`.
int complain_of(const Error& error, int failed);

}  // namespace gpl::cmd
