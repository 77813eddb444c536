#pragma once

#include <string>

#include "gpl/client/embedded_run.h"

namespace gpl::cmd {

/// The object of `gpl run --json`, as gpl-run(1) documents it, with a newline.
std::string format_run_report(const client::EmbeddedRequest& request,
                              const client::EmbeddedReport& report);

}  // namespace gpl::cmd
