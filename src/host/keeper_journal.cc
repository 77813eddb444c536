#include "gpl/host/keeper_journal.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/wire/codec.h"

namespace gpl::host {
namespace {

constexpr std::string_view magic = "gplexit1";
constexpr std::size_t number_bytes = 8;
constexpr std::size_t length_bytes = 4;
constexpr std::size_t head_bytes = length_bytes + number_bytes;
constexpr std::size_t most_bytes = std::size_t{256} * 1024 * 1024;
constexpr std::size_t least_size = std::size_t{256} * 1024;
constexpr std::size_t size_step = std::size_t{64} * 1024;
constexpr std::size_t exit_bytes = 4096;  // of an attempt, reserved: more than its words ever take
constexpr const char* file_name = "exits";

enum Kind : char { ended = 'E', taken = 'A', gone = 'D' };

void put_number(std::string& to, std::uint64_t number, std::size_t bytes = number_bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to += static_cast<char>(number >> (8 * i) & 0xffU);
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t count = number_bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i)
    number |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return number;
}

std::string payload_of(Kind kind, const Fence& attempt) {
  std::string payload(1, kind);
  put_number(payload, attempt.epoch);
  put_number(payload, attempt.attempt.value);
  return payload;
}

std::string payload_of(const KeeperJournal::Exit& exit) {
  std::string payload(1, Kind::ended);
  put_number(payload, exit.job.value);
  put_number(payload, exit.task.value);
  return payload + wire::encode(exit.ended);
}

std::optional<KeeperJournal::Exit> exit_of(std::string_view payload) {
  if (payload.size() <= 1 + 2 * number_bytes) return std::nullopt;
  auto exit = wire::decode<EndedAttempt>(payload.substr(1 + 2 * number_bytes));
  if (!exit.ok()) return std::nullopt;
  return KeeperJournal::Exit{JobId{number_at(payload, 1)},
                             TaskId{number_at(payload, 1 + number_bytes)}, std::move(exit).value(),
                             false};
}

/// What the frames say, in order.
void replay(std::string_view payload, KeeperJournal::Content& content) {
  const bool has_fence = payload.size() == 1 + 2 * number_bytes;
  const auto fence = [&] {
    return Fence{number_at(payload, 1), AttemptId{number_at(payload, 1 + number_bytes)}};
  };
  if (payload.front() == Kind::ended) {
    if (auto exit = exit_of(payload)) {
      const Fence attempt = exit->ended.fence;
      content.discarded.erase(attempt);
      content.exits.insert_or_assign(attempt, std::move(*exit));
    }
  } else if (payload.front() == Kind::taken && has_fence) {
    if (const auto at = content.exits.find(fence()); at != content.exits.end())
      at->second.acknowledged = true;
  } else if (payload.front() == Kind::gone && has_fence) {
    content.exits.erase(fence());
    content.discarded.insert(fence());
  }
}

struct Replayed {
  KeeperJournal::Content content;
  std::uint64_t checksum = 0;
  std::size_t end = 0;  ///< 0: it is no journal
};

Replayed replay_all(std::string_view bytes) {
  Replayed all;
  if (!bytes.starts_with(magic) || bytes.size() < magic.size() + number_bytes) return all;
  all.checksum = number_at(bytes, magic.size());
  all.end = magic.size() + number_bytes;
  while (const auto frame = read_frame(bytes.substr(all.end), all.checksum)) {
    replay(frame->payload, all.content);
    all.checksum = frame->checksum;
    all.end += frame->bytes;
  }
  return all;
}

std::uint64_t draw_seed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) == sizeof seed) return seed;
  return static_cast<std::uint64_t>(posix::wall_clock().since_epoch_ms);
}

Status write_at(int file, std::string_view bytes, std::size_t at) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return posix::io_error("cannot write how attempts ended", put < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(put));
    at += static_cast<std::size_t>(put);
  }
  return success();
}

}  // namespace

std::uint64_t append_frame(std::string& to, std::string_view payload, std::uint64_t seed) {
  const std::uint64_t checksum = XXH64(payload.data(), payload.size(), seed);
  put_number(to, payload.size(), length_bytes);
  put_number(to, checksum);
  to += payload;
  return checksum;
}

std::optional<Frame> read_frame(std::string_view bytes, std::uint64_t seed) {
  if (bytes.size() < head_bytes) return std::nullopt;
  const std::uint64_t length = number_at(bytes, 0, length_bytes);
  if (length == 0 || length > bytes.size() - head_bytes) return std::nullopt;
  const std::string_view payload = bytes.substr(head_bytes, length);
  const std::uint64_t checksum = number_at(bytes, length_bytes);
  if (XXH64(payload.data(), payload.size(), seed) != checksum) return std::nullopt;
  return Frame{payload, checksum, head_bytes + payload.size()};
}

Result<KeeperJournal::Content> KeeperJournal::read(int attempts) {
  Result<std::string> bytes = posix::read_file_at(attempts, file_name, most_bytes);
  if (!bytes.ok()) return std::move(bytes).error();
  return replay_all(bytes.value()).content;
}

Result<KeeperJournal> KeeperJournal::open(int attempts) {
  KeeperJournal journal(attempts);
  const Result<std::string> bytes = posix::read_file_at(attempts, file_name, most_bytes);
  if (bytes.ok()) journal.load(bytes.value());
  if (!journal.stale_) return journal;
  if (Status written = journal.write_anew(); !written.ok()) return std::move(written).error();
  return journal;
}

void KeeperJournal::load(std::string_view bytes) {
  Replayed all = replay_all(bytes);
  for (const auto& [fence, exit] : all.content.exits)
    kept_.emplace(fence, Kept{payload_of(exit), exit.acknowledged});
  content_ = std::move(all.content);
  checksum_ = all.checksum;
  end_ = all.end;
  size_ = bytes.size();
  file_.reset(::openat(attempts_, file_name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  stale_ = end_ == 0 || !file_.valid();
}

KeeperJournal::Content KeeperJournal::take_content() { return std::exchange(content_, {}); }

Status KeeperJournal::reserve(std::size_t attempts) {
  reserved_ = attempts * exit_bytes;
  return !stale_ && has_room(0) ? success() : write_anew();
}

Status KeeperJournal::keep(const std::vector<Exit>& exits) {
  std::string frames;
  std::uint64_t checksum = checksum_;
  std::vector<std::string> payloads;
  for (const Exit& exit : exits) {
    payloads.push_back(payload_of(exit));
    checksum = append_frame(frames, payloads.back(), checksum);
  }
  // What is reserved is for these.
  const bool fits = !stale_ && end_ + frames.size() <= size_;
  if (fits) {
    Status written = append(frames, checksum);
    if (written.ok() && ::fdatasync(file_.get()) != 0)
      written = posix::io_error("cannot sync how attempts ended");
    if (!written.ok()) {
      stale_ = true;
      return written;
    }
  }
  for (std::size_t i = 0; i < exits.size(); ++i)
    kept_.insert_or_assign(exits[i].ended.fence, Kept{std::move(payloads[i]), false});
  if (fits) return success();
  Status written = write_anew();
  if (written.ok()) return written;
  for (const Exit& exit : exits) kept_.erase(exit.ended.fence);
  return written;
}

void KeeperJournal::acknowledged(const Fence& attempt) {
  const auto at = kept_.find(attempt);
  if (at == kept_.end() || std::exchange(at->second.acknowledged, true)) return;
  note(payload_of(Kind::taken, attempt));
}

void KeeperJournal::discarded(const Fence& attempt) {
  if (kept_.erase(attempt) > 0) note(payload_of(Kind::gone, attempt));
}

void KeeperJournal::tidy() {
  if (!stale_ && !behind_ && end_ <= size_ - size_ / 4) return;
  // On a full disk: again when there is more to say.
  if (std::exchange(tidied_at_, end_) != end_) (void)write_anew();
}

/// What need not be synced, nor said at all: it would only be said twice.
void KeeperJournal::note(std::string_view payload) {
  std::string frame;
  const std::uint64_t checksum = append_frame(frame, payload, checksum_);
  if (stale_ || !has_room(frame.size())) {
    behind_ = true;
  } else if (!append(frame, checksum).ok()) {
    stale_ = true;
  }
}

Status KeeperJournal::append(const std::string& frames, std::uint64_t checksum) {
  Status written = write_at(file_.get(), frames, end_);
  if (!written.ok()) return written;
  end_ += frames.size();
  checksum_ = checksum;
  return written;
}

Status KeeperJournal::write_anew() {
  std::string bytes(magic);
  std::uint64_t checksum = draw_seed();
  put_number(bytes, checksum);
  for (const auto& [fence, kept] : kept_) {
    checksum = append_frame(bytes, kept.payload, checksum);
    if (kept.acknowledged) checksum = append_frame(bytes, payload_of(Kind::taken, fence), checksum);
  }
  const std::size_t end = bytes.size();
  const std::size_t wanted = std::max(least_size, 2 * end + reserved_);
  bytes.resize((wanted + size_step - 1) / size_step * size_step);
  Status written = posix::replace_file_at(attempts_, file_name, bytes, posix::Durability::synced);
  if (!written.ok()) return written;
  file_.reset(::openat(attempts_, file_name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file_.valid()) return posix::io_error("cannot open the file of how attempts ended");
  checksum_ = checksum;
  end_ = end;
  size_ = bytes.size();
  stale_ = false;
  behind_ = false;
  return success();
}

}  // namespace gpl::host
