#include "gpl/wire/frame.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

namespace gpl::wire {
namespace {

// A large payload goes on its own, by moving; small ones share a piece up to this size.
constexpr std::size_t large_payload_bytes = std::size_t{8} * 1024;
constexpr std::size_t shared_piece_bytes = std::size_t{64} * 1024;
// Memory that is not given back between frames.
constexpr std::size_t kept_capacity_bytes = std::size_t{4} * 1024;

std::size_t length_of(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = frame_header_bytes; i > 0; --i) {
    length = length << 8 | static_cast<unsigned char>(header[i - 1]);
  }
  return length;
}

void append_header(std::string& piece, std::size_t length) {
  for (std::size_t i = 0; i < frame_header_bytes; ++i) {
    piece += static_cast<char>(static_cast<unsigned char>(length >> (8 * i)));
  }
}

}  // namespace

void FrameReader::feed(std::string_view bytes) {
  assert(fed_.empty());
  if (!fault_.has_value()) fed_ = bytes;
}

Error FrameReader::fail(Code code, std::string message) {
  fed_ = {};
  fault_ = Error{code, std::move(message)};
  return *fault_;
}

/// The payload that `bytes` begin with. Nothing: at least `missing` more bytes are needed.
Result<std::optional<std::string_view>> FrameReader::next_in(std::string_view bytes,
                                                             std::size_t& missing) {
  if (bytes.size() < frame_header_bytes) {
    missing = frame_header_bytes - bytes.size();
    return std::optional<std::string_view>();
  }
  const std::size_t length = length_of(bytes);
  if (length == 0) return fail(Code::invalid, "a frame of no bytes");
  if (length > limit_bytes_) {
    return fail(Code::too_large, "a frame of " + std::to_string(length) + " bytes: at most " +
                                     std::to_string(limit_bytes_) + " are taken");
  }
  const std::size_t whole = frame_header_bytes + length;
  if (bytes.size() < whole) {
    missing = whole - bytes.size();
    return std::optional<std::string_view>();
  }
  return std::optional(bytes.substr(frame_header_bytes, length));
}

Result<std::optional<std::string_view>> FrameReader::next() {
  if (fault_.has_value()) return *fault_;
  if (!within_frame()) release();
  std::size_t missing = 0;
  while (within_frame()) {
    // A frame that came in pieces: what it lacks is copied to what there is of it.
    auto payload = next_in(std::string_view(held_).substr(taken_), missing);
    if (!payload.ok()) return payload;
    if (payload.value().has_value()) {
      taken_ += frame_header_bytes + payload.value()->size();
      return payload;
    }
    if (fed_.empty()) return std::optional<std::string_view>();
    const std::string_view more = fed_.substr(0, missing);
    held_.append(more);
    fed_.remove_prefix(more.size());
  }
  auto payload = next_in(fed_, missing);
  if (!payload.ok()) return payload;
  if (payload.value().has_value()) {
    fed_.remove_prefix(frame_header_bytes + payload.value()->size());
  } else {
    keep();
  }
  return payload;
}

void FrameReader::keep() {
  held_.erase(0, std::exchange(taken_, 0));
  held_.append(std::exchange(fed_, {}));
}

void FrameReader::release() {
  held_.clear();
  taken_ = 0;
  // Not by assignment: that of a short string keeps the memory.
  if (held_.capacity() > kept_capacity_bytes) std::string().swap(held_);
}

void FrameWriter::add(std::string payload) {
  assert(!payload.empty() && payload.size() <= frame_limit_bytes);
  queued_bytes_ += frame_header_bytes + payload.size();
  if (pieces_.empty() || !last_shared_ || pieces_.back().size() >= shared_piece_bytes) {
    pieces_.emplace_back();
  }
  append_header(pieces_.back(), payload.size());
  last_shared_ = payload.size() < large_payload_bytes;
  if (last_shared_) {
    pieces_.back().append(payload);
  } else {
    pieces_.push_back(std::move(payload));
  }
}

std::size_t FrameWriter::gather(std::span<std::string_view> pieces) const {
  const std::size_t count = std::min(pieces.size(), pieces_.size());
  std::copy_n(pieces_.begin(), count, pieces.begin());
  if (count > 0) pieces[0].remove_prefix(written_);
  return count;
}

void FrameWriter::wrote(std::size_t bytes) {
  assert(bytes <= queued_bytes_);
  queued_bytes_ -= bytes;
  written_ += bytes;
  while (!pieces_.empty() && written_ >= pieces_.front().size()) {
    written_ -= pieces_.front().size();
    pieces_.pop_front();
  }
}

void FrameWriter::clear() {
  pieces_.clear();
  written_ = 0;
  queued_bytes_ = 0;
}

}  // namespace gpl::wire
