#pragma once

#include <string>
#include <string_view>

#include "all_fields.h"

namespace gpl::wire {

template <class T, class... One>
inline constexpr bool is_one_of = (std::is_same_v<T, One> || ...);

/// Whether what was decoded from `bytes` is what they say: it is encoded again as it was. Where a
/// newer gpl may have sent more fields, these are passed over, and nothing else.
template <class T>
bool taken_as_sent(const T& value, std::string_view bytes) {
  const std::string again = encode(value);
  if (again == bytes) return true;
  if (!is_one_of<T, GPL_CONVERSATION_TYPES> || again.size() >= bytes.size()) return false;
  const Result<T> decoded = decode<T>(again);
  return decoded.ok() && encode(decoded.value()) == again;
}

}  // namespace gpl::wire
