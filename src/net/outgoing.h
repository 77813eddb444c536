#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpl/auth/channel.h"
#include "gpl/wire/frame.h"

namespace gpl::net {

/// What a connection has still to write: frames, and over a channel the records that hold them. Of
/// these no more are made ahead than one call writes: the rest waits as frames.
class Outgoing {
 public:
  void seal_with(auth::Sealer sealer) { sealer_.emplace(std::move(sealer)); }

  /// As of wire::FrameWriter.
  void add(std::string payload) { frames_.add(std::move(payload)); }
  std::size_t gather(std::span<std::string_view> pieces);
  void wrote(std::size_t bytes);
  void clear();
  std::size_t queued_bytes() const { return frames_.queued_bytes() + sealed_.size() - written_; }

 private:
  void seal();

  wire::FrameWriter frames_;
  std::optional<auth::Sealer> sealer_;
  std::string sealed_;       ///< records, none while nothing is to be written
  std::size_t written_ = 0;  ///< of sealed_
};

}  // namespace gpl::net
