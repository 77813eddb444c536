#include "gpl/host/folders.h"

#include <cstdlib>

#include "gpl/host/machine.h"
#include "gpl/host/user.h"

namespace gpl::host {
namespace {

std::string absolute_from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : "";
}

}  // namespace

Result<Folders> user_folders() {
  std::string configuration = absolute_from_environment("XDG_CONFIG_HOME");
  std::string state = absolute_from_environment("XDG_STATE_HOME");
  if (configuration.empty() || state.empty()) {
    std::string home = absolute_from_environment("HOME");
    if (home.empty()) home = current_user().home;
    if (!home.starts_with('/')) {
      return Error{Code::not_found,
                   "no home folder is known for its state: set HOME, or XDG_STATE_HOME and "
                   "XDG_CONFIG_HOME"};
    }
    if (configuration.empty()) configuration = home + "/.config";
    if (state.empty()) state = home + "/.local/state";
  }
  return Folders{configuration + "/gpl", state + "/gpl/" + machine_id()};
}

}  // namespace gpl::host
