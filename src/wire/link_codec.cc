#include "gpl/wire/link_fields.h"
#include "top_level.h"

namespace gpl::wire {

template <>
constexpr std::string_view title<LinkMessage>() {
  return "message of a peer";
}

template std::string encode(const LinkMessage&);
template Result<LinkMessage> decode(std::string_view);

}  // namespace gpl::wire
