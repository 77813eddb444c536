#include "gpl/wire/state_fields.h"
#include "top_level.h"

namespace gpl::wire {

template <>
constexpr std::string_view title<StatePart>() {
  return "state part";
}

template std::string encode(const StatePart&);
template Result<StatePart> decode(std::string_view);

}  // namespace gpl::wire
