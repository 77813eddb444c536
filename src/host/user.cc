#include "gpl/host/user.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace gpl::host {
namespace {

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

}  // namespace

std::string user_name(uid_t uid) {
  std::vector<char> room(16384);
  passwd entry;
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) == 0 && found != nullptr)
    return entry.pw_name;
  return "uid " + std::to_string(uid);
}

User current_user() {
  const uid_t uid = ::geteuid();
  std::vector<char> room(16384);
  passwd entry;
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) == 0 && found != nullptr) {
    return User{uid, entry.pw_name, entry.pw_dir, entry.pw_shell};
  }
  return User{uid, from_environment("USER", std::to_string(uid)), from_environment("HOME", "/"),
              from_environment("SHELL", "/bin/sh")};
}

}  // namespace gpl::host
