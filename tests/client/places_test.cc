#include "gpl/client/places.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using gpl::Code;
using gpl::Error;
using gpl::client::Places;
using gpl::net::PeerAddress;

namespace {

using Names = std::vector<std::string>;

const PeerAddress one{"10.0.0.1", 7457};
const PeerAddress two{"10.0.0.2", 7457};
const PeerAddress three{"10.0.0.3", 7457};

/// A whole round in which nobody answers.
Names round_of(Places& places) {
  Names names;
  while (places.next()) {
    names.push_back(places.name());
    places.failed(Error{Code::not_found, places.name() + ": nobody"});
  }
  return names;
}

}  // namespace

TEST_CASE("every round tries sockets, then addresses, each once") {
  Places places({"/a", "/b"}, {one, two, one});
  const Names all = {"/a", "/b", "10.0.0.1:7457", "10.0.0.2:7457"};
  CHECK(round_of(places) == all);
  CHECK(round_of(places) == all);
}

TEST_CASE("a socket that did is the only place from then on") {
  Places places({"/a", "/b"}, {one});
  (void)places.next();
  places.failed(Error{Code::not_found, ""});
  (void)places.next();
  places.settled();
  places.learn({two});
  CHECK(round_of(places) == Names{"/b"});
}

TEST_CASE("an address that did is the first from then on, and others are learnt") {
  Places places({"/a"}, {one, two});
  for (int i = 0; i < 3; ++i) (void)places.next();
  places.settled();
  places.learn({three, one});
  CHECK(round_of(places) == Names{"10.0.0.2:7457", "10.0.0.1:7457", "10.0.0.3:7457"});
}

TEST_CASE("why a round failed is each place's own reason, a refusal's code first") {
  Places places({}, {one, two});
  (void)places.next();
  places.failed(Error{Code::not_found, "nobody at one"});
  (void)places.next();
  places.failed(Error{Code::denied, "two will not"});
  CHECK_FALSE(places.next().has_value());
  CHECK(places.why() == Error{Code::denied, "nobody at one; two will not"});
  CHECK(places.refused());
  CHECK_FALSE(places.all_refused());
}

TEST_CASE("what was refused before one did is forgotten") {
  Places places({}, {one, two});
  (void)places.next();
  places.failed(Error{Code::denied, "one will not"});
  (void)places.next();
  places.settled();
  CHECK_FALSE(places.refused());
  CHECK_FALSE(places.all_refused());
}

TEST_CASE("of many reasons a few are told, and how many more there are") {
  std::vector<PeerAddress> many;
  for (int i = 1; i <= 20; ++i) many.push_back({"10.0.1." + std::to_string(i), 7457});
  Places places({}, many);
  CHECK(round_of(places).size() == 20);
  CHECK(places.why().message.ends_with("10.0.1.5:7457: nobody; and 15 more"));
}

TEST_CASE("a name that cannot be resolved is a reason, and the rest is tried") {
  Places places({}, {{"no-such-host.invalid", 1}, one});
  CHECK(round_of(places) == Names{"10.0.0.1:7457"});
  CHECK(places.why().message.find("no-such-host.invalid") != std::string::npos);
}
