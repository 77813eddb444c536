#include "gpl/peer/lending.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

using gpl::AcceleratorKind;
using gpl::Code;
using gpl::Instant;
using gpl::PeerOffer;
using gpl::peer::apply_limits;
using gpl::peer::check_limits;
using gpl::peer::Lending;
using gpl::peer::with_options;

namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
constexpr int noon = 12 * 60;

gpl::Accelerator device(const std::string& id, AcceleratorKind kind, int index) {
  gpl::Accelerator made;
  made.id = id;
  made.kind = kind;
  made.index = index;
  made.usable = true;
  return made;
}

/// 16 cpus, 64 GiB, cuda:0, cuda:1, rocm:0.
PeerOffer lab() {
  PeerOffer offer;
  offer.name = "lab1";
  offer.host.cpus = 16;
  offer.host.memory_bytes = 64 * gib;
  offer.accelerators = {device("cuda:0", AcceleratorKind::cuda, 0),
                        device("cuda:1", AcceleratorKind::cuda, 1),
                        device("rocm:0", AcceleratorKind::rocm, 0)};
  return offer;
}

Lending of_devices(std::vector<std::string> words) {
  Lending lending;
  lending.devices = std::move(words);
  return lending;
}

std::vector<std::string> lent(const Lending& lending) {
  std::vector<std::string> ids;
  for (const auto& one : apply_limits(lab(), lending, noon, false).accelerators)
    ids.push_back(one.id);
  return ids;
}

std::string refusal_of(const Lending& lending) {
  const gpl::Status checked = check_limits(lab(), lending);
  REQUIRE(!checked.ok());
  CHECK(checked.error().code == Code::invalid);
  return checked.error().message;
}

}  // namespace

TEST_CASE("without limits all is lent") {
  CHECK(check_limits(lab(), {}).ok());
  CHECK(apply_limits(lab(), {}, noon, false) == lab());
}

TEST_CASE("devices are lent by id and by kind") {
  CHECK(lent(of_devices({"cuda:1", "rocm"})) == std::vector<std::string>{"cuda:1", "rocm:0"});
  CHECK(lent(of_devices({"cuda"})) == std::vector<std::string>{"cuda:0", "cuda:1"});
  CHECK(lent(of_devices({})).empty());
}

TEST_CASE("a device that is not there is refused at the start, with those that are") {
  CHECK(check_limits(lab(), of_devices({"cuda:0", "rocm"})).ok());
  CHECK(refusal_of(of_devices({"cuda:0", "cuda:7"})) ==
        "cannot lend cuda:7: lab1 has cuda:0, cuda:1, rocm:0; change --offer, or 'devices' in "
        "gpl.toml");
  CHECK(refusal_of(of_devices({"mps"})).starts_with("cannot lend mps: lab1 has cuda:0"));
  PeerOffer bare = lab();
  bare.accelerators.clear();
  CHECK(check_limits(bare, of_devices({"cuda"}))
            .error()
            .message.starts_with("cannot lend cuda: lab1 has no devices"));
}

TEST_CASE("a device that goes away later is passed over") {
  CHECK(lent(of_devices({"cuda:7", "rocm"})) == std::vector<std::string>{"rocm:0"});
}

TEST_CASE("processors and memory are lowered") {
  Lending lending;
  lending.cpus = 6;
  lending.memory_bytes = 24 * gib;
  CHECK(check_limits(lab(), lending).ok());
  const PeerOffer offer = apply_limits(lab(), lending, noon, false);
  CHECK(offer.host.cpus == 6);
  CHECK(offer.host.memory_bytes == 24 * gib);
}

TEST_CASE("processors and memory are never raised above what is there") {
  Lending lending;
  lending.cpus = 17;
  CHECK(refusal_of(lending) ==
        "cannot lend 17 cpus: lab1 has 16 for this process; change --cpus, or 'cpus' in gpl.toml");
  CHECK(apply_limits(lab(), lending, noon, false).host.cpus == 16);
  lending = {};
  lending.memory_bytes = 64 * gib + 1;
  CHECK(refusal_of(lending) ==
        "cannot lend 68719476737 bytes of memory: lab1 has 68719476736 (64.0 GiB); change "
        "--memory, or 'memory' in gpl.toml");
  CHECK(apply_limits(lab(), lending, noon, false).host.memory_bytes == 64 * gib);
}

TEST_CASE("where a machine's memory is unknown its owner's word counts") {
  PeerOffer offer = lab();
  offer.host.memory_bytes = 0;
  Lending lending;
  CHECK(apply_limits(offer, lending, noon, false).host.memory_bytes == 0);
  lending.memory_bytes = 8 * gib;
  CHECK(check_limits(offer, lending).ok());
  CHECK(apply_limits(offer, lending, noon, false).host.memory_bytes == 8 * gib);
}

TEST_CASE("outside its hours a machine is closed, with all that it has") {
  Lending lending;
  lending.hours = gpl::parse_lending_hours("20:00-08:00").value();
  PeerOffer closed = lab();
  closed.closed = "lends from 20:00 to 08:00";
  CHECK(apply_limits(lab(), lending, noon, false) == closed);
  CHECK(apply_limits(closed, lending, 20 * 60, false) == lab());
}

TEST_CASE("a peer that is draining is closed, whatever its hours") {
  Lending lending;
  CHECK(apply_limits(lab(), lending, noon, true).closed == "draining");
  lending.hours = gpl::parse_lending_hours("20:00-08:00").value();
  CHECK(apply_limits(lab(), lending, noon, true).closed == "draining");
}

TEST_CASE("a coordinator lends nothing") {
  const PeerOffer offer = apply_limits(lab(), gpl::peer::lend_nothing(), noon, false);
  CHECK(offer.accelerators.empty());
  CHECK(offer.host.cpus == 0);
}

TEST_CASE("the command line goes before the configuration") {
  Lending configured = of_devices({"cuda:0"});
  configured.cpus = 4;
  configured.memory_bytes = gib;
  configured.labels = {{"site", "attic"}};
  const auto same = with_options(configured, {});
  REQUIRE(same.ok());
  CHECK(same.value() == configured);

  const auto changed = with_options(configured, {"rocm, cuda:1", "6", "24Gi"});
  REQUIRE(changed.ok());
  Lending expected = of_devices({"rocm", "cuda:1"});
  expected.cpus = 6;
  expected.memory_bytes = 24 * gib;
  expected.labels = configured.labels;
  CHECK(changed.value() == expected);

  CHECK(!with_options(configured, {"all", {}, {}}).value().devices);
  CHECK(with_options(configured, {"none", {}, {}}).value().devices->empty());
  CHECK(with_options(configured, {{}, "0", {}}).value().cpus == 0);
}

TEST_CASE("a wrong option is named") {
  const auto refusal = [](const gpl::peer::LendingOptions& options) {
    const auto lending = with_options({}, options);
    REQUIRE(!lending.ok());
    CHECK(lending.error().code == Code::invalid);
    return lending.error().message;
  };
  CHECK(refusal({"gpu0", {}, {}}).starts_with("--offer: 'gpu0' is no device"));
  CHECK(refusal({{}, "-1", {}}) == "--cpus '-1': expected a number from 0 on");
  CHECK(refusal({{}, "6x", {}}) == "--cpus '6x': expected a number from 0 on");
  CHECK(refusal({{}, "", {}}) == "--cpus '': expected a number from 0 on");
  CHECK(refusal({{}, {}, "24g"}).starts_with("--memory: '24g' is not a size"));
  CHECK(refusal({{}, {}, "0"}) == "--memory 0: no job can run in that");
}

TEST_CASE("the minute of the day is that of the time zone") {
  const char* before = std::getenv("TZ");
  const std::string zone = before == nullptr ? "" : before;
  ::setenv("TZ", "XYZ-03:30", 1);
  ::tzset();
  CHECK(gpl::peer::local_minute_of_day(Instant{0}) == 3 * 60 + 30);
  CHECK(gpl::peer::local_minute_of_day(Instant{std::int64_t{21} * 3'600'000}) == 30);
  if (before == nullptr)
    ::unsetenv("TZ");
  else
    ::setenv("TZ", zone.c_str(), 1);
  ::tzset();
}
