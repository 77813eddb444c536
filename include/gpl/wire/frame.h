#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpl/core/result.h"

/// Frames: how messages are told apart in a stream. A frame is the payload's length as 4 bytes,
/// little-endian, and the payload, of at least one byte (gpl-protocol(7)).
namespace gpl::wire {

inline constexpr std::size_t frame_header_bytes = 4;
/// The longest payload there is.
inline constexpr std::size_t frame_limit_bytes = std::size_t{16} * 1024 * 1024;
/// The longest payload taken from who has not yet said who it is.
inline constexpr std::size_t hello_limit_bytes = 1024;

/// Takes frames from a stream, given in pieces of any size. It holds what came of a frame that is
/// not whole, and nothing else: a claimed length costs no memory before its bytes are there, and
/// one over the limit none at all.
class FrameReader {
 public:
  explicit FrameReader(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// The next bytes of the stream, which must remain live until `next` has returned nothing, or
  /// `keep` was called. Requires that the bytes before have come to that.
  void feed(std::string_view bytes);
  /// The next whole payload, live until the next call on the reader; nothing when more bytes are
  /// needed. Code::too_large for a length over the limit, Code::invalid for zero; and the same ever
  /// after, since the stream cannot be read on.
  Result<std::optional<std::string_view>> next();
  /// Copies what `next` has not yet come to, so that the bytes fed need not remain live.
  void keep();

  /// Holds for every frame that `next` has not yet given out.
  void set_limit(std::size_t bytes) { limit_bytes_ = bytes; }
  /// Whether a frame has begun that is not whole: an end of the stream now cuts it short. Requires
  /// that `next` has returned nothing.
  bool within_frame() const { return held_.size() > taken_; }
  /// Of the memory that it holds.
  std::size_t held_bytes() const { return held_.capacity(); }

 private:
  Result<std::optional<std::string_view>> next_in(std::string_view bytes, std::size_t& missing);
  Error fail(Code code, std::string message);
  void release();

  std::size_t limit_bytes_;
  std::string_view fed_;   ///< not yet come to
  std::string held_;       ///< copied
  std::size_t taken_ = 0;  ///< of held_, given out already
  std::optional<Error> fault_;
};

/// Puts payloads into frames and keeps them until they are written, in order, in few pieces: small
/// frames share one, large payloads are not copied.
class FrameWriter {
 public:
  /// Requires 1 to `frame_limit_bytes` bytes.
  void add(std::string payload);
  /// What is to be written next, as many pieces as `pieces` takes; live until the next call of
  /// another name. Returns how many.
  std::size_t gather(std::span<std::string_view> pieces) const;
  /// The first `bytes` of what is queued have been written.
  void wrote(std::size_t bytes);
  void clear();
  /// Headers included.
  std::size_t queued_bytes() const { return queued_bytes_; }

 private:
  std::deque<std::string> pieces_;
  std::size_t written_ = 0;  ///< of the first piece
  std::size_t queued_bytes_ = 0;
  bool last_shared_ = false;  ///< the last piece takes more frames
};

}  // namespace gpl::wire
