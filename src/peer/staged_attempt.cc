#include "gpl/peer/staged_attempt.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "gpl/artifact/digest.h"
#include "gpl/artifact/made_files.h"
#include "gpl/host/record.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"
#include "gpl/posix/tree.h"

namespace gpl::peer {
namespace {

constexpr std::size_t max_record_bytes = 64 * 1024;
constexpr std::string_view no_tree = "none";

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// A record that cannot be read is an empty one.
Result<std::optional<host::Record>> read_record(int folder, const char* name) {
  const Result<std::string> bytes = posix::read_file_at(folder, name, max_record_bytes);
  if (!bytes.ok()) {
    if (bytes.error().code == Code::not_found) return std::optional<host::Record>();
    return bytes.error();
  }
  Result<host::Record> record = host::Record::decode(bytes.value());
  return std::optional<host::Record>(record.ok() ? std::move(record).value() : host::Record());
}

host::Record record_of(JobId job, TaskId task) {
  host::Record record;
  record.add("job", std::to_string(job.value));
  record.add("task", std::to_string(task.value));
  return record;
}

bool read_ids(const host::Record& record, JobId& job, TaskId& task) {
  return read_number(record.get("job"), job.value) && read_number(record.get("task"), task.value);
}

wire::ResultFile result_file(const artifact::Entry& entry, TaskId task) {
  wire::ResultFile file;
  file.task = task;
  file.path = entry.path;
  file.size_bytes = entry.size_bytes;
  file.mode = entry.mode;
  file.mtime_ns = entry.mtime_ns;
  file.is_link = entry.type == artifact::EntryType::symlink;
  file.is_folder = entry.type == artifact::EntryType::directory;
  return file;
}

}  // namespace

std::string StagedAttempt::name_of(const Fence& fence) {
  return std::to_string(fence.epoch) + "." + std::to_string(fence.attempt.value);
}

std::optional<Fence> StagedAttempt::fence_of(const std::string& name) {
  Fence fence;
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos ||
      !read_number(std::string_view(name).substr(0, dot), fence.epoch) ||
      !read_number(std::string_view(name).substr(dot + 1), fence.attempt.value) ||
      name_of(fence) != name) {
    return std::nullopt;
  }
  return fence;
}

Result<StagedAttempt> StagedAttempt::open(const std::string& attempts_folder, const Fence& fence) {
  std::string path = attempts_folder + "/" + name_of(fence);
  posix::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return posix::io_error("cannot open the attempt's folder " + path);
  return StagedAttempt(std::move(path), std::move(folder));
}

Status StagedAttempt::write_staged(JobId job, TaskId task, const ContentId& tree) const {
  host::Record record = record_of(job, task);
  const std::optional<artifact::Digest> id = artifact::Digest::from_bytes(tree);
  record.add("tree", id ? id->hex() : std::string(no_tree));
  return posix::replace_file_at(folder_.get(), "staged", record.encode());
}

Result<std::optional<StagedMark>> StagedAttempt::staged() const {
  const Result<std::optional<host::Record>> record = read_record(folder_.get(), "staged");
  if (!record.ok()) return record.error();
  if (!record.value()) return std::optional<StagedMark>();
  struct stat status;
  if (::fstatat(folder_.get(), "staged", &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return posix::io_error("cannot look at " + path_ + "/staged");
  }
  StagedMark mark;
  const std::string_view tree = record.value()->get("tree");
  if (tree == no_tree) mark.tree = ContentId();
  if (const auto id = artifact::Digest::from_hex(tree)) mark.tree = ContentId(id->bytes());
  mark.changed_ns = posix::to_ns(status.st_ctim);
  return std::optional<StagedMark>(std::move(mark));
}

Status StagedAttempt::write_collected(const CollectedMark& mark) const {
  host::Record record = record_of(mark.job, mark.task);
  record.add("at_ms", mark.at.since_epoch_ms);
  return posix::replace_file_at(folder_.get(), "collected", record.encode());
}

Result<std::optional<CollectedMark>> StagedAttempt::collected() const {
  const Result<std::optional<host::Record>> record = read_record(folder_.get(), "collected");
  if (!record.ok()) return record.error();
  if (!record.value()) return std::optional<CollectedMark>();
  CollectedMark mark;
  if (!read_ids(*record.value(), mark.job, mark.task)) return std::optional<CollectedMark>();
  mark.at = Instant{record.value()->number("at_ms")};
  return std::optional<CollectedMark>(mark);
}

Result<std::vector<wire::ResultFile>> StagedAttempt::files(TaskId task) const {
  std::vector<wire::ResultFile> files;
  if (::faccessat(folder_.get(), "files", F_OK, AT_SYMLINK_NOFOLLOW) != 0) return files;
  const Result<std::vector<artifact::Entry>> entries =
      artifact::made_files(files_path(), {0, nullptr});
  if (!entries.ok()) return entries.error();
  files.reserve(entries.value().size());
  for (const artifact::Entry& entry : entries.value()) files.push_back(result_file(entry, task));
  return files;
}

Status StagedAttempt::make_files() const {
  if (::mkdirat(folder_.get(), "files", 0700) == 0 || errno == EEXIST) return success();
  return posix::io_error("cannot make the folder " + files_path());
}

bool StagedAttempt::has_work() const {
  return ::faccessat(folder_.get(), "work", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Status StagedAttempt::empty_work() const {
  const Result<posix::Fd> work = posix::open_folder(work_path());
  if (!work.ok()) return work.error();
  const Result<std::vector<std::string>> names = posix::names_in(work.value().get());
  if (!names.ok()) return names.error();
  for (const std::string& name : names.value()) {
    Status removed = posix::remove_tree_at(work.value().get(), name);
    if (!removed.ok()) return removed;
  }
  return success();
}

Status StagedAttempt::remove_work() const { return posix::remove_tree_at(folder_.get(), "work"); }

}  // namespace gpl::peer
