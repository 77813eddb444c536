#include "gpl/host/skipped_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "gpl/host/record.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_bytes = 1024;
constexpr const char* keys[2][2] = {{"stdout_from", "stdout_to"}, {"stderr_from", "stderr_to"}};

// Always as many digits, so that a later text covers an earlier one.
std::string digits(std::uint64_t number) {
  const std::string text = std::to_string(number);
  return std::string(20 - text.size(), '0') + text;
}

std::string encode(const SkippedOutput& skipped) {
  Record record;
  for (std::size_t i = 0; i < skipped.of.size(); ++i) {
    record.add(keys[i][0], digits(skipped.of[i].from));
    record.add(keys[i][1], digits(skipped.of[i].to));
  }
  return record.encode();
}

}  // namespace

Result<SkippedOutput> read_skipped(int attempt_folder) {
  Result<std::string> bytes = posix::read_file_at(attempt_folder, "skipped", max_bytes);
  // One that is being written over is seen half old, half new: twice the same is a whole one.
  for (bool same = false; bytes.ok() && !same;) {
    Result<std::string> again = posix::read_file_at(attempt_folder, "skipped", max_bytes);
    same = again.ok() && again.value() == bytes.value();
    bytes = std::move(again);
  }
  if (!bytes.ok()) {
    if (bytes.error().code == Code::not_found) return SkippedOutput{};
    return bytes.error();
  }
  const Result<Record> record = Record::decode(bytes.value());
  if (!record.ok()) return record.error();
  SkippedOutput skipped;
  for (std::size_t i = 0; i < skipped.of.size(); ++i) {
    const std::int64_t from = record.value().number(keys[i][0], -1);
    const std::int64_t to = record.value().number(keys[i][1], -1);
    if (from < 0 || to < from) return Error{Code::invalid, "skipped: no stretch of output"};
    skipped.of[i] = {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)};
  }
  return skipped;
}

Result<posix::Fd> make_skipped(int attempt_folder) {
  posix::Fd file(::openat(attempt_folder, "skipped",
                          O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return posix::io_error("cannot make the file 'skipped' of an attempt");
  if (Status written = write_skipped(file.get(), {}); !written.ok()) return written.error();
  return file;
}

Status write_skipped(int file, const SkippedOutput& skipped) {
  const std::string bytes = encode(skipped);
  const ssize_t put = ::pwrite(file, bytes.data(), bytes.size(), 0);
  if (put == static_cast<ssize_t>(bytes.size())) return success();
  return posix::io_error("cannot write the file 'skipped' of an attempt", put < 0 ? errno : ENOSPC);
}

}  // namespace gpl::host
