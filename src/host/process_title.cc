#include "gpl/host/process_title.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gpl::host {

// The arguments lie in one piece before the environment: proc(5), cmdline.
void set_process_title(const char* title) {
  ::prctl(PR_SET_NAME, title);
  char* begin = ::program_invocation_name;
  char* end = ::environ != nullptr ? ::environ[0] : nullptr;
  if (begin == nullptr || end == nullptr || end <= begin + 1) return;
  const auto room = static_cast<std::size_t>(end - begin);
  std::memset(begin, 0, room);
  std::memcpy(begin, title, std::min(room - 1, std::strlen(title)));
}

}  // namespace gpl::host
