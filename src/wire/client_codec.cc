#include "gpl/wire/client_fields.h"
#include "top_level.h"

namespace gpl::wire {

template <>
constexpr std::string_view title<ClientMessage>() {
  return "message of a client";
}
template <>
constexpr std::string_view title<PeerMessage>() {
  return "message to a client";
}

template std::string encode(const ClientMessage&);
template Result<ClientMessage> decode(std::string_view);
template std::string encode(const PeerMessage&);
template Result<PeerMessage> decode(std::string_view);

}  // namespace gpl::wire
