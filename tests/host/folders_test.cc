#include "gpl/host/folders.h"

#include <doctest/doctest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "../forked.h"
#include "gpl/host/machine.h"
#include "gpl/host/user.h"

using gpl::host::current_user;
using gpl::host::machine_id;
using gpl::host::user_folders;

namespace {

/// user_folders() with exactly these of HOME, XDG_CONFIG_HOME and XDG_STATE_HOME set.
bool gives(const std::vector<std::string>& set, const std::string& configuration,
           const std::string& state) {
  return forked([&] {
           for (const char* name : {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}) ::unsetenv(name);
           for (const std::string& entry : set) {
             const std::size_t equals = entry.find('=');
             ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
           }
           const auto folders = user_folders();
           if (!folders.ok()) return 1;
           if (folders.value().configuration != configuration) return 2;
           return folders.value().state == state + "/" + machine_id() ? 0 : 3;
         }) == 0;
}

}  // namespace

TEST_CASE("folders lie in the home folder") {
  CHECK(gives({"HOME=/h"}, "/h/.config/gpl", "/h/.local/state/gpl"));
}

TEST_CASE("XDG_CONFIG_HOME and XDG_STATE_HOME each replace their own") {
  CHECK(gives({"HOME=/h", "XDG_CONFIG_HOME=/c"}, "/c/gpl", "/h/.local/state/gpl"));
  CHECK(gives({"HOME=/h", "XDG_STATE_HOME=/s"}, "/h/.config/gpl", "/s/gpl"));
  CHECK(gives({"XDG_STATE_HOME=/s", "XDG_CONFIG_HOME=/c"}, "/c/gpl", "/s/gpl"));
}

TEST_CASE("an XDG folder that is relative or empty is not used") {
  CHECK(gives({"HOME=/h", "XDG_CONFIG_HOME=c", "XDG_STATE_HOME="}, "/h/.config/gpl",
              "/h/.local/state/gpl"));
}

TEST_CASE("without a usable HOME the passwd entry's home counts") {
  const passwd* entry = ::getpwuid(::geteuid());
  if (entry == nullptr || entry->pw_dir[0] != '/') return;
  const std::string home = entry->pw_dir;
  CHECK(gives({}, home + "/.config/gpl", home + "/.local/state/gpl"));
  CHECK(gives({"HOME=relative"}, home + "/.config/gpl", home + "/.local/state/gpl"));
}

TEST_CASE("a user without an entry is known by the environment, and at the least by number") {
  CHECK(forked([] {
          if (::geteuid() != 0) return 0;  // only root can be somebody unknown
          if (::setuid(54321) != 0) return 1;
          for (const char* name : {"HOME", "USER", "SHELL"}) ::unsetenv(name);
          const gpl::host::User bare = current_user();
          if (bare.name != "54321" || bare.home != "/" || bare.shell != "/bin/sh") return 2;
          ::setenv("USER", "ldap", 1);
          ::setenv("HOME", "/net/ldap", 1);
          ::setenv("SHELL", "/bin/zsh", 1);
          const gpl::host::User known = current_user();
          if (known.name != "ldap" || known.home != "/net/ldap") return 3;
          return known.shell == "/bin/zsh" && known.uid == 54321 ? 0 : 4;
        }) == 0);
}

TEST_CASE("a machine has a name that can be a folder's") {
  CHECK_FALSE(machine_id().empty());
  CHECK(machine_id().find('/') == std::string::npos);
  CHECK(machine_id() == machine_id());
  CHECK(gpl::host::host_name().find('.') == std::string::npos);
}
