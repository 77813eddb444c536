#include <string>

#include "commands.h"
#include "gpl/host/configuration.h"
#include "gpl/host/folders.h"
#include "gpl/host/keeper.h"
#include "output.h"

namespace gpl::cmd {

/// `gpl keeper STATE_FOLDER`: not for people; a peer starts it (gpl/host/keeper.h).
int keeper_command(const Invocation& invocation) {
  if (invocation.args.size() != 1) {
    complain("keeper: gpl worker starts this by itself; usage: gpl keeper STATE_FOLDER");
    return 2;
  }
  host::KeeperOptions options;
  options.state_folder = invocation.args.front();
  options.version = GPL_VERSION;
  // A configuration that cannot be read is the peer's to complain of.
  if (const Result<host::Folders> folders = host::user_folders(); folders.ok()) {
    const auto configuration =
        host::read_configuration(folders.value().configuration + "/gpl.toml");
    if (configuration.ok()) options.forward_env = configuration.value().forward_env;
  }
  const Status kept = host::run_keeper(options);
  if (kept.ok()) return 0;
  complain("keeper: " + kept.error().message);
  return 1;
}

}  // namespace gpl::cmd
