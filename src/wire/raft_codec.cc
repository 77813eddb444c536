#include "gpl/wire/raft_fields.h"
#include "top_level.h"

namespace gpl::wire {

template <>
constexpr std::string_view title<raft::Message>() {
  return "raft message";
}

template std::string encode(const raft::Message&);
template Result<raft::Message> decode(std::string_view);

}  // namespace gpl::wire
