#include "gpl/peer/output_feed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gpl/host/skipped_output.h"
#include "gpl/posix/error.h"

namespace gpl::peer {
namespace {

using wire::OutputStream;

std::size_t index_of(OutputStream stream) { return static_cast<std::size_t>(stream); }
const char* file_of(OutputStream stream) {
  return stream == OutputStream::out ? "stdout" : "stderr";
}
OutputStream other(OutputStream stream) {
  return stream == OutputStream::out ? OutputStream::err : OutputStream::out;
}

}  // namespace

OutputFeed::OutputFeed(std::string attempt_folder, Fence fence, TaskId task, std::uint64_t out_from,
                       std::uint64_t err_from)
    : path_(std::move(attempt_folder)), fence_(fence), task_(task) {
  streams_[index_of(OutputStream::out)].position = out_from;
  streams_[index_of(OutputStream::err)].position = err_from;
}

void OutputFeed::grew(std::uint64_t out_bytes, std::uint64_t err_bytes, bool ended) {
  Stream& out = streams_[index_of(OutputStream::out)];
  Stream& err = streams_[index_of(OutputStream::err)];
  out.size = std::max(out.size, out_bytes);
  err.size = std::max(err.size, err_bytes);
  ended_ = ended_ || ended;
}

bool OutputFeed::has_more(const Stream& stream) const {
  return stream.position < stream.size || (ended_ && stream.skipped > 0);
}

Result<std::optional<wire::Output>> OutputFeed::next(std::size_t max_bytes) {
  if (max_bytes == 0) return std::optional<wire::Output>();
  for (const OutputStream which : {turn_, other(turn_)}) {
    while (has_more(streams_[index_of(which)])) {
      Result<std::optional<wire::Output>> piece = read(which, max_bytes);
      if (piece.ok() && !piece.value()) continue;
      turn_ = other(which);
      return piece;
    }
  }
  return std::optional<wire::Output>();
}

Result<std::optional<wire::Output>> OutputFeed::read(OutputStream which, std::size_t max_bytes) {
  Stream& stream = streams_[index_of(which)];
  std::string data;
  if (stream.position < stream.size) {
    Result<std::string> bytes = read_file(which, max_bytes);
    if (!bytes.ok()) return std::move(bytes).error();
    data = std::move(bytes).value();
    // After the bytes: what was in a hole while they were read is in this by now.
    const Result<host::SkippedOutput> skipped = host::read_skipped(folder_.get());
    if (!skipped.ok()) return skipped.error();
    if (Status there = check_folder(); !there.ok()) return there.error();
    const host::Stretch& hole = skipped.value().of[index_of(which)];
    if (stream.position >= hole.from && stream.position < hole.to) {
      stream.skipped += hole.to - stream.position;
      stream.position = hole.to;
      return std::optional<wire::Output>();
    }
    if (!hole.empty() && hole.from > stream.position)
      data.resize(static_cast<std::size_t>(
          std::min<std::uint64_t>(data.size(), hole.from - stream.position)));
    if (data.empty()) {
      return Error{Code::io, path_ + "/" + file_of(which) + " ends at byte " +
                                 std::to_string(stream.position) + ", but the job has written " +
                                 std::to_string(stream.size)};
    }
  }
  wire::Output output;
  output.at = {task_, fence_.attempt, which, stream.position};
  output.skipped_bytes = std::exchange(stream.skipped, 0);
  stream.position += data.size();
  output.data = std::move(data);
  return std::optional<wire::Output>(std::move(output));
}

Result<std::string> OutputFeed::read_file(OutputStream which, std::size_t bytes) {
  if (Status opened = open(which); !opened.ok()) return opened.error();
  Stream& stream = streams_[index_of(which)];
  const auto wanted = static_cast<std::size_t>(
      std::min<std::uint64_t>(std::min(bytes, piece_bytes), stream.size - stream.position));
  std::string data(wanted, '\0');
  for (;;) {
    const ssize_t got =
        ::pread(stream.file.get(), data.data(), data.size(), static_cast<off_t>(stream.position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return posix::io_error("cannot read " + path_ + "/" + file_of(which));
    data.resize(static_cast<std::size_t>(got));
    return data;
  }
}

Status OutputFeed::open(OutputStream which) {
  if (!folder_.valid()) {
    folder_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder_.valid()) return posix::io_error("cannot open the attempt's folder " + path_);
  }
  posix::Fd& file = streams_[index_of(which)].file;
  if (file.valid()) return success();
  file.reset(
      ::openat(folder_.get(), file_of(which), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return posix::io_error("cannot open " + path_ + "/" + file_of(which));
  return success();
}

// It is moved away before anything in it is removed: until then `skipped` says what it should.
Status OutputFeed::check_folder() const {
  struct stat named;
  struct stat opened;
  if (::stat(path_.c_str(), &named) == 0 && ::fstat(folder_.get(), &opened) == 0 &&
      named.st_dev == opened.st_dev && named.st_ino == opened.st_ino) {
    return success();
  }
  return Error{Code::not_found, "the output in " + path_ + " has been discarded"};
}

std::uint64_t OutputFeed::position(OutputStream stream) const {
  return streams_[index_of(stream)].position;
}

bool OutputFeed::drained() const {
  return ended_ && !has_more(streams_[0]) && !has_more(streams_[1]);
}

}  // namespace gpl::peer
