#include <nss.h>

#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "commands.h"
#include "gpl/core/nearest.h"
#include "gpl/posix/fd.h"
#include "output.h"
#include "run_options.h"

namespace gpl::cmd {
namespace {

constexpr const char* usage_head =
    R"(gpl runs a command where it fits, with its files, and brings back output, results and exit code.

  gpl run -- python train.py              run it in a private copy of this folder
  gpl run --out 'out/*.png' -- ./render   bring these results back
  gpl get last                            bring back what the last run made
  gpl worker --detach                     lend this machine: jobs queue, and outlive terminals

Commands:
)";
constexpr const char* usage_tail =
    R"(
gpl COMMAND --help tells more, as do gpl(1) and gpl-architecture(7).
)";

// The whole command line: DESIGN's commands that no version has yet are known by name.
constexpr Command table[] = {
    {"run", run_command, "run a command, or a job file", run_options, Takes::job_file_or_command},
    {"submit", submit_command, "the same in the background: print its id", submit_options,
     Takes::job_file_or_command},
    {"status", status_command, "show the cluster and its jobs, or some jobs", status_options,
     Takes::job},
    {"explain", explain_command, "say why a job waits, and for what", explain_options, Takes::job},
    {"wait", wait_command, "wait for jobs; exit as they did", wait_options, Takes::job},
    {"logs", logs_command, "print what a job has written", logs_options, Takes::job},
    {"attach", attach_command, "take a running job up again", attach_options, Takes::job},
    {"cancel", cancel_command, "end jobs", cancel_options, Takes::job},
    {"hold", hold_command, "keep queued jobs from starting", hold_options, Takes::job},
    {"release", release_command, "let held jobs start", release_options, Takes::job},
    {"exec", exec_command, "run a command inside a running job", exec_options,
     Takes::job_and_command},
    {"rerun", rerun_command, "submit jobs once more", rerun_options, Takes::job},
    {"get", get_command, "bring back files that a run made", get_options, Takes::kept_job},
    {"history", history_command, "list the runs whose files are kept", history_options},
    {"worker", worker_command, "lend this machine to jobs", worker_options},
    {"coordinator", coordinator_command, "be a peer that lends nothing", coordinator_options},
    {"peers", peers_command, "list the peers; drain, resume and forget them", peers_options,
     Takes::peer_word},
    {"leave", leave_command, "take this machine out of its cluster", leave_options},
    {"key", key_command, "show, make, take over and derive the cluster's key", key_options,
     Takes::key_word},
    {"doctor", doctor_command, "say what is wrong with this set-up", doctor_options},
    {"devices", devices_command, "show this machine's devices and environments", devices_options},
    {"match", match_command, "say whether a version satisfies a specifier", match_options},
    {"completion", completion_command, "print the completions for a shell", completion_options,
     Takes::shell},
    {"wal", wal_command, "check or print a write-ahead log", wal_options, Takes::log_folder},
    {"call", nullptr},
    {"map", nullptr},
    {"modify", nullptr},
    {"top", nullptr},
    {"data", nullptr},
    {"python", nullptr},
    {"rsh", nullptr},
    {"keeper", keeper_command},
};

// Name lookups stay in this binary: a static one would load the host's own NSS modules, and abort
// where they are of another glibc.
void keep_name_services_inside() {
  __nss_configure_lookup("hosts", "files dns");
  for (const char* database : {"passwd", "group", "services", "protocols"}) {
    __nss_configure_lookup(database, "files");
  }
}

std::string usage() {
  std::string text = usage_head;
  for (const Command& command : table) {
    if (command.options == nullptr) continue;
    std::string name = command.name;
    name.resize(11, ' ');
    text += "  " + name + "  " + command.summary + "\n";
  }
  return text + usage_tail;
}

int unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : table) names.emplace_back(command.name);
  const auto near = nearest(name, names);
  complain("unknown command '" + name + "'" +
           (near ? "; did you mean '" + *near + "'?" : "; gpl --help lists them"));
  return 2;
}

int dispatch(const std::vector<std::string>& words, unsigned closed_stdio) {
  if (words.empty()) {
    std::fputs(usage().c_str(), stderr);
    return 2;
  }
  const std::string& name = words.front();
  if (name == "--version") return print(std::string("gpl ") + GPL_VERSION + "\n");
  if (name == "--help" || name == "-h" || name == "help") return print(usage());
  for (const Command& command : table) {
    if (name != command.name) continue;
    if (command.run == nullptr) {
      complain("'" + name + "' comes with a later version of gpl");
      return 2;
    }
    return command.run({{words.begin() + 1, words.end()}, closed_stdio});
  }
  return unknown_command(name);
}

}  // namespace

std::span<const Command> commands() { return table; }

}  // namespace gpl::cmd

int main(int argc, char** argv) {
  gpl::cmd::keep_name_services_inside();
  const unsigned closed_stdio = gpl::posix::open_missing_stdio();
  return gpl::cmd::dispatch({argv + 1, argv + argc}, closed_stdio);
}
