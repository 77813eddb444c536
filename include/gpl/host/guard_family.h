#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace gpl::host {

/// The children of a process that has several guards. Whatever below it is neither a child that was
/// added nor below one was left by a guard that was killed: the process is their subreaper.
class GuardFamily {
 public:
  /// A child that was forked; a later one may get its pid.
  struct Child {
    pid_t pid = -1;
    std::uint64_t serial = 0;
  };
  Child add(pid_t pid);
  /// Until `reap` has waited for it.
  bool has(const Child& child) const;

  /// Waits for all children that have ended, whoever started them; whether there was one.
  bool reap();

  /// What killed guards have left and still lives. Requires that what has ended was reaped a moment
  /// before.
  std::vector<pid_t> orphans() const;

  /// As many descriptors as the system allows: a guard's attempt is given back what it was.
  void raise_open_files();
  /// In a forked child.
  void restore_open_files() const;

 private:
  std::map<pid_t, std::uint64_t> known_;  ///< serials
  std::uint64_t last_serial_ = 0;
  std::optional<rlimit> open_files_before_;
};

}  // namespace gpl::host
