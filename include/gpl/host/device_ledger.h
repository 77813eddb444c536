#pragma once

#include <string>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/core/fit.h"
#include "gpl/core/peer_view.h"
#include "gpl/core/result.h"
#include "gpl/posix/fd.h"

namespace gpl::host {

/// Who holds devices, for everyone on this machine, embedded or not: no two placers give the same
/// GPU away.
///
/// Each hold is a file of its own in BASE/DEVICE.d with who holds what, and it counts while
/// somebody has it locked (flock): the attempt's guard, until its last process is gone. A file that
/// nobody has locked is what a crash has left, and means nothing. BASE is /run/lock/gpl-devices, or
/// the same under /tmp where that cannot be made; its folders are open to all users and sticky.
class DeviceLedger {
 public:
  /// `lock_folders`: where BASE is looked for; where none is yet it is made in the first that
  /// works. Code::denied when that is none, or what is there is no folder of mode 1777.
  static Result<DeviceLedger> open(const std::vector<std::string>& lock_folders = {"/run/lock",
                                                                                   "/tmp"});

  /// While this is alive nobody else places. Code::busy when another process is at it.
  Result<posix::Fd> begin_placing() const;

  /// What is held of `devices`, by whomever.
  std::vector<DeviceHold> holds(const std::vector<Accelerator>& devices) const;

  /// Takes what `placement` says: one locked descriptor a device, to be given to the guard. Call
  /// between begin_placing and its end. `who` fills the hold's words: holder, since, ends_by.
  Result<std::vector<posix::Fd>> take(const Placement& placement,
                                      const std::vector<Accelerator>& devices,
                                      const DeviceHold& who) const;

 private:
  DeviceLedger(std::string path, posix::Fd base) : path_(std::move(path)), base_(std::move(base)) {}
  Result<posix::Fd> open_device(const Accelerator& device, bool make) const;

  std::string path_;
  posix::Fd base_;
};

}  // namespace gpl::host
