#include "mdns_echo.h"

#include <algorithm>
#include <utility>

namespace gpl::net {
namespace {

// They come back at once, but a busy loop may read late.
constexpr Duration kept_for = seconds(5);
constexpr std::size_t most_kept = 256;

}  // namespace

void MdnsEcho::sent(std::string bytes, Moment now) {
  forget(now);
  if (sent_.size() >= most_kept) sent_.pop_front();
  sent_.push_back({std::move(bytes), now});
}

bool MdnsEcho::take(std::string_view bytes, Moment now) {
  forget(now);
  const auto found = std::find_if(sent_.begin(), sent_.end(),
                                  [&](const Sent& sent) { return sent.bytes == bytes; });
  if (found == sent_.end()) return false;
  sent_.erase(found);
  return true;
}

void MdnsEcho::forget(Moment now) {
  while (!sent_.empty() && now - sent_.front().at > kept_for) sent_.pop_front();
}

}  // namespace gpl::net
