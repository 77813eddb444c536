#include <algorithm>
#include <cstdio>

#include "commands.h"
#include "output.h"
#include "run_options.h"

namespace gpl::cmd {
int completion_command(const Invocation&) { return print(""); }
}  // namespace gpl::cmd
