#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "gpl/wire/codec.h"
#include "gpl/wire/command_fields.h"
#include "same.h"
#include "samples.h"

namespace gpl::wire {
namespace {

std::string hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += digits[byte / 16];
    out += digits[byte % 16];
  }
  return out;
}

/// The words of commands.txt: one encoded command a line, without comments.
std::vector<std::string> recorded() {
  std::ifstream file(GPL_TEST_CASES "/wire/commands.txt");
  REQUIRE(file.is_open());
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') out.push_back(line);
  }
  return out;
}

TEST_CASE("the samples have every kind of command") {
  std::set<std::size_t> kinds;
  for (const Command& command : sample_commands()) kinds.insert(command.index());
  CHECK(kinds.size() == std::variant_size_v<Command>);
}

TEST_CASE("the bytes of commands are those that logs out there have") {
  const std::vector<Command> samples = sample_commands();
  const std::vector<std::string> lines = recorded();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    INFO(
        "The format of the log has changed. Logs that exist, and peers of other versions, have the "
        "recorded one: keep it, and add what is new as a new alternative at the end, admitted by a "
        "new feature level. A new sample's line is added to tests/cases/wire/commands.txt.");
    INFO("sample " << i << ", command kind " << samples[i].index());
    REQUIRE(hex(encode(samples[i])) == (i < lines.size() ? lines[i] : "no line"));
  }
  CHECK(lines.size() == samples.size());
}

TEST_CASE("the samples are read back as what they were") {
  const std::vector<Command> samples = sample_commands();
  for (const Command& sample : samples) {
    const Result<Command> read = decode<Command>(encode(sample));
    REQUIRE(read.ok());
    CHECK(same(read.value(), sample));
  }
}

}  // namespace
}  // namespace gpl::wire
