#pragma once

#include <string>
#include <vector>

namespace gpl::cmd {

/// The words after the command's name, and which of descriptors 0 to 2 (bit N) were closed when the
/// process began.
struct Invocation {
  std::vector<std::string> args;
  unsigned closed_stdio = 0;
};

/// A row of main's table. `run` returns the process's exit code (2: usage); null for a command that
/// a later version has.
struct Command {
  const char* name;
  int (*run)(const Invocation&);
};

int run_command(const Invocation& invocation);
int get_command(const Invocation& invocation);
int history_command(const Invocation& invocation);
int match_command(const Invocation& invocation);
int completion_command(const Invocation& invocation);

}  // namespace gpl::cmd
