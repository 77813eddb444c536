#include "gpl/host/kept_output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

constexpr std::size_t chunk_bytes = 64 * 1024;
constexpr Duration retry_every = milliseconds(200);

Result<posix::Fd> open_file(int folder, const char* name, int how) {
  posix::Fd file(::openat(folder, name, O_RDWR | how | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return posix::io_error(std::string("cannot make the file '") + name + "' of an attempt");
  }
  return file;
}

void make_non_blocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

}  // namespace

Result<KeptOutput> KeptOutput::make(int attempt_folder, std::uint64_t cap_bytes) {
  assert(cap_bytes >= chunk_bytes);
  KeptOutput output;
  output.cap_bytes_ = cap_bytes;
  Result<posix::Fd> out = open_file(attempt_folder, "stdout", O_CREAT | O_TRUNC);
  if (!out.ok()) return std::move(out).error();
  Result<posix::Fd> err = open_file(attempt_folder, "stderr", O_CREAT | O_TRUNC);
  if (!err.ok()) return std::move(err).error();
  Result<posix::Fd> skipped = make_skipped(attempt_folder);
  if (!skipped.ok()) return std::move(skipped).error();
  output.of(Stream::out).file = std::move(out).value();
  output.of(Stream::err).file = std::move(err).value();
  output.skipped_file_ = std::move(skipped).value();
  return output;
}

Result<KeptOutput> KeptOutput::go_on(int folder, std::uint64_t cap_bytes) {
  assert(cap_bytes >= chunk_bytes);
  KeptOutput output;
  output.cap_bytes_ = cap_bytes;
  Result<SkippedOutput> skipped = read_skipped(folder);
  if (!skipped.ok()) return std::move(skipped).error();
  output.skipped_ = skipped.value();
  Result<posix::Fd> record = open_file(folder, "skipped", O_CREAT);
  if (!record.ok()) return std::move(record).error();
  output.skipped_file_ = std::move(record).value();
  if (Status said = write_skipped(output.skipped_file_.get(), output.skipped_); !said.ok())
    return std::move(said).error();
  for (const Stream stream : streams) {
    Kept& kept = output.of(stream);
    Result<posix::Fd> file =
        open_file(folder, stream == Stream::out ? "stdout" : "stderr", O_CREAT);
    if (!file.ok()) return std::move(file).error();
    kept.file = std::move(file).value();
    struct stat found;
    if (::fstat(kept.file.get(), &found) != 0) return posix::io_error("cannot look at an output");
    kept.written = std::max(static_cast<std::uint64_t>(found.st_size), output.hole(stream).to);
  }
  output.find_heads();
  return output;
}

/// Of what is there already: where the heads ended is not kept, only that they are half the cap.
void KeptOutput::find_heads() {
  const bool any_hole = !hole(Stream::out).empty() || !hole(Stream::err).empty();
  head_whole_ = any_hole || written() >= cap_bytes_ / 2;
  if (!head_whole_) return;
  std::uint64_t left = cap_bytes_ / 2;
  for (const Stream stream : streams) {
    const std::uint64_t head = hole(stream).empty() ? of(stream).written : hole(stream).from;
    of(stream).head_end = std::min(head, left);
    left -= of(stream).head_end;
  }
}

void KeptOutput::attach(posix::Fd out, posix::Fd err) {
  make_non_blocking(out.get());
  make_non_blocking(err.get());
  of(Stream::out).pipe = std::move(out);
  of(Stream::err).pipe = std::move(err);
}

void KeptOutput::follow(bool on, std::uint64_t out_bytes, std::uint64_t err_bytes) {
  followed_ = on;
  if (retry_at_) retry_at_ = Moment{};  // there may be something to give up now
  of(Stream::out).delivered = std::min(out_bytes, bytes(Stream::out));
  of(Stream::err).delivered = std::min(err_bytes, bytes(Stream::err));
}

int KeptOutput::wanted(Stream stream) {
  const Kept& kept = of(stream);
  if (!kept.pipe.valid() || !kept.pending.empty()) return -1;
  return room() > 0 ? kept.pipe.get() : -1;
}

void KeptOutput::read(Stream stream, Moment now) {
  char chunk[chunk_bytes];
  const std::size_t most = std::min<std::uint64_t>(room(), chunk_bytes);
  if (most == 0) return;
  const ssize_t got = ::read(of(stream).pipe.get(), chunk, most);
  if (got > 0) {
    take(stream, {chunk, static_cast<std::size_t>(got)}, now);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    of(stream).pipe.reset();
  }
}

void KeptOutput::retry(Moment now) {
  if (!retry_at_ || now < *retry_at_) return;
  retry_at_.reset();
  for (const Stream stream : streams) {
    const std::string pending = std::exchange(of(stream).pending, {});
    if (!pending.empty()) take(stream, pending, now);
  }
}

std::size_t KeptOutput::put(Stream stream, std::string_view bytes, Moment now) {
  const std::size_t all = bytes.size();
  if (retry_at_ && now < *retry_at_) return 0;
  retry_at_.reset();
  while (!bytes.empty() && !retry_at_) {
    const std::size_t most = std::min<std::uint64_t>(room(), bytes.size());
    if (most == 0) break;
    take(stream, bytes.substr(0, most), now);
    const std::string untaken = std::exchange(of(stream).pending, {});
    bytes.remove_prefix(most - untaken.size());
  }
  return all - bytes.size();
}

void KeptOutput::pass_over(Stream stream, std::uint64_t bytes) {
  if (bytes == 0) return;
  // What comes after it is no head any more.
  if (!std::exchange(head_whole_, true)) {
    for (const Stream each : streams) of(each).head_end = of(each).written;
  }
  const std::uint64_t from = tail_begin(stream);
  const std::uint64_t to = of(stream).written;
  lose(stream, bytes);
  if (from < to) (void)punch(of(stream), from, to);
}

bool KeptOutput::finish(Moment now, bool give_up) {
  if (give_up) followed_ = false;
  if (retry_at_ && give_up) retry_at_ = now;
  retry(now);
  bool done = true;
  for (const Stream stream : streams) {
    Kept& kept = of(stream);
    // What it holds by now: a process that the kernel could not end may write on for ever.
    int held = 0;
    if (kept.pipe.valid() && ::ioctl(kept.pipe.get(), FIONREAD, &held) != 0) held = 0;
    char chunk[chunk_bytes];
    while (held > 0 && kept.pending.empty()) {
      const std::uint64_t free_bytes = followed_ ? chunk_bytes : room();
      const std::size_t most = std::min(
          {static_cast<std::size_t>(held), chunk_bytes, static_cast<std::size_t>(free_bytes)});
      const ssize_t got = ::read(kept.pipe.get(), chunk, most);
      if (got <= 0) break;
      held -= static_cast<int>(got);
      take(stream, {chunk, static_cast<std::size_t>(got)}, now);
    }
    if (kept.pending.empty()) {
      kept.pipe.reset();
    } else {
      done = false;
    }
  }
  return done;
}

Status KeptOutput::sync() const {
  for (const Kept& kept : kept_) {
    if (kept.written > 0 && ::fdatasync(kept.file.get()) != 0) {
      return posix::io_error("cannot sync an attempt's output");
    }
  }
  return success();
}

std::optional<std::string> KeptOutput::take_note() { return std::exchange(note_, std::nullopt); }

void KeptOutput::note(std::string text) {
  if (std::exchange(noted_, true)) return;
  note_ = std::move(text);
}

std::uint64_t KeptOutput::written() const { return bytes(Stream::out) + bytes(Stream::err); }

std::uint64_t KeptOutput::stored() const {
  return written() - hole(Stream::out).size() - hole(Stream::err).size();
}

/// What comes after it may be trimmed: it is neither head nor skipped already.
std::uint64_t KeptOutput::tail_begin(Stream stream) const {
  if (!hole(stream).empty()) return hole(stream).to;
  return head_whole_ ? of(stream).head_end : of(stream).written;
}

/// How many bytes may be taken now; makes room where that can be.
std::uint64_t KeptOutput::room() {
  if (stored() + chunk_bytes > cap_bytes_) {
    if (followed_) {
      drop_delivered(false);
    } else {
      const std::uint64_t spare = std::min<std::uint64_t>(
          std::max<std::uint64_t>(cap_bytes_ / 16, chunk_bytes), cap_bytes_ / 4);
      trim_tails(cap_bytes_ / 2 - spare);
    }
  }
  return cap_bytes_ - std::min(cap_bytes_, stored());
}

void KeptOutput::drop_delivered(bool head_too) {
  for (const Stream stream : streams) {
    // What was skipped cannot be lengthened to the front: then the head stays.
    const std::uint64_t from = head_too && hole(stream).empty() ? 0 : tail_begin(stream);
    if (of(stream).delivered > from) skip(stream, from, of(stream).delivered);
  }
}

/// Leaves at most so many bytes of both tails, their last ones.
void KeptOutput::trim_tails(std::uint64_t to_bytes) {
  std::array<std::uint64_t, 2> tail = {};
  for (const Stream stream : streams) tail[index(stream)] = bytes(stream) - tail_begin(stream);
  const std::uint64_t all = tail[0] + tail[1];
  std::uint64_t excess = all - std::min(all, to_bytes);
  const Stream longer = tail[0] >= tail[1] ? Stream::out : Stream::err;
  for (const Stream stream : {longer, longer == Stream::out ? Stream::err : Stream::out}) {
    std::uint64_t cut = std::min(excess, tail[index(stream)]);
    if (cut == 0) continue;
    excess -= cut;
    if (!can_punch_) cut = tail[index(stream)];
    skip(stream, tail_begin(stream), tail_begin(stream) + cut);
  }
}

/// Gives up bytes from `from` on, which is where what was given up before ends, or 0.
void KeptOutput::skip(Stream stream, std::uint64_t from, std::uint64_t to) {
  const Kept& kept = of(stream);
  if (followed_ && !can_punch_ && to != kept.written) return;
  const Stretch before = hole(stream);
  hole(stream) = {before.empty() ? from : before.from, to};
  if (Status told = write_skipped(skipped_file_.get(), skipped_); !told.ok()) {
    note(told.error().message);
  }
  if (punch(kept, from, to)) return;
  can_punch_ = false;
  if (followed_ && to != kept.written) {
    hole(stream) = before;
    (void)write_skipped(skipped_file_.get(), skipped_);
    return;
  }
  // Where holes cannot be made a file can still be cut, and is then as long again without content.
  if (::ftruncate(kept.file.get(), static_cast<off_t>(from)) == 0) {
    hole(stream).to = kept.written;
    (void)write_skipped(skipped_file_.get(), skipped_);
    (void)::ftruncate(kept.file.get(), static_cast<off_t>(kept.written));
  }
}

bool KeptOutput::punch(const Kept& kept, std::uint64_t from, std::uint64_t to) {
  return can_punch_ && ::fallocate(kept.file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                   static_cast<off_t>(from), static_cast<off_t>(to - from)) == 0;
}

void KeptOutput::take(Stream stream, std::string_view bytes, Moment now) {
  while (!bytes.empty()) {
    bytes = write(stream, bytes);
    if (bytes.empty()) return;
    const int why = errno;
    const bool freed = free_space();
    if (!freed || !followed_) {
      note("the disk under the state folder cannot take a job's output (" + posix::errno_text(why) +
           "): " +
           (followed_ ? "the job waits until there is space" : "what is in its middle is skipped"));
    }
    if (freed) continue;
    if (followed_) {
      of(stream).pending = bytes;
      retry_at_ = now + retry_every;
    } else {
      lose(stream, bytes.size());
    }
    return;
  }
}

/// Returns what could not be written, with errno set.
std::string_view KeptOutput::write(Stream stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const Kept& kept = of(stream);
    const ssize_t put =
        ::pwrite(kept.file.get(), bytes.data(), bytes.size(), static_cast<off_t>(kept.written));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return bytes;
    grow(stream, static_cast<std::uint64_t>(put));
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return bytes;
}

/// Gives up on disk what can be given up; whether there was any.
bool KeptOutput::free_space() {
  const std::uint64_t before = stored();
  if (followed_) {
    drop_delivered(true);
  } else {
    // There is no more room than this: half of it is for the tail.
    if (!std::exchange(head_whole_, true)) {
      for (const Stream each : streams) of(each).head_end = of(each).written / 2;
    }
    const std::uint64_t tails = written() - tail_begin(Stream::out) - tail_begin(Stream::err);
    trim_tails(tails < 2 * chunk_bytes ? 0 : tails / 2);
  }
  return stored() < before;
}

/// The head is whole when both streams together have come to half the cap.
void KeptOutput::grow(Stream stream, std::uint64_t bytes) {
  const std::uint64_t half = cap_bytes_ / 2;
  const std::uint64_t before = written();
  of(stream).written += bytes;
  if (head_whole_ || before + bytes < half) return;
  head_whole_ = true;
  for (const Stream each : streams) of(each).head_end = of(each).written;
  of(stream).head_end -= before + bytes - half;
}

/// Bytes that are nowhere: they are counted, and the file is as long as if it had them.
void KeptOutput::lose(Stream stream, std::uint64_t bytes) {
  Kept& kept = of(stream);
  const std::uint64_t from = tail_begin(stream);
  kept.written += bytes;
  hole(stream) = {hole(stream).empty() ? from : hole(stream).from, kept.written};
  (void)write_skipped(skipped_file_.get(), skipped_);
  (void)::ftruncate(kept.file.get(), static_cast<off_t>(kept.written));
}

}  // namespace gpl::host
