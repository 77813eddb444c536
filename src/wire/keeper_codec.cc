#include "gpl/wire/keeper_fields.h"
#include "top_level.h"

namespace gpl::wire {

template <>
constexpr std::string_view title<PeerToKeeper>() {
  return "message to the keeper";
}
template <>
constexpr std::string_view title<KeeperToPeer>() {
  return "message of the keeper";
}
template <>
constexpr std::string_view title<EndedAttempt>() {
  return "end of an attempt";
}
template <>
constexpr std::string_view title<to_worker::Start>() {
  return "order to start";
}

template std::string encode(const PeerToKeeper&);
template Result<PeerToKeeper> decode(std::string_view);
template std::string encode(const KeeperToPeer&);
template Result<KeeperToPeer> decode(std::string_view);
template std::string encode(const EndedAttempt&);
template Result<EndedAttempt> decode(std::string_view);
template std::string encode(const to_worker::Start&);
template Result<to_worker::Start> decode(std::string_view);

}  // namespace gpl::wire
