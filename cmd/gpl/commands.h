#pragma once

#include <span>
#include <string>
#include <vector>

#include "option_table.h"

namespace gpl::cmd {

/// The words after the command's name, and which of descriptors 0 to 2 (bit N) were closed when the
/// process began.
struct Invocation {
  std::vector<std::string> args;
  unsigned closed_stdio = 0;
};

/// What the words of a command that are no options are, for the completions.
enum class Takes {
  nothing,
  job_file_or_command,
  kept_job,
  job,              ///< of the cluster
  job_and_command,  ///< one, and what runs in it
  peer_word,        ///< drain, resume
  key_word,         ///< show, new, set, derive and a role
  shell,
  log_folder
};

/// A row of main's table. `run` returns the process's exit code (2: usage); null for a command that
/// a later version has.
struct Command {
  const char* name;
  int (*run)(const Invocation&);
  const char* summary = "";
  std::span<const OptionRow> (*options)() = nullptr;  ///< set when `run` is
  Takes takes = Takes::nothing;
};

/// Every command by its name, those of later versions included.
std::span<const Command> commands();

int run_command(const Invocation& invocation);
int get_command(const Invocation& invocation);
int history_command(const Invocation& invocation);
int match_command(const Invocation& invocation);
int devices_command(const Invocation& invocation);
int completion_command(const Invocation& invocation);
int wal_command(const Invocation& invocation);
int submit_command(const Invocation& invocation);
int status_command(const Invocation& invocation);
int explain_command(const Invocation& invocation);
int wait_command(const Invocation& invocation);
int logs_command(const Invocation& invocation);
int attach_command(const Invocation& invocation);
int cancel_command(const Invocation& invocation);
int hold_command(const Invocation& invocation);
int release_command(const Invocation& invocation);
int exec_command(const Invocation& invocation);
int rerun_command(const Invocation& invocation);
int doctor_command(const Invocation& invocation);
int peers_command(const Invocation& invocation);
int leave_command(const Invocation& invocation);
int key_command(const Invocation& invocation);
int worker_command(const Invocation& invocation);
int coordinator_command(const Invocation& invocation);
/// Started by a peer, not by people.
int keeper_command(const Invocation& invocation);

std::span<const OptionRow> get_options();
std::span<const OptionRow> history_options();
std::span<const OptionRow> match_options();
std::span<const OptionRow> devices_options();
std::span<const OptionRow> completion_options();
std::span<const OptionRow> wal_options();
std::span<const OptionRow> status_options();
std::span<const OptionRow> explain_options();
std::span<const OptionRow> wait_options();
std::span<const OptionRow> logs_options();
std::span<const OptionRow> attach_options();
std::span<const OptionRow> cancel_options();
std::span<const OptionRow> hold_options();
std::span<const OptionRow> release_options();
std::span<const OptionRow> exec_options();
std::span<const OptionRow> rerun_options();
std::span<const OptionRow> doctor_options();
std::span<const OptionRow> peers_options();
std::span<const OptionRow> leave_options();
std::span<const OptionRow> key_options();
std::span<const OptionRow> worker_options();
std::span<const OptionRow> coordinator_options();

}  // namespace gpl::cmd
