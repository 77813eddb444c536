#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/client/signal_watch.h"
#include "gpl/client/voice.h"
#include "gpl/core/explain.h"
#include "gpl/core/fit.h"
#include "gpl/core/peer_view.h"
#include "gpl/core/requirement.h"
#include "gpl/core/result.h"
#include "gpl/host/configuration.h"
#include "gpl/host/job_environment.h"
#include "gpl/posix/fd.h"

namespace gpl::client {

/// What a job has been given on this machine.
struct EmbeddedPlacement {
  Placement placement;
  PeerView peer;                 ///< what was judged
  std::vector<posix::Fd> locks;  ///< of the devices: the guard is to keep them
};

/// The Python environment of a placement, as a job's environment has it.
host::PythonChoice python_of(const EmbeddedPlacement& placed);

/// This machine as a peer. Looks only at what the requirement asks about: devices take a vendor's
/// tool, environments a scan of their packages.
PeerView view_of_this_machine(const Requirement& requirement,
                              const host::Configuration& configuration);

/// Why the job would run here, or not: holds nothing and waits for nothing.
Result<Explanation> explain_here(const Requirement& requirement,
                                 const host::Configuration& configuration);

/// This machine, if it can run the job once it is free; else Code::unsupported with the
/// explanation's words.
Result<PeerView> admit_here(const Requirement& requirement,
                            const host::Configuration& configuration);

/// Takes what the job needs of `peer`, this machine. Waits while others hold it, and says for whom.
/// Code::busy when a signal came while it waited: `stopped_by` is then that signal.
Result<EmbeddedPlacement> place_here(const Requirement& requirement, PeerView peer, JobId job,
                                     std::optional<Duration> time_limit, SignalWatch& signals,
                                     const Voice& voice, int& stopped_by);

}  // namespace gpl::client
