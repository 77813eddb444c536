#include "gpl/net/refusals.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "run_until.h"

TEST_CASE("the first refusal is noted at once, and the next ones wait for their minute") {
  const auto loop = make_loop();
  std::vector<std::string> notes;
  gpl::net::Refusals refusals(*loop, [&](const std::string& note) { notes.push_back(note); });
  for (int i = 0; i < 1000; ++i) refusals.add("10.0.0." + std::to_string(i), "another key");
  CHECK(notes == std::vector<std::string>{"refused a connection from 10.0.0.0: another key"});
}

TEST_CASE("who came since is told together, with how many and from where") {
  const auto loop = make_loop();
  std::vector<std::string> notes;
  gpl::net::Refusals refusals(
      *loop, [&](const std::string& note) { notes.push_back(note); }, gpl::milliseconds(20));
  refusals.add("10.0.0.1", "another key");
  for (int i = 0; i < 30; ++i) refusals.add("10.0.0." + std::to_string(i % 9), "no gpl");
  run_until(*loop, [&] { return notes.size() == 2; });
  CHECK(notes[1] ==
        "refused 30 connections within 0s, from 10.0.0.0, 10.0.0.1, 10.0.0.2, 10.0.0.3, "
        "10.0.0.4, 10.0.0.5, 10.0.0.6, 10.0.0.7 and others; the last: no gpl");
}
