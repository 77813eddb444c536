#include "gpl/host/machine.h"

#include <fcntl.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>

#include "gpl/posix/file.h"

namespace gpl::host {

std::string host_name() {
  utsname names;
  if (::uname(&names) != 0) return "localhost";
  const std::string name = names.nodename;
  return name.substr(0, name.find('.'));
}

std::string machine_id() {
  Result<std::string> text = posix::read_file_at(AT_FDCWD, "/etc/machine-id", 4096);
  if (text.ok()) {
    std::string id = text.value().substr(0, text.value().find('\n'));
    const bool plain =
        std::all_of(id.begin(), id.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (plain && id.size() == 32) return id;
  }
  return "host-" + host_name();
}

}  // namespace gpl::host
