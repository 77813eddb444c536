#include "gpl/host/set_up_check.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <limits>

#include "gpl/core/size.h"
#include "gpl/host/configuration.h"
#include "gpl/host/system_root.h"
#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

using Level = Finding::Level;

constexpr std::uint64_t least_free_bytes = std::uint64_t{100} * 1024 * 1024;
constexpr std::uint64_t fewest_open_files = 1024;
/// 2024-01-01T00:00:00Z. gpl is younger: a clock that says less was never set.
constexpr Instant no_earlier{1'704'067'200'000};

// Of file systems that <linux/magic.h> does not have.
constexpr std::int64_t cifs_magic = 0xFF534D42;
constexpr std::int64_t ceph_magic = 0x00C36400;
constexpr std::int64_t lustre_magic = 0x0BD00BD0;
constexpr std::int64_t gpfs_magic = 0x47504653;
constexpr std::int64_t beegfs_magic = 0x19830326;

/// The path, or the folder above it that is there.
std::string nearest_there(std::string path) {
  while (!path.empty() && path != "/" && ::access(path.c_str(), F_OK) != 0) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    path.resize(slash);
  }
  return path.empty() ? "/" : path;
}

std::string mode_words(mode_t mode) {
  std::string text = "000";
  for (std::size_t i = 3; i-- > 0; mode >>= 3) text[i] = static_cast<char>('0' + (mode & 7));
  return text;
}

/// "" when a file can be made in the folder, else why not.
std::string obstacle_to_write(const std::string& folder) {
  const std::string path = folder + "/.doctor." + std::to_string(::getpid());
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return posix::errno_text(errno);
  ::close(file);
  ::unlink(path.c_str());
  return "";
}

std::uint64_t open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::uint64_t>::max();
  return limit.rlim_cur;
}

std::string date_of(Instant at) {
  const std::time_t seconds = at.since_epoch_ms / 1000;
  std::tm parts = {};
  char text[64];
  if (::gmtime_r(&seconds, &parts) == nullptr) return "an impossible time";
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts));
}

}  // namespace

bool is_network_file_system(std::int64_t type) {
  return type == NFS_SUPER_MAGIC || type == SMB_SUPER_MAGIC || type == AFS_SUPER_MAGIC ||
         type == CODA_SUPER_MAGIC || type == V9FS_MAGIC || type == cifs_magic ||
         type == SMB2_SUPER_MAGIC || type == ceph_magic || type == lustre_magic ||
         type == gpfs_magic || type == beegfs_magic;
}

Finding check_configuration(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    return {Level::ok, "configuration", path + " is not there: the defaults hold"};
  const Result<Configuration> read = read_configuration(path);
  if (!read.ok()) return {Level::fail, "configuration", read.error().message};
  return {Level::ok, "configuration", path};
}

Finding check_key(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 && errno == ENOENT)
    return {Level::ok, "key", path + " is not there: this machine is in no cluster of several"};
  if (::access(path.c_str(), R_OK) != 0 || ::stat(path.c_str(), &status) != 0)
    return {Level::fail, "key",
            "cannot read " + path + ": " + posix::errno_text(errno) + "; see who owns it"};
  if (!S_ISREG(status.st_mode)) return {Level::fail, "key", path + " is no regular file"};
  const mode_t mode = status.st_mode & 0777;
  if ((mode & 077) != 0)
    return {Level::fail, "key",
            path + " has mode " + mode_words(mode) +
                ": others may use the key; chmod 600 it, and rotate the key if it is shared"};
  return {Level::ok, "key", path + ", mode " + mode_words(mode)};
}

Finding check_state_folder(const std::string& path) {
  const std::string there = nearest_there(path);
  struct statfs system;
  if (::statfs(there.c_str(), &system) != 0)
    return {Level::fail, "state", "cannot look at " + there + ": " + posix::errno_text(errno)};
  const bool remote = is_network_file_system(system.f_type);
  if (there != path && ::access(there.c_str(), W_OK | X_OK) != 0)
    return {Level::fail, "state",
            "cannot make " + path + ": " + there + " is not writable for this user"};
  if (there == path) {
    if (const std::string why = obstacle_to_write(path); !why.empty())
      return {Level::fail, "state",
              "cannot write in " + path + ": " + why + "; see who owns it, and how it is mounted"};
  }
  if (remote)
    return {Level::warn, "state",
            path +
                " is on a network file system: what is slow or hangs there stops the peer; set "
                "XDG_STATE_HOME to a local folder"};
  return {Level::ok, "state", there == path ? path : path + " is not there yet"};
}

Finding judge_disk(const std::string& path, std::uint64_t free_bytes, std::uint64_t total_bytes) {
  const std::string room = format_memory_size(free_bytes) + " of " +
                           format_memory_size(total_bytes) + " free at " + path;
  if (free_bytes < least_free_bytes)
    return {Level::fail, "disk",
            room +
                ": new jobs are refused when it is full; remove files there, or gpl get and "
                "forget what jobs left"};
  // Of a large disk a twentieth may be plenty, but it is filling.
  if (free_bytes < total_bytes / 20)
    return {Level::warn, "disk", room + ", under 5 %: make room before it is full"};
  return {Level::ok, "disk", room};
}

Finding check_disk(const std::string& path) {
  const std::string there = nearest_there(path);
  struct statfs system;
  if (::statfs(there.c_str(), &system) != 0)
    return {Level::fail, "disk", "cannot look at " + there + ": " + posix::errno_text(errno)};
  const auto block = static_cast<std::uint64_t>(system.f_bsize);
  return judge_disk(there, system.f_bavail * block, system.f_blocks * block);
}

Finding judge_clock(Instant now) {
  if (now < no_earlier)
    return {Level::fail, "clock",
            "it says " + date_of(now) + ", which is past: set it (timedatectl set-ntp true)"};
  return {Level::ok, "clock", date_of(now)};
}

Finding judge_open_files(std::uint64_t limit) {
  if (limit == std::numeric_limits<std::uint64_t>::max())
    return {Level::ok, "open files", "no limit"};
  const std::string text = "at most " + std::to_string(limit);
  if (limit < fewest_open_files)
    return {Level::warn, "open files",
            text + ", which many jobs and their output use up: ulimit -n 4096 before gpl worker"};
  return {Level::ok, "open files", text};
}

Finding judge_user(const User& user) {
  if (user.uid == 0)
    return {Level::warn, "user",
            "root: jobs run as root, and what they break is the machine's; run gpl worker as a "
            "user of its own"};
  return {Level::ok, "user", user.name};
}

Finding check_lingering(const User& user, const std::string& root) {
  const SystemRoot machine(root);
  if (!machine.is_folder("/run/systemd/system"))
    return {Level::ok, "lingering", "no systemd here: a logout ends nothing"};
  if (user.uid == 0) return {Level::ok, "lingering", "not needed by root"};
  if (machine.exists("/var/lib/systemd/linger/" + user.name))
    return {Level::ok, "lingering", "on: a logout ends nothing"};
  return {Level::warn, "lingering",
          "off: at the last logout of " + user.name +
              " systemd ends its user services with their jobs, and with KillUserProcesses=yes "
              "all else; loginctl enable-linger " +
              user.name};
}

std::vector<Finding> check_set_up(const Folders& folders, bool peer_answers) {
  std::vector<Finding> findings;
  findings.push_back(check_configuration(folders.configuration + "/gpl.toml"));
  findings.push_back(check_key(folders.configuration + "/cluster.key"));
  findings.push_back(check_state_folder(folders.state));
  std::string peer = "one answers on this machine";
  if (!peer_answers && ::access((folders.configuration + "/cluster.key").c_str(), F_OK) == 0) {
    peer =
        "none answers on this machine: gpl run asks the cluster of its key for another one; to "
        "make "
        "this machine a peer of it: gpl worker --join";
  } else if (!peer_answers) {
    peer =
        "none answers on this machine: gpl run runs jobs by itself; to queue them, and for gpl "
        "submit, start gpl worker";
  }
  findings.push_back({Level::ok, "peer", peer});
  return findings;
}

std::vector<Finding> check_process(const User& user, Instant now, const std::string& root) {
  return {judge_clock(now), judge_open_files(open_file_limit()), judge_user(user),
          check_lingering(user, root)};
}

}  // namespace gpl::host
