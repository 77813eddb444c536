#include "gpl/host/socket_path.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

// FNV-1a, 64 bit: names only have to differ between the few state folders of one user.
std::uint64_t hash_of(const std::string& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

std::string hexadecimal(std::uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(number >> shift) & 15U];
  return text;
}

Status make_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return posix::io_error("cannot make the folder " + path + " for sockets");
  }
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return posix::io_error("cannot look at " + path);
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 0077U) == 0) {
    return success();
  }
  return Error{Code::denied, path + " is not a folder of this user alone (mode 0700), so sockets " +
                                 "in it cannot be trusted: remove it"};
}

}  // namespace

Result<std::string> socket_path(const std::string& state_folder, const std::string& name) {
  std::string path = state_folder + "/" + name;
  if (path.size() <= longest_path) return path;
  const std::string folder = "/tmp/gpl-" + std::to_string(::geteuid());
  if (Status made = make_private_folder(folder); !made.ok()) return made.error();
  return folder + "/" + hexadecimal(hash_of(state_folder)) + "-" + name;
}

}  // namespace gpl::host
