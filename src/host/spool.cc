#include "gpl/host/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/tree.h"

namespace gpl::host {
namespace {

// argv and environment are at most 6 MiB on Linux (execve(2)); a spec is hardly more.
constexpr std::size_t max_record_bytes = 16U << 20;

Result<Record> read_record(int folder, const std::string& name) {
  Result<std::string> bytes = posix::read_file_at(folder, name, max_record_bytes);
  if (!bytes.ok()) return std::move(bytes).error();
  return Record::decode(bytes.value());
}

Error in_folder(const std::string& path, const Error& error) {
  return Error{error.code, path + ": " + error.message};
}

}  // namespace

Status Spool::write_spec(const Record& spec) {
  Status written = posix::replace_file_at(folder_.get(), "spec", spec.encode());
  return written.ok() ? std::move(written) : in_folder(path_, written.error());
}

Result<Record> Spool::read_spec() const {
  Result<Record> spec = read_record(folder_.get(), "spec");
  return spec.ok() ? std::move(spec) : in_folder(path_, std::move(spec).error());
}

Result<posix::Fd> Spool::open_output(Stream stream) const {
  const char* name = stream == Stream::out ? "stdout" : "stderr";
  posix::Fd fd(
      ::openat(folder_.get(), name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return posix::io_error("cannot create " + path_ + "/" + name);
  return fd;
}

Status Spool::write_exit(const Record& exit, posix::Durability durability) {
  Status written = posix::replace_file_at(folder_.get(), "exit", exit.encode(), durability);
  return written.ok() ? std::move(written) : in_folder(path_, written.error());
}

Result<std::optional<Record>> Spool::read_exit() const {
  Result<Record> exit = read_record(folder_.get(), "exit");
  if (exit.ok()) return std::optional<Record>(std::move(exit).value());
  if (exit.error().code == Code::not_found) return std::optional<Record>();
  return in_folder(path_, exit.error());
}

Result<std::int64_t> Spool::spec_changed_ns() const {
  struct stat status;
  if (::fstatat(folder_.get(), "spec", &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return posix::io_error("cannot read " + path_ + "/spec");
  }
  return posix::to_ns(status.st_ctim);
}

Status Spool::remove() { return posix::remove_tree_at(above_, std::to_string(job_.value)); }

}  // namespace gpl::host
