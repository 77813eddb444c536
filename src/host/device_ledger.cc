#include "gpl/host/device_ledger.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "gpl/host/record.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_record_bytes = 4096;
constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

Result<posix::Fd> open_shared_folder(int at, const std::string& name) {
  posix::Fd fd(::openat(at, name.c_str(), folder_flags));
  if (!fd.valid()) return posix::io_error("cannot open " + name);
  struct stat status;
  if (::fstat(fd.get(), &status) != 0 || (status.st_mode & 07777U) != 01777U) {
    return Error{Code::denied, name + " is not a folder of mode 1777"};
  }
  return fd;
}

// Fails with EEXIST where another process was faster. Some file systems cannot rename so; there an
// empty folder may be replaced, in the instant in which both first use this machine.
bool name_folder(int at, const std::string& hidden, const std::string& name) {
  if (::renameat2(at, hidden.c_str(), at, name.c_str(), RENAME_NOREPLACE) == 0) return true;
  return (errno == EINVAL || errno == ENOSYS) &&
         ::renameat(at, hidden.c_str(), at, name.c_str()) == 0;
}

// A folder that every user may add files to, and none may take another's away. It gets its name
// when it has its mode: nobody may find it half made.
Result<posix::Fd> make_shared_folder(int at, const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const std::string hidden =
      name.substr(0, begin) + ".new-" + name.substr(begin) + "-" + std::to_string(::getpid());
  ::unlinkat(at, hidden.c_str(), AT_REMOVEDIR);
  if (::mkdirat(at, hidden.c_str(), 0700) != 0) return posix::io_error("cannot make " + name);
  const posix::Fd made(::openat(at, hidden.c_str(), folder_flags));
  if (!made.valid() || ::fchmod(made.get(), 01777) != 0 || !name_folder(at, hidden, name)) {
    const int why = errno;
    ::unlinkat(at, hidden.c_str(), AT_REMOVEDIR);
    if (why != EEXIST) return posix::io_error("cannot make " + name, why);
  }
  return open_shared_folder(at, name);
}

bool exists(int at, const std::string& name) {
  struct stat status;
  return ::fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string folder_name(const Accelerator& device) {
  std::string name = device.uuid.empty() ? device.id : device.uuid;
  std::replace(name.begin(), name.end(), '/', '-');
  return name + ".d";
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int listing = ::openat(folder, ".", folder_flags);
  const std::unique_ptr<DIR, CloseDir> dir(listing >= 0 ? ::fdopendir(listing) : nullptr);
  if (dir == nullptr) return names;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<Instant> instant_of(const Record& record, std::string_view key) {
  const std::int64_t ms = record.number(key);
  return ms > 0 ? std::optional<Instant>(Instant{ms}) : std::nullopt;
}

// Another user may have written it: one short line, whatever it is.
std::string holder_of(const Record& record) {
  constexpr std::size_t longest = 120;
  std::string holder(record.get("holder").substr(0, longest));
  for (char& c : holder) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) c = '?';
  }
  return holder.empty() ? "another process" : holder;
}

// From the locked file itself: its name may be another's by now.
std::string read_record(int file) {
  std::string bytes(max_record_bytes, '\0');
  const ssize_t got = ::pread(file, bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// Nothing for a file that nobody has locked, and for what is no file.
std::optional<DeviceHold> read_hold(int folder, const std::string& name,
                                    const Accelerator& device) {
  // Never O_CREAT: the kernel refuses it on another user's file here (fs.protected_regular).
  const posix::Fd file(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) {
    ::unlinkat(folder, name.c_str(), 0);  // works for who may: its owner, root
    return std::nullopt;
  }
  // What cannot be read is a hold of the whole device all the same: somebody has it locked.
  const Result<Record> record = Record::decode(read_record(file.get()));
  DeviceHold hold;
  hold.kind = device.kind;
  hold.index = device.index;
  hold.holder = "another process";
  if (!record.ok() || record.value().get("holder").empty()) return hold;
  hold.slice = record.value().get("slice");
  hold.holder = holder_of(record.value());
  hold.since = instant_of(record.value(), "since_ms");
  hold.ends_by = instant_of(record.value(), "ends_by_ms");
  const std::int64_t shared = record.value().number("shared_memory_bytes");
  if (shared > 0) hold.shared_memory_bytes = static_cast<std::uint64_t>(shared);
  return hold;
}

std::string encode(const DeviceHold& hold) {
  Record record;
  record.add("holder", hold.holder);
  record.add("slice", hold.slice);
  if (hold.since) record.add("since_ms", hold.since->since_epoch_ms);
  if (hold.ends_by) record.add("ends_by_ms", hold.ends_by->since_epoch_ms);
  if (hold.shared_memory_bytes) {
    record.add("shared_memory_bytes", static_cast<std::int64_t>(*hold.shared_memory_bytes));
  }
  return record.encode();
}

// Locked before it gets its name: a file that can be seen unlocked is taken for a leftover.
Result<posix::Fd> write_hold(int folder, const DeviceHold& hold) {
  static int made = 0;
  // Not a name that an earlier process of this number can have left.
  const std::int64_t since_ms = hold.since ? hold.since->since_epoch_ms : 0;
  const std::string name =
      std::to_string(::getpid()) + "-" + std::to_string(since_ms) + "-" + std::to_string(++made);
  const std::string hidden = ".new-" + name;
  ::unlinkat(folder, hidden.c_str(), 0);
  posix::Fd file(
      ::openat(folder, hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid()) return posix::io_error("cannot make the lock file of a device");
  if (::fchmod(file.get(), 0644) != 0 || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return posix::io_error("cannot lock the lock file of a device");
  }
  if (Status written = posix::write_all(file.get(), encode(hold)); !written.ok()) {
    ::unlinkat(folder, hidden.c_str(), 0);
    return Error{written.error().code, "the lock file of a device: " + written.error().message};
  }
  if (::renameat(folder, hidden.c_str(), folder, name.c_str()) != 0) {
    return posix::io_error("cannot name the lock file of a device");
  }
  return file;
}

}  // namespace

Result<DeviceLedger> DeviceLedger::open(const std::vector<std::string>& lock_folders) {
  std::string why;
  // One that is there goes before one that could be made: root may make what another user could
  // not, and both have to look into the same.
  for (const bool make : {false, true}) {
    for (const std::string& folder : lock_folders) {
      std::string path = folder + "/gpl-devices";
      if (exists(AT_FDCWD, path) == make) continue;
      Result<posix::Fd> base =
          make ? make_shared_folder(AT_FDCWD, path) : open_shared_folder(AT_FDCWD, path);
      if (base.ok()) return DeviceLedger(std::move(path), std::move(base).value());
      why += (why.empty() ? "" : "; ") + base.error().message;
    }
  }
  return Error{Code::denied, "cannot keep account of who holds which device: " + why};
}

Result<posix::Fd> DeviceLedger::begin_placing() const {
  posix::Fd fd(::openat(base_.get(), ".", folder_flags));
  if (!fd.valid()) return posix::io_error("cannot open " + path_);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno == EWOULDBLOCK) return Error{Code::busy, "another process is placing a job"};
  return posix::io_error("cannot lock " + path_);
}

Result<posix::Fd> DeviceLedger::open_device(const Accelerator& device, bool make) const {
  const std::string name = folder_name(device);
  const bool there = exists(base_.get(), name);
  return there || !make ? open_shared_folder(base_.get(), name)
                        : make_shared_folder(base_.get(), name);
}

std::vector<DeviceHold> DeviceLedger::holds(const std::vector<Accelerator>& devices) const {
  std::vector<DeviceHold> held;
  for (const Accelerator& device : devices) {
    const Result<posix::Fd> folder = open_device(device, false);
    if (!folder.ok()) continue;  // never held yet
    for (const std::string& name : names_in(folder.value().get())) {
      if (std::optional<DeviceHold> hold = read_hold(folder.value().get(), name, device)) {
        held.push_back(std::move(*hold));
      }
    }
  }
  return held;
}

Result<std::vector<posix::Fd>> DeviceLedger::take(const Placement& placement,
                                                  const std::vector<Accelerator>& devices,
                                                  const DeviceHold& who) const {
  std::vector<posix::Fd> locks;
  for (const DeviceChoice& choice : placement.devices) {
    const auto device = std::find_if(devices.begin(), devices.end(), [&](const Accelerator& each) {
      return each.kind == choice.kind && each.index == choice.index;
    });
    if (device == devices.end()) return Error{Code::invalid, "a placement names no such device"};
    Result<posix::Fd> folder = open_device(*device, true);
    if (!folder.ok()) return std::move(folder).error();
    DeviceHold hold = who;
    hold.slice = choice.slice;
    hold.shared_memory_bytes = placement.shared_memory_bytes;
    Result<posix::Fd> lock = write_hold(folder.value().get(), hold);
    if (!lock.ok()) return std::move(lock).error();
    locks.push_back(std::move(lock).value());
  }
  return locks;
}

}  // namespace gpl::host
