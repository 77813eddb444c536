#include "attempt_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace gpl::host {

void AttemptInput::attach(posix::Fd pipe) {
  const int flags = ::fcntl(pipe.get(), F_GETFL);
  ::fcntl(pipe.get(), F_SETFL, flags | O_NONBLOCK);
  pipe_ = std::move(pipe);
  if (closed_ || (ended_ && waiting_.empty())) pipe_.reset();
}

bool AttemptInput::put(std::uint64_t offset, std::string_view data, bool end) {
  const std::uint64_t next = taken_ + waiting_.size();
  if (ended_ || offset > next) return true;
  const std::uint64_t known = next - offset;
  if (known > data.size()) return true;
  data.remove_prefix(static_cast<std::size_t>(known));
  ended_ = end;
  if (closed_) {
    taken_ += data.size();
    return true;
  }
  waiting_.append(data);
  if (ended_ && waiting_.empty()) pipe_.reset();
  return waiting_.size() <= limit_bytes;
}

int AttemptInput::wanted() const { return waiting_.empty() ? -1 : pipe_.get(); }

void AttemptInput::write() {
  if (wanted() < 0) return;
  const ssize_t put = ::write(pipe_.get(), waiting_.data(), waiting_.size());
  if (put > 0) {
    taken_ += static_cast<std::uint64_t>(put);
    waiting_.erase(0, static_cast<std::size_t>(put));
    if (ended_ && waiting_.empty()) pipe_.reset();
  } else if (put < 0 && errno != EAGAIN && errno != EINTR) {
    close();
  }
}

void AttemptInput::close() {
  closed_ = true;
  taken_ += waiting_.size();
  waiting_.clear();
  pipe_.reset();
}

}  // namespace gpl::host
