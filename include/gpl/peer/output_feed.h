#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "gpl/core/attempt.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/posix/fd.h"
#include "gpl/wire/client_message.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::peer {

/// One attempt's output for one follower, from its folder's files `stdout` and `stderr`. Reads on
/// the loop, a little at a time: what was just written is in memory.
///
/// What nobody follows may be given up by the keeper, also while this reads: see
/// host::SkippedOutput. It is passed over, and counted in `skipped_bytes`.
class OutputFeed {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{256} << 10U;

  /// `out_from`, `err_from`: how much the follower has already.
  OutputFeed(std::string attempt_folder, Fence fence, TaskId task, std::uint64_t out_from,
             std::uint64_t err_from);

  /// The keeper's Grew. Older news than is known changes nothing.
  void grew(std::uint64_t out_bytes, std::uint64_t err_bytes, bool ended);

  /// The next piece, of at most `max_bytes` and piece_bytes, of either stream in turn; nothing
  /// while there is none. `data` is empty only where a stream ends in what was dropped.
  /// Code::not_found: the folder has gone; io: less is there than the keeper said, or it cannot be
  /// read.
  Result<std::optional<wire::Output>> next(std::size_t max_bytes);

  /// All before it has been given, or was dropped.
  std::uint64_t position(wire::OutputStream stream) const;
  /// It has ended, and all has been given.
  bool drained() const;

 private:
  struct Stream {
    std::uint64_t position = 0;
    std::uint64_t size = 0;     // as the keeper said
    std::uint64_t skipped = 0;  // passed over and not told yet
    posix::Fd file;
  };
  bool has_more(const Stream& stream) const;
  /// Nothing when it has only passed over what was given up.
  Result<std::optional<wire::Output>> read(wire::OutputStream which, std::size_t max_bytes);
  Result<std::string> read_file(wire::OutputStream which, std::size_t bytes);
  Status open(wire::OutputStream which);
  Status check_folder() const;

  std::string path_;
  Fence fence_;
  TaskId task_;
  std::array<Stream, 2> streams_;  // by OutputStream
  bool ended_ = false;
  wire::OutputStream turn_ = wire::OutputStream::out;  // who is asked first
  posix::Fd folder_;
};

}  // namespace gpl::peer
