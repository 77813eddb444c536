#include "gpl/peer/health.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "temporary_folder.h"

using gpl::PeerOffer;
using gpl::peer::device_rows;
using gpl::peer::HealthFacts;
using gpl::peer::memory_row;
using gpl::wire::HealthRow;
using Level = gpl::wire::HealthRow::Level;

namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

gpl::Accelerator card(int index, bool usable, std::vector<std::string> problems = {}) {
  gpl::Accelerator made;
  made.id = "cuda:" + std::to_string(index);
  made.index = index;
  made.usable = usable;
  made.problems = std::move(problems);
  return made;
}

}  // namespace

TEST_CASE("a finding becomes a row of its level") {
  using Finding = gpl::host::Finding;
  CHECK(gpl::peer::row_of({Finding::Level::ok, "a", "b"}) == HealthRow{Level::ok, "a", "b"});
  CHECK(gpl::peer::row_of({Finding::Level::warn, "a", "b"}) == HealthRow{Level::warn, "a", "b"});
  CHECK(gpl::peer::row_of({Finding::Level::fail, "a", "b"}) == HealthRow{Level::fail, "a", "b"});
}

TEST_CASE("a keeper that is not connected is a failure") {
  HealthFacts facts;
  facts.version = "0.5.0";
  CHECK(gpl::peer::keeper_row(facts).level == Level::fail);
  facts.keeper_version = "0.5.0";
  CHECK(gpl::peer::keeper_row(facts) == HealthRow{Level::ok, "keeper", "connected, of gpl 0.5.0"});
}

TEST_CASE("a keeper of another version is told as such, and is fine") {
  HealthFacts facts;
  facts.version = "0.5.0";
  facts.keeper_version = "0.4.0";
  const HealthRow row = gpl::peer::keeper_row(facts);
  CHECK(row.level == Level::ok);
  CHECK(row.text.starts_with("connected, of gpl 0.4.0 where the peer is of 0.5.0"));
}

TEST_CASE("a log that takes no more says why") {
  HealthFacts facts;
  facts.log = "/state/log";
  CHECK(gpl::peer::log_row(facts) == HealthRow{Level::ok, "log", "/state/log"});
  facts.log_fault = "no space";
  const HealthRow row = gpl::peer::log_row(facts);
  CHECK(row.level == Level::fail);
  CHECK(row.text.starts_with("/state/log takes no more: no space"));
}

TEST_CASE("devices that all work take one row") {
  PeerOffer offer;
  CHECK(device_rows(offer) == std::vector<HealthRow>{{Level::ok, "devices", "none found"}});
  offer.accelerators = {card(0, true), card(1, true)};
  CHECK(device_rows(offer) == std::vector<HealthRow>{{Level::ok, "devices", "2 usable"}});
}

TEST_CASE("each unusable device has a row, with the mend where one is known") {
  PeerOffer offer;
  offer.accelerators = {card(0, true), card(1, false, {"GPU requires reset", "hot"}),
                        card(2, false)};
  CHECK(device_rows(offer) ==
        std::vector<HealthRow>{
            {Level::warn, "cuda:1",
             "unusable: GPU requires reset; hot: nvidia-smi --gpu-reset, or reboot"},
            {Level::warn, "cuda:2", "unusable: its driver does not say why"}});
}

TEST_CASE("a driver that does not match its library is a failure with the mend") {
  PeerOffer offer;
  offer.problems = {
      {"nvidia-smi", 18, "Failed to initialize NVML: Driver/library version mismatch"}};
  const auto rows = device_rows(offer);
  REQUIRE(!rows.empty());
  CHECK(rows[0] == HealthRow{Level::fail, "nvidia-smi",
                             "Failed to initialize NVML: Driver/library version mismatch (exit "
                             "18): reboot, or reload the driver"});
}

TEST_CASE("another probe's problem is a warning, as it came") {
  PeerOffer offer;
  offer.problems = {{"offer", std::nullopt, "1 of 2 devices are left out"},
                    {"nvidia-smi", 0, "odd"}};
  const auto rows = device_rows(offer);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0] == HealthRow{Level::warn, "offer", "1 of 2 devices are left out"});
  CHECK(rows[1] == HealthRow{Level::warn, "nvidia-smi", "odd"});
}

TEST_CASE("memory is told as lent of what there is") {
  PeerOffer offer;
  gpl::peer::Lending lending;
  CHECK(memory_row(offer, lending).level == Level::warn);
  lending.memory_bytes = 4 * gib;
  CHECK(memory_row(offer, lending) == HealthRow{Level::ok, "memory", "4.0 GiB lent"});
  offer.host.memory_bytes = 8 * gib;
  CHECK(memory_row(offer, lending) == HealthRow{Level::ok, "memory", "4.0 GiB of 8.0 GiB lent"});
  CHECK(memory_row(offer, {}) == HealthRow{Level::ok, "memory", "all of 8.0 GiB lent"});
  lending.memory_bytes = 9 * gib;
  CHECK(memory_row(offer, lending).level == Level::warn);
}

TEST_CASE("the whole has a row for each thing looked at") {
  const TemporaryFolder folder;
  HealthFacts facts;
  facts.state = folder.path();
  facts.user = {1000, "ana", "/home/ana", "/bin/sh"};
  facts.now = gpl::Instant{};
  const auto rows = gpl::peer::health(facts);
  std::vector<std::string> subjects;
  for (const HealthRow& row : rows) subjects.push_back(row.subject);
  CHECK(subjects == std::vector<std::string>{"keeper", "log", "disk", "memory", "devices", "clock",
                                             "open files", "user", "lingering"});
  const auto clock = std::find_if(rows.begin(), rows.end(),
                                  [](const HealthRow& row) { return row.subject == "clock"; });
  CHECK(clock->level == Level::fail);
}
