#pragma once

#include <sys/types.h>

#include <string>

namespace gpl::host {

/// Who runs this process.
struct User {
  uid_t uid = 0;
  std::string name;
  std::string home;
  std::string shell;
};

/// From /etc/passwd; a user who is not in that file (LDAP's, say) is known by USER, HOME and SHELL
/// of the environment, and at the least by number.
User current_user();

/// The name of a user by number, from /etc/passwd; "uid 1000" for who is not in there.
std::string user_name(uid_t uid);

}  // namespace gpl::host
