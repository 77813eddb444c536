#include "gpl/core/command.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace gpl;

namespace {

template <std::size_t... I>
std::vector<Command> one_of_each(std::index_sequence<I...>) {
  return {Command(std::in_place_index<I>)...};
}

const std::vector<Command> all =
    one_of_each(std::make_index_sequence<std::variant_size_v<Command>>());

}  // namespace

TEST_CASE("every command keeps its number in the log") {
  const std::vector<std::string> names = {
      "submit",      "place",   "place gang",        "start",     "report",         "cancel",
      "hold",        "release", "peer up",           "peer down", "peer forgotten", "attempts lost",
      "leases over", "prune",   "set feature level", "set epoch"};
  REQUIRE(all.size() == names.size());
  for (std::size_t number = 0; number < all.size(); ++number)
    CHECK(name_of(all[number]) == names[number]);
}

TEST_CASE("only gangs and services are above feature level 1") {
  for (const Command& command : all) {
    CAPTURE(name_of(command));
    CHECK(feature_level_of(command) == (name_of(command) == "place gang" ? 2 : 1));
  }
  command::Submit submit;
  submit.job.shape = Array{};
  CHECK(feature_level_of(Command(submit)) == 1);
  submit.job.shape = Gang{};
  CHECK(feature_level_of(Command(submit)) == 2);
  submit.job.shape = Service{};
  CHECK(feature_level_of(Command(submit)) == 2);
}
