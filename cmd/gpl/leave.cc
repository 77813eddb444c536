#include <unistd.h>

#include <vector>

#include "commands.h"
#include "gpl/host/socket_path.h"
#include "job_change.h"
#include "option_table.h"
#include "output.h"
#include "patience.h"
#include "session.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"end-jobs", Kind::flag, "", "Options:", "cancel the jobs that have not ended, and leave then"},
    {"quiet", Kind::flag, "", "Options:", "say nothing but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
};

constexpr const char* help_head =
    R"(Take this machine's peer out of its cluster for good, and end its process.

  gpl leave
  gpl leave --end-jobs

Usage: gpl leave [OPTIONS]

What the peer keeps is removed: the queue and what is known of its jobs, their output and the
files that were not fetched. While jobs have not ended it is refused, but for --end-jobs.
To stop the peer and keep all that, send its process SIGTERM.
)";

constexpr useconds_t look_every_us = 50'000;
constexpr int most_looks = 600;  // half a minute

int usage_error(const std::string& message) {
  complain("leave: " + message);
  return 2;
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// Until the peer's process has gone: its socket and what it had to remove are gone then, too.
bool wait_until_gone(const std::vector<std::string>& paths) {
  for (int look = 0; look < most_looks; ++look) {
    bool gone = true;
    for (const std::string& path : paths) gone = gone && !is_there(path);
    if (gone) return true;
    ::usleep(look_every_us);
  }
  return false;
}

int leave(const ParsedOptions& options, const client::Voice& voice) {
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return complain_of(folders.error(), 125);
  client::ClusterChoice choice = cluster_choice(options);
  choice.only_here = true;
  Result<std::unique_ptr<client::Session>> session =
      client::need_cluster(choice, folders.value(), voice);
  if (!session.ok()) return complain_of(session.error(), 125);
  const std::string& state = folders.value().state;
  Result<std::string> socket = host::socket_path(state, "peer.sock");
  // A system service's is its own business, and goes by itself.
  std::vector<std::string> paths;
  if (socket.ok() && is_there(socket.value())) {
    paths = {socket.value()};
    for (const char* name : {"/peer", "/attempts", "/store", "/secrets"})
      paths.push_back(state + name);
  }
  const Patience patience(*session.value(), voice, "waiting for its jobs to end");
  Status done = session.value()->do_it(wire::LeaveCluster{options.has("end-jobs")});
  if (!done.ok()) return complain_of_answer(done.error(), *session.value());
  if (!wait_until_gone(paths)) {
    complain("the peer has left its cluster, and its process has not ended yet; its log says why");
    return 1;
  }
  voice.say(
      "this machine has left its cluster; removed: the queue, and what was known and kept of "
      "its jobs" +
      (paths.empty() ? std::string() : " (" + state + ")"));
  return 0;
}

}  // namespace

std::span<const OptionRow> leave_options() { return rows; }

int leave_command(const Invocation& invocation) {
  Result<ParsedOptions> options = parse_mixed_options(rows, invocation.args);
  if (!options.ok()) return usage_error(options.error().message);
  if (options.value().has("help")) return print(help_head + describe_options(rows));
  if (!options.value().rest.empty())
    return usage_error("takes no words: " + shell_words(options.value().rest));
  return leave(options.value(), client::Voice(options.value().has("quiet")));
}

}  // namespace gpl::cmd
