#include "option_table.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gpl;
using namespace gpl::cmd;

namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow table[] = {
    {"join", Kind::optional_value, "HOST:PORT,...", "Cluster", "join a cluster"},
    {"detach", Kind::flag, "", "Cluster", "go on in the background"},
    {"seed", Kind::list, "HOST", "Cluster", "a peer"},
    {"name", Kind::value, "NAME", "Other", "of it"},
};

ParsedOptions parsed(const std::vector<std::string>& words) {
  const Result<ParsedOptions> options = parse_options(table, words);
  REQUIRE_MESSAGE(options.ok(), (options.ok() ? "" : options.error().message));
  return options.value();
}

}  // namespace

TEST_CASE("an option may be given with a value, without one, and not at all") {
  CHECK(parsed({"--join=lab2:7457"}).last("join") == "lab2:7457");
  const ParsedOptions bare = parsed({"--join"});
  CHECK(bare.has("join"));
  CHECK(bare.last("join").empty());
  CHECK_FALSE(parsed({"--detach"}).has("join"));
}

TEST_CASE("an option without its value takes no other option for one") {
  const ParsedOptions options = parsed({"--join", "--detach", "--name", "lab"});
  CHECK(options.has("join"));
  CHECK(options.last("join").empty());
  CHECK(options.has("detach"));
  CHECK(options.last("name") == "lab");
}

TEST_CASE("an option's value may also follow it as a word") {
  CHECK(parsed({"--join", "lab2"}).last("join") == "lab2");
}

TEST_CASE("options that need a value say so, and one that may go without does not") {
  const Result<ParsedOptions> missing = parse_options(table, {"--name"});
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message == "--name needs a value");
  CHECK(parse_options(table, {"--join"}).ok());
}

TEST_CASE("the help shows that a value may be left out") {
  const std::string text = describe_options(table);
  CHECK(text.find("--join[=HOST:PORT,...]  join a cluster\n") != std::string::npos);
  CHECK(text.find("--name NAME ") != std::string::npos);
}

TEST_CASE("an unknown option is refused with the nearest known one") {
  const Result<ParsedOptions> options = parse_options(table, {"--jion"});
  REQUIRE_FALSE(options.ok());
  CHECK(options.error().message == "unknown option --jion; did you mean --join?");
}
