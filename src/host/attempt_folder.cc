#include "gpl/host/attempt_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/frame.h"

namespace gpl::host {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t max_small_bytes = 64 * 1024;
constexpr std::size_t max_order_bytes = wire::frame_limit_bytes;
constexpr std::size_t reserve_bytes = 4096;
constexpr const char* discarded_prefix = ".gone-";

std::string name_of(const Fence& attempt) {
  return std::to_string(attempt.epoch) + "." + std::to_string(attempt.attempt.value);
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Fence> fence_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto epoch = number_in(name.substr(0, dot));
  const auto attempt = number_in(name.substr(dot + 1));
  if (!epoch || !attempt) return std::nullopt;
  return Fence{*epoch, AttemptId{*attempt}};
}

bool exists(int folder, const std::string& name) {
  return ::faccessat(folder, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

bool AttemptFolder::try_lock() const { return ::flock(folder_.get(), LOCK_EX | LOCK_NB) == 0; }

Status AttemptFolder::write_order(const to_worker::Start& order) const {
  return posix::replace_file_at(folder_.get(), "order", wire::encode(order));
}

Result<to_worker::Start> AttemptFolder::read_order() const {
  Result<std::string> bytes = posix::read_file_at(folder_.get(), "order", max_order_bytes);
  if (!bytes.ok()) return bytes.error();
  return wire::decode<to_worker::Start>(bytes.value());
}

Status AttemptFolder::write_trace(const AttemptTrace& trace) const {
  Record record;
  record.add("path", trace.temp_folder);
  if (trace.started_at) record.add("started_ms", trace.started_at->since_epoch_ms);
  if (trace.pid > 0) record.add("pid", std::int64_t{trace.pid});
  return posix::replace_file_at(folder_.get(), "temp", record.encode());
}

AttemptTrace AttemptFolder::read_trace() const {
  AttemptTrace trace;
  const Result<std::string> bytes = posix::read_file_at(folder_.get(), "temp", max_small_bytes);
  if (!bytes.ok()) return trace;
  const Result<Record> record = Record::decode(bytes.value());
  if (!record.ok()) return trace;
  trace.temp_folder = record.value().get("path");
  trace.pid = static_cast<std::int32_t>(record.value().number("pid"));
  const std::int64_t started_ms = record.value().number("started_ms");
  if (started_ms > 0) trace.started_at = Instant{started_ms};
  return trace;
}

Status AttemptFolder::reserve_exit() const {
  const posix::Fd file(::openat(folder_.get(), "exit.reserve",
                                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return posix::io_error("cannot make the file 'exit.reserve' of an attempt");
  return posix::write_all(file.get(), std::string(reserve_bytes, '\0'));
}

Status AttemptFolder::write_exit(const EndedAttempt& ended) const {
  const std::string bytes = wire::encode(ended);
  // In what was reserved: where that is missing it is made, if it can be.
  const posix::Fd file(
      ::openat(folder_.get(), "exit.reserve", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return posix::io_error("cannot open the file for an attempt's exit");
  // The name of the attempt's own folder has to last too.
  const posix::Fd above(::openat(folder_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const ssize_t put = ::pwrite(file.get(), bytes.data(), bytes.size(), 0);
  if (put != static_cast<ssize_t>(bytes.size())) {
    return posix::io_error("cannot write an attempt's exit", put < 0 ? errno : ENOSPC);
  }
  if (::ftruncate(file.get(), static_cast<off_t>(bytes.size())) != 0 ||
      ::fdatasync(file.get()) != 0 ||
      ::renameat(folder_.get(), "exit.reserve", folder_.get(), "exit") != 0 ||
      ::fsync(folder_.get()) != 0 || ::fsync(above.get()) != 0) {
    return posix::io_error("cannot keep an attempt's exit");
  }
  return success();
}

Result<std::optional<EndedAttempt>> AttemptFolder::read_exit() const {
  Result<std::string> bytes = posix::read_file_at(folder_.get(), "exit", max_small_bytes);
  if (!bytes.ok()) {
    if (bytes.error().code == Code::not_found) return std::optional<EndedAttempt>();
    return bytes.error();
  }
  Result<EndedAttempt> ended = wire::decode<EndedAttempt>(bytes.value());
  if (!ended.ok()) return std::move(ended).error();
  return std::optional<EndedAttempt>(std::move(ended).value());
}

void AttemptFolder::write_acknowledged() const {
  // Lost at a power failure, the outcome is told again, and acknowledged again.
  posix::Fd(::openat(folder_.get(), "acknowledged", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

bool AttemptFolder::acknowledged() const { return exists(folder_.get(), "acknowledged"); }

std::uint64_t AttemptFolder::output_bytes(const std::string& name) const {
  struct stat status;
  if (::fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

Result<AttemptFolders> AttemptFolders::open(const std::string& state_folder) {
  std::string path = state_folder + "/attempts";
  if (Status made = posix::make_folders(path, 0700); !made.ok()) return made.error();
  Result<posix::Fd> folder = posix::open_folder(path);
  if (!folder.ok()) return std::move(folder).error();
  return AttemptFolders(std::move(path), std::move(folder).value());
}

Result<AttemptFolder> AttemptFolders::make(const Fence& attempt) const {
  const std::string name = name_of(attempt);
  if (exists(folder_.get(), name)) {
    if (const auto moved = discard(attempt); !moved.ok()) return moved.error();
  }
  if (::mkdirat(folder_.get(), name.c_str(), 0700) != 0) {
    return posix::io_error("cannot make the folder " + path_ + "/" + name);
  }
  Result<AttemptFolder> made = open_existing(attempt);
  if (!made.ok()) return made;
  const AttemptFolder& folder = made.value();
  if (!folder.try_lock()) return posix::io_error("cannot lock the folder " + folder.path());
  if (::mkdirat(folder.descriptor(), "work", 0700) != 0) {
    return posix::io_error("cannot make the folder " + folder.work_path());
  }
  if (Status reserved = folder.reserve_exit(); !reserved.ok()) {
    return Error{reserved.error().code, folder.path() + ": " + reserved.error().message};
  }
  return made;
}

Result<AttemptFolder> AttemptFolders::open_existing(const Fence& attempt) const {
  const std::string name = name_of(attempt);
  posix::Fd folder(::openat(folder_.get(), name.c_str(), folder_flags));
  if (!folder.valid()) return posix::io_error("cannot open the folder " + path_ + "/" + name);
  return AttemptFolder(path_ + "/" + name, std::move(folder));
}

Result<std::vector<Fence>> AttemptFolders::list() const {
  Result<std::vector<std::string>> names = posix::names_in(folder_.get());
  if (!names.ok()) return std::move(names).error();
  std::vector<Fence> fences;
  for (const std::string& name : names.value()) {
    if (const std::optional<Fence> fence = fence_of(name)) fences.push_back(*fence);
  }
  std::sort(fences.begin(), fences.end());
  return fences;
}

Result<std::string> AttemptFolders::discard(const Fence& attempt) const {
  const std::string name = name_of(attempt);
  for (int count = 0; count < 1000; ++count) {
    const std::string gone = discarded_prefix + name + "-" + std::to_string(count);
    if (exists(folder_.get(), gone)) continue;
    if (::renameat(folder_.get(), name.c_str(), folder_.get(), gone.c_str()) == 0) return gone;
    break;
  }
  if (errno == ENOENT) return std::string();
  return posix::io_error("cannot discard " + path_ + "/" + name);
}

std::vector<std::string> AttemptFolders::leftovers() const {
  std::vector<std::string> left;
  Result<std::vector<std::string>> names = posix::names_in(folder_.get());
  if (!names.ok()) return left;
  for (std::string& name : names.value()) {
    if (name.starts_with(discarded_prefix)) left.push_back(std::move(name));
  }
  return left;
}

}  // namespace gpl::host
