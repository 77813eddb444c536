#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/time.h"
#include "gpl/host/folders.h"
#include "gpl/host/user.h"

/// What `gpl doctor` can say of a set-up without a running peer.
namespace gpl::host {

struct Finding {
  enum class Level : std::uint8_t { ok = 0, warn = 1, fail = 2 };
  Level level = Level::ok;
  std::string subject;  ///< "disk", "key"
  std::string text;     ///< what is so, and where it is wrong what to do
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// The files of a set-up: configuration, cluster key, state folder (there, writable, not on NFS,
/// with room), and whether a peer answers on this machine. Changes nothing, but that it makes and
/// removes an empty file in a state folder that is there.
std::vector<Finding> check_set_up(const Folders& folders, bool peer_answers);

/// The process and the machine under it: clock, limit of open files, who runs it, lingering. `root`
/// stands in for / in a test; "": the machine itself.
std::vector<Finding> check_process(const User& user, Instant now, const std::string& root = "");

// The single ones.
Finding check_configuration(const std::string& path);
Finding check_key(const std::string& path);
Finding check_state_folder(const std::string& path);
/// Of the file system that holds the path, or what is there of it.
Finding check_disk(const std::string& path);
/// Pure: `free_bytes` as this user may have them.
Finding judge_disk(const std::string& path, std::uint64_t free_bytes, std::uint64_t total_bytes);
Finding judge_clock(Instant now);
Finding judge_open_files(std::uint64_t limit);
Finding judge_user(const User& user);
Finding check_lingering(const User& user, const std::string& root);

/// Whether statfs(2)'s f_type is that of a file system over a network: a log and sockets want a
/// local one.
bool is_network_file_system(std::int64_t type);

}  // namespace gpl::host
