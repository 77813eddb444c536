#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/core/worker_message.h"
#include "gpl/posix/fd.h"

namespace gpl::host {

/// What the keeper writes in place goes into frames, each of
///
///   4 bytes  length of the payload, little endian; 0: here is the end
///   8 bytes  XXH64 of the payload, little endian; its seed is the checksum of the frame before
///            (of the first one: what the file says), so that no frame outlives one before it
///   payload
struct Frame {
  std::string_view payload;
  std::uint64_t checksum = 0;
  std::size_t bytes = 0;  ///< with its head
};
/// Returns its checksum.
std::uint64_t append_frame(std::string& to, std::string_view payload, std::uint64_t seed);
/// Nothing where there is no whole frame.
std::optional<Frame> read_frame(std::string_view bytes, std::uint64_t seed);

/// How attempts ended, in the file STATE/attempts/exits. It is written ahead of its use, so that an
/// exit is on disk after one write and one fdatasync, also when the disk is full.
///
///   "gplexit1"  8 bytes
///   seed        8 bytes, little endian: of the first frame; drawn at random
///   frames      payload: one byte, and
///     'E'  job, task (8 bytes each, little endian), wire::encode of an EndedAttempt
///     'A'  epoch, attempt (8 bytes each): the leader has taken the outcome
///     'D'  epoch, attempt: the attempt is discarded
///   zeros
///
/// Exits are synced before `keep` returns. The others outlive the keeper but not a power failure:
/// then an outcome is told again, and acknowledged again. Frames that were not synced may be lost
/// from any point on; what comes after the first one that is not whole is nothing. When there is no
/// room left, the file is written anew (exits.part) without what was discarded, synced and renamed,
/// and with it the names in the folder.
class KeeperJournal {
 public:
  struct Exit {
    JobId job;
    TaskId task;
    EndedAttempt ended;
    bool acknowledged = false;
    friend bool operator==(const Exit&, const Exit&) = default;
  };
  struct Content {
    std::map<Fence, Exit> exits;
    std::set<Fence> discarded;  ///< whose folders may be there still; as far as it is remembered
    friend bool operator==(const Content&, const Content&) = default;
  };

  /// In the open folder `attempts`, which outlives this. What cannot be read is as if it was not
  /// there. Code::io when there is no file, and none can be made.
  static Result<KeeperJournal> open(int attempts);
  /// What is in the file by now.
  static Result<Content> read(int attempts);
  /// What it began with.
  Content take_content();

  /// Room for the exits of so many attempts is kept from now on. Code::io when there is no space.
  Status reserve(std::size_t attempts);
  /// On disk, synced, with one sync for all. After an error the file is written anew by the next.
  Status keep(const std::vector<Exit>& exits);
  void acknowledged(const Fence& attempt);
  void discarded(const Fence& attempt);
  /// Writes it anew where that will be due soon: for a moment when nobody waits.
  void tidy();

 private:
  struct Kept {
    std::string payload;
    bool acknowledged = false;
  };
  explicit KeeperJournal(int attempts) : attempts_(attempts) {}
  void load(std::string_view bytes);
  bool has_room(std::size_t bytes) const { return end_ + bytes + reserved_ <= size_; }
  Status append(const std::string& frames, std::uint64_t checksum);
  void note(std::string_view payload);
  Status write_anew();

  int attempts_;
  posix::Fd file_;
  std::map<Fence, Kept> kept_;
  Content content_;
  std::uint64_t checksum_ = 0;  ///< of the last frame
  std::size_t end_ = 0;
  std::size_t size_ = 0;
  std::size_t reserved_ = 0;
  std::size_t tidied_at_ = 0;
  bool behind_ = false;  ///< something was not noted, for want of room
  bool stale_ = true;    ///< not what is known here: it is written anew before anything is added
};

}  // namespace gpl::host
