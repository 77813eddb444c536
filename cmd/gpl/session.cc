#include "session.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "gpl/posix/error.h"
#include "output.h"

namespace gpl::cmd {

client::ClusterChoice cluster_choice(const ParsedOptions& options) {
  client::ClusterChoice choice{options.has("local"), options.last("peers"), GPL_VERSION};
  const char* from_environment = std::getenv("GPL_PEERS");
  if (choice.peers.empty() && from_environment != nullptr) choice.peers = from_environment;
  return choice;
}

Result<std::unique_ptr<client::Session>> open_session(const ParsedOptions& options,
                                                      const client::Voice& voice) {
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return std::move(folders).error();
  return client::need_cluster(cluster_choice(options), folders.value(), voice);
}

Result<std::string> current_folder() {
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr) {
    return posix::io_error("cannot tell the current folder");
  }
  return std::string(here);
}

int complain_of(const Error& error, int failed) {
  std::string_view words = error.message;
  for (bool more = true; more;) {
    const std::size_t end = words.find('\n');
    complain(words.substr(0, end));
    more = end != words.npos;
    if (more) words.remove_prefix(end + 1);
  }
  return error.code == Code::invalid ? 2 : failed;
}

}  // namespace gpl::cmd
