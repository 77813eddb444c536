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
enum class Takes { nothing, job_file_or_command, kept_job, shell, log_folder };

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

std::span<const OptionRow> get_options();
std::span<const OptionRow> history_options();
std::span<const OptionRow> match_options();
std::span<const OptionRow> devices_options();
std::span<const OptionRow> completion_options();
std::span<const OptionRow> wal_options();

}  // namespace gpl::cmd
