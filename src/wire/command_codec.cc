#include "gpl/wire/command_fields.h"
#include "top_level.h"

namespace gpl::wire {

template <>
constexpr std::string_view title<Command>() {
  return "command";
}
template <>
constexpr std::string_view title<std::vector<Command>>() {
  return "commands";
}

template std::string encode(const Command&);
template Result<Command> decode(std::string_view);
template std::string encode(const std::vector<Command>&);
template Result<std::vector<Command>> decode(std::string_view);

}  // namespace gpl::wire
