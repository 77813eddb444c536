#include "gpl/peer/offer.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "gpl/core/command.h"
#include "gpl/host/machine.h"

using gpl::PeerOffer;
using gpl::PythonEnvironment;
using gpl::peer::encoded_bytes;
using gpl::peer::fitted;
using gpl::peer::offer_limit_bytes;
using gpl::peer::same_for_placing;

namespace {

PythonEnvironment environment(int number, bool with_framework) {
  PythonEnvironment made;
  made.root = "/envs/" + std::to_string(number) + std::string(400, 'x');
  made.name = made.root;
  if (with_framework) made.frameworks["torch"].version = "2.4.0";
  return made;
}

/// Environments of about 800 bytes each, every other one with a framework.
PeerOffer with_environments(int count) {
  PeerOffer offer;
  offer.name = "lab1";
  for (int i = 0; i < count; ++i) offer.environments.push_back(environment(i, i % 2 == 1));
  return offer;
}

gpl::Accelerator card(int index) {
  gpl::Accelerator made;
  made.id = "cuda:" + std::to_string(index);
  made.index = index;
  made.memory_used_bytes = 5;
  return made;
}

/// Whether one more environment would have been too much.
bool is_tight(const PeerOffer& cut, const PythonEnvironment& another) {
  PeerOffer more = cut;
  more.environments.push_back(another);
  return encoded_bytes(more) > offer_limit_bytes - 1024;
}

}  // namespace

TEST_CASE("an offer that fits is left as it is") {
  const PeerOffer offer = with_environments(20);
  CHECK(fitted(offer) == offer);
}

TEST_CASE("environments without frameworks are left out first, the last ones before others") {
  const PeerOffer offer = with_environments(80);
  REQUIRE(encoded_bytes(offer) > offer_limit_bytes);
  const PeerOffer cut = fitted(offer);
  CHECK(encoded_bytes(cut) <= offer_limit_bytes - 1024);
  CHECK(is_tight(cut, environment(0, false)));
  const std::size_t left_out = 80 - cut.environments.size();
  REQUIRE(left_out > 0);
  REQUIRE(left_out < 40);
  // What is kept, in its order: all with frameworks, and the first of those without.
  PeerOffer expected = offer;
  for (std::size_t i = 0; i < left_out; ++i)
    expected.environments.erase(expected.environments.end() - 2 - static_cast<std::ptrdiff_t>(i));
  CHECK(cut.environments == expected.environments);
  REQUIRE(cut.problems.size() == 1);
  CHECK(cut.problems[0].source == "offer");
  CHECK(cut.problems[0].message ==
        std::to_string(left_out) +
            " of 80 Python environments are left out: more does not fit a report to the cluster");
}

TEST_CASE("of environments that all have frameworks the first are kept") {
  PeerOffer offer;
  for (int i = 0; i < 80; ++i) offer.environments.push_back(environment(i, true));
  const PeerOffer cut = fitted(offer);
  REQUIRE(cut.environments.size() > 30);
  for (std::size_t i = 0; i < cut.environments.size(); ++i)
    CHECK(cut.environments[i] == offer.environments[i]);
}

TEST_CASE("a flood of problems is cut, and every device is kept") {
  PeerOffer offer = with_environments(4);
  offer.accelerators = {card(0), card(1)};
  for (int i = 0; i < 50; ++i) offer.problems.push_back({"nvidia-smi", 9, std::string(4000, 'p')});
  const PeerOffer cut = fitted(offer);
  CHECK(encoded_bytes(cut) <= offer_limit_bytes);
  CHECK(cut.accelerators.size() == 2);
  REQUIRE(cut.problems.size() == 8);
  CHECK(cut.problems.front().message == std::string(200, 'p') + "...");
  CHECK(cut.problems.back().message.starts_with("4 of 4 Python environments are left out"));
}

TEST_CASE("words are not cut within a letter") {
  PeerOffer offer;
  std::string words = "x";
  while (words.size() < 60000) words += "ä";
  offer.problems.push_back({"nvidia-smi", 9, words});
  const PeerOffer cut = fitted(offer);
  REQUIRE(cut.problems.size() == 1);
  CHECK(cut.problems[0].message == words.substr(0, 199) + "...");
}

TEST_CASE("even devices are left out rather than nothing be reported") {
  PeerOffer offer;
  for (int i = 0; i < 2000; ++i) offer.accelerators.push_back(card(i));
  const PeerOffer cut = fitted(offer);
  CHECK(encoded_bytes(cut) <= offer_limit_bytes);
  REQUIRE(cut.accelerators.size() > 500);
  CHECK(cut.accelerators.back().index == static_cast<int>(cut.accelerators.size()) - 1);
  CHECK(cut.problems.back().message.find(" of 2000 devices are left out") != std::string::npos);
}

TEST_CASE("an offer that was cut still fits when it is closed at most hours") {
  gpl::peer::Lending lending;
  for (int i = 0; i < 24; ++i) lending.hours.times.push_back({i * 60 + 30, i * 60 + 40});
  const PeerOffer offer =
      gpl::peer::apply_limits(fitted(with_environments(200)), lending, 0, false);
  CHECK(!offer.closed.empty());
  CHECK(encoded_bytes(offer) <= offer_limit_bytes);
}

TEST_CASE("how much of a device's memory is used is no change") {
  PeerOffer before = with_environments(2);
  before.accelerators = {card(0), card(1)};
  PeerOffer after = before;
  after.accelerators[1].memory_used_bytes = 77;
  after.accelerators[0].memory_used_bytes.reset();
  CHECK(same_for_placing(before, after));
}

TEST_CASE("all else is a change") {
  PeerOffer before = with_environments(2);
  before.accelerators = {card(0), card(1)};
  const auto changed = [&](auto change) {
    PeerOffer after = before;
    change(after);
    return !same_for_placing(before, after);
  };
  CHECK(changed([](PeerOffer& offer) { offer.accelerators[0].usable = true; }));
  CHECK(changed([](PeerOffer& offer) { offer.accelerators.pop_back(); }));
  CHECK(changed([](PeerOffer& offer) { offer.environments.pop_back(); }));
  CHECK(changed([](PeerOffer& offer) { offer.closed = "draining"; }));
  CHECK(changed([](PeerOffer& offer) { offer.host.cpus = 3; }));
}

TEST_CASE("this machine is probed") {
  gpl::peer::Lending lending;
  lending.labels = {{"site", "attic"}};
  const PeerOffer offer = gpl::peer::probe_offer({}, lending);
  CHECK(offer.name == gpl::host::host_name());
  CHECK(offer.host.cpus > 0);
  CHECK(offer.labels == lending.labels);
  CHECK(offer.feature_level == gpl::newest_feature_level);
  CHECK(offer.closed.empty());
  CHECK(encoded_bytes(offer) <= offer_limit_bytes);
}
