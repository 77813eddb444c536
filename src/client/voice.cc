#include "gpl/client/voice.h"

#include <unistd.h>

#include <string>

#include "gpl/posix/file.h"

namespace gpl::client {

void Voice::say(std::string_view line) const {
  if (!quiet_) complain(line);
}

void Voice::complain(std::string_view line) const {
  std::string whole = "gpl: ";
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    whole += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  whole += '\n';
  (void)posix::write_all(STDERR_FILENO, whole);
}

}  // namespace gpl::client
