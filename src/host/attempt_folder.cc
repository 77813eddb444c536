#include "gpl/host/attempt_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "gpl/host/keeper_journal.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/frame.h"

namespace gpl::host {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t max_order_bytes = wire::frame_limit_bytes + std::size_t{64} * 1024;
constexpr std::size_t most_spares = 16;
constexpr off_t most_bytes_again = off_t{1} * 1024 * 1024;  // more takes time to be let go of
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

std::string encode(const AttemptTrace& trace) {
  Record record;
  record.add("path", trace.temp_folder);
  if (trace.started_at) record.add("started_ms", trace.started_at->since_epoch_ms);
  if (trace.pid > 0) record.add("pid", std::int64_t{trace.pid});
  return record.encode();
}

AttemptTrace trace_of(std::string_view bytes) {
  AttemptTrace trace;
  const Result<Record> record = Record::decode(bytes);
  if (!record.ok()) return trace;
  trace.temp_folder = record.value().get("path");
  trace.pid = static_cast<std::int32_t>(record.value().number("pid"));
  const std::int64_t started_ms = record.value().number("started_ms");
  if (started_ms > 0) trace.started_at = Instant{started_ms};
  return trace;
}

bool exists(int folder, const std::string& name) {
  return ::faccessat(folder, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/// Makes a file empty, if it is one of ours alone and that takes no time.
bool empty_file(int folder, const std::string& name) {
  struct stat status;
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || status.st_size > most_bytes_again)
    return false;
  if (status.st_size == 0) return true;
  const posix::Fd file(
      ::openat(folder, name.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file.valid();
}

bool is_empty_folder(int above, const std::string& name) {
  const posix::Fd folder(::openat(above, name.c_str(), folder_flags));
  struct stat status;
  if (!folder.valid() || ::fstat(folder.get(), &status) != 0) return false;
  if ((status.st_mode & 07777U) != 0700 || status.st_uid != ::geteuid()) return false;
  const Result<std::vector<std::string>> names = posix::names_in(folder.get());
  return names.ok() && names.value().empty();
}

/// Makes what an attempt has left as it was before. False where there is more in it.
bool is_as_new(int folder) {
  const Result<std::vector<std::string>> names = posix::names_in(folder);
  if (!names.ok()) return false;
  bool has_work = false;
  for (const std::string& name : names.value()) {
    if (name == "work") {
      has_work = true;
    } else if (name != "order" && name != "stdout" && name != "stderr" && name != "skipped") {
      return false;
    }
  }
  for (const std::string& name : names.value())
    if (name != "work" && !empty_file(folder, name)) return false;
  return has_work ? is_empty_folder(folder, "work") : ::mkdirat(folder, "work", 0700) == 0;
}

}  // namespace

bool AttemptFolder::try_lock() const { return ::flock(folder_.get(), LOCK_EX | LOCK_NB) == 0; }

Status AttemptFolder::write_order(const to_worker::Start& order, const AttemptTrace& trace) {
  order_.reset(::openat(folder_.get(), "order",
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!order_.valid()) return posix::io_error("cannot make the file 'order' of an attempt");
  std::string frames;
  order_checksum_ = append_frame(frames, wire::encode(order), 0);
  order_checksum_ = append_frame(frames, encode(trace), order_checksum_);
  return posix::write_all(order_.get(), frames);
}

Status AttemptFolder::write_trace(const AttemptTrace& trace) {
  std::string frame;
  order_checksum_ = append_frame(frame, encode(trace), order_checksum_);
  return posix::write_all(order_.get(), frame);
}

Result<to_worker::Start> AttemptFolder::read_order() const {
  const Result<std::string> bytes = posix::read_file_at(folder_.get(), "order", max_order_bytes);
  if (!bytes.ok()) return bytes.error();
  const std::optional<Frame> frame = read_frame(bytes.value(), 0);
  if (!frame) return Error{Code::invalid, path_ + "/order is not whole"};
  return wire::decode<to_worker::Start>(frame->payload);
}

AttemptTrace AttemptFolder::read_trace() const {
  const Result<std::string> bytes = posix::read_file_at(folder_.get(), "order", max_order_bytes);
  if (!bytes.ok()) return {};
  std::string_view last;
  std::string_view rest = bytes.value();
  std::uint64_t checksum = 0;
  for (bool first = true; const auto frame = read_frame(rest, checksum); first = false) {
    if (!first) last = frame->payload;
    checksum = frame->checksum;
    rest.remove_prefix(frame->bytes);
  }
  return trace_of(last);
}

Status AttemptFolder::sync_names() const {
  return ::fsync(folder_.get()) == 0 ? success() : posix::io_error("cannot sync " + path_);
}

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

Result<AttemptFolder> AttemptFolders::make(const Fence& attempt) {
  const std::string name = name_of(attempt);
  if (exists(folder_.get(), name)) {
    if (const auto moved = discard(attempt); !moved.ok()) return moved.error();
  }
  if (spares_.empty()) return make_new(name);
  AttemptFolder spare = std::move(spares_.back());
  spares_.pop_back();
  const std::string from = spare.path_.substr(path_.size() + 1);
  if (::renameat(folder_.get(), from.c_str(), folder_.get(), name.c_str()) != 0)
    return posix::io_error("cannot make the folder " + path_ + "/" + name);
  spare.path_ = path_ + "/" + name;
  return spare;
}

Result<AttemptFolder> AttemptFolders::make_new(const std::string& name) const {
  if (::mkdirat(folder_.get(), name.c_str(), 0700) != 0) {
    return posix::io_error("cannot make the folder " + path_ + "/" + name);
  }
  posix::Fd opened(::openat(folder_.get(), name.c_str(), folder_flags));
  if (!opened.valid()) return posix::io_error("cannot open the folder " + path_ + "/" + name);
  AttemptFolder folder(path_ + "/" + name, std::move(opened));
  if (!folder.try_lock()) return posix::io_error("cannot lock the folder " + folder.path());
  if (::mkdirat(folder.descriptor(), "work", 0700) != 0) {
    return posix::io_error("cannot make the folder " + folder.work_path());
  }
  return folder;
}

void AttemptFolders::make_ahead() {
  if (!spares_.empty()) return;
  Result<AttemptFolder> made = make_new(next_discarded("ahead"));
  if (!made.ok()) return;
  for (const char* name : {"order", "stdout", "stderr", "skipped"})
    posix::Fd(::openat(made.value().descriptor(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  spares_.push_back(std::move(made).value());
}

bool AttemptFolders::use_again(const std::string& discarded) {
  if (spares_.size() >= most_spares) return false;
  posix::Fd opened(::openat(folder_.get(), discarded.c_str(), folder_flags));
  if (!opened.valid()) return false;
  AttemptFolder folder(path_ + "/" + discarded, std::move(opened));
  if (!folder.try_lock() || !is_as_new(folder.descriptor())) return false;
  spares_.push_back(std::move(folder));
  return true;
}

Status AttemptFolders::sync_names() const {
  return ::fsync(folder_.get()) == 0 ? success() : posix::io_error("cannot sync " + path_);
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
  const std::string gone = next_discarded(name);
  if (::renameat(folder_.get(), name.c_str(), folder_.get(), gone.c_str()) == 0) return gone;
  if (errno == ENOENT) return std::string();
  return posix::io_error("cannot discard " + path_ + "/" + name);
}

std::string AttemptFolders::next_discarded(const std::string& name) const {
  for (int count = 0;; ++count) {
    std::string gone = discarded_prefix + name + "-" + std::to_string(count);
    if (!exists(folder_.get(), gone)) return gone;
  }
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
