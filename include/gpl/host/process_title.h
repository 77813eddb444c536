#pragma once

namespace gpl::host {

/// Makes ps, pgrep and pkill know this process by `title` (of which the short name keeps 15 bytes).
/// It is written over the words that the process was started with: nothing may read those any more.
void set_process_title(const char* title);

}  // namespace gpl::host
