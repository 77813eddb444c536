#include "outgoing.h"

#include <array>
#include <utility>

namespace gpl::net {
namespace {

// Of frames, at a time. More than a socket mostly takes, so that a turn goes out by one call.
constexpr std::size_t sealed_at_once_bytes = std::size_t{256} * 1024;

}  // namespace

std::size_t Outgoing::gather(std::span<std::string_view> pieces) {
  if (!sealer_.has_value()) return frames_.gather(pieces);
  if (sealed_.empty()) seal();
  if (sealed_.empty() || pieces.empty()) return 0;
  pieces[0] = std::string_view(sealed_).substr(written_);
  return 1;
}

void Outgoing::seal() {
  std::size_t room = sealed_at_once_bytes;
  while (room > 0 && frames_.queued_bytes() > 0) {
    std::array<std::string_view, 1> piece;
    if (frames_.gather(piece) == 0) return;
    const std::string_view part = piece[0].substr(0, room);
    sealer_->seal(part, sealed_);
    room -= part.size();
    frames_.wrote(part.size());
  }
}

void Outgoing::wrote(std::size_t bytes) {
  if (!sealer_.has_value()) return frames_.wrote(bytes);
  written_ += bytes;
  if (written_ < sealed_.size()) return;
  written_ = 0;
  // Not by `clear`, which keeps the memory.
  std::string().swap(sealed_);
}

void Outgoing::clear() {
  frames_.clear();
  written_ = 0;
  std::string().swap(sealed_);
}

}  // namespace gpl::net
