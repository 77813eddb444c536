#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/explain.h"
#include "gpl/core/fit.h"

using namespace gpl;

namespace {

constexpr Instant now{1'750'000'000'000};
constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

LoadHold load(int cpus, std::uint64_t memory_gib, std::string holder, int since_s,
              std::optional<int> left_s = std::nullopt) {
  LoadHold made{cpus, memory_gib * gib, std::move(holder),
                Instant{now.since_epoch_ms - since_s * 1000}, std::nullopt};
  if (left_s) made.ends_by = Instant{now.since_epoch_ms + *left_s * 1000};
  return made;
}

/// Of 8 processors and 64 GiB, with these held and no others.
PeerView loaded(std::vector<LoadHold> loads) {
  PeerView peer;
  peer.name = "lab1";
  peer.host.cpus = 8;
  peer.host.memory_bytes = 64 * gib;
  peer.reported_at = now;
  for (const LoadHold& one : loads) {
    peer.cpus_held += one.cpus;
    peer.memory_held_bytes += one.memory_bytes;
  }
  peer.loads = std::move(loads);
  return peer;
}

Requirement cpus(int count) {
  Requirement asked;
  asked.cpus = count;
  return asked;
}

std::string change_of(const Fit& fit) { return fit.reasons.at(0).remedies.at(0).change; }

}  // namespace

TEST_CASE("processors that are held are told with who has them and for how long") {
  const Fit fit = judge(cpus(2), loaded({load(8, 0, "job 1", 180)}), now);
  REQUIRE(fit.reasons.size() == 1);
  CHECK(fit.reasons[0].code == ReasonCode::cpus_held);
  CHECK(fit.reasons[0].text == "cpus: 2 asked, 0 free of 8 (8 held by job 1 for 3m)");
  CHECK(fit.reasons[0].holder == "job 1");
  CHECK(change_of(fit) == "job 1 ends");
  CHECK(!fit.free_by);
}

TEST_CASE("memory that is held is told with who has it and for how long") {
  Requirement asked;
  asked.memory_bytes = 32 * gib;
  const Fit fit = judge(
      asked, loaded({load(1, 40, "job 1", 180), load(1, 0, "job 2", 90), load(0, 8, "job 3", 60)}),
      now);
  REQUIRE(fit.reasons.size() == 1);
  CHECK(fit.reasons[0].text ==
        "memory: 32.0 GiB asked, 16.0 GiB free of 64.0 GiB (40.0 GiB held by job 1 for 3m, 8.0 GiB "
        "by job 3 for 1m)");
  CHECK(fit.reasons[0].holder == "job 1, job 3");
}

TEST_CASE("tasks of one job are one holder, since the first of them") {
  const Fit fit = judge(cpus(2), loaded({load(4, 0, "job 1", 180), load(4, 0, "job 1", 60)}), now);
  CHECK(fit.reasons[0].text == "cpus: 2 asked, 0 free of 8 (8 held by job 1 for 3m)");
  CHECK(change_of(fit) == "enough tasks of job 1 end");
  CHECK(change_of(judge(cpus(5), loaded({load(4, 0, "job 1", 180), load(4, 0, "job 1", 60)}),
                        now)) == "job 1 ends");
}

TEST_CASE("of several holders all have to end, or enough of them") {
  const PeerView peer = loaded({load(4, 0, "job 1", 180), load(3, 0, "job 2", 60)});
  CHECK(change_of(judge(cpus(6), peer, now)) == "job 1 and job 2 end");
  CHECK(change_of(judge(cpus(4), peer, now)) == "enough of job 1 and job 2 end");
}

TEST_CASE("those who are not listed are counted, and what is waited for is an amount") {
  PeerView peer = loaded({load(2, 0, "job 1", 180)});
  peer.cpus_held = 8;
  const Fit fit = judge(cpus(2), peer, now);
  CHECK(fit.reasons[0].text == "cpus: 2 asked, 0 free of 8 (2 held by job 1 for 3m, 6 by others)");
  CHECK(change_of(fit) == "2 cpus are free");
}

TEST_CASE("the fifth holder and those after it are told as others") {
  std::vector<LoadHold> loads;
  for (int i = 1; i <= 6; ++i) loads.push_back(load(1, 0, "job " + std::to_string(i), 60));
  const Fit fit = judge(cpus(7), loaded(std::move(loads)), now);
  CHECK(fit.reasons[0].text ==
        "cpus: 7 asked, 2 free of 8 (1 held by job 1 for 1m, 1 by job 2 for 1m, 1 by job 3 for 1m, "
        "1 by job 4 for 1m, 2 by others)");
  CHECK(fit.reasons[0].holder == "job 1, job 2, job 3, job 4, job 5, job 6");
  CHECK(change_of(fit) == "7 cpus are free");
}

TEST_CASE("time limits of enough holders say when processors are free, whatever the others have") {
  const PeerView peer = loaded({load(4, 0, "job 1", 180), load(2, 0, "job 2", 60, 90),
                                load(1, 0, "job 3", 60, 30), load(1, 0, "job 4", 60, 60)});
  const auto free_by = [&](int count) { return judge(cpus(count), peer, now).free_by; };
  CHECK(free_by(1) == now + seconds(30));
  CHECK(free_by(2) == now + seconds(60));
  CHECK(free_by(4) == now + seconds(90));
  CHECK(!free_by(5));
}

TEST_CASE("what is held beyond a smaller offer has to be given back first") {
  PeerView peer = loaded({load(8, 64, "job 1", 60, 30), load(2, 16, "job 2", 60, 60)});
  CHECK(judge(cpus(6), peer, now).free_by == now + seconds(30));
  CHECK(judge(cpus(7), peer, now).free_by == now + seconds(60));
  Requirement asked;
  asked.memory_bytes = 48 * gib;
  CHECK(judge(asked, peer, now).free_by == now + seconds(30));
  ++*asked.memory_bytes;
  CHECK(judge(asked, peer, now).free_by == now + seconds(60));
}

TEST_CASE("a job that waits for several things has them all at the last one's time") {
  Requirement asked = cpus(8);
  asked.memory_bytes = 64 * gib;
  PeerView peer = loaded({load(1, 0, "job 1", 60, 30), load(0, 1, "job 2", 60, 60)});
  CHECK(judge(asked, peer, now).free_by == now + seconds(60));
  CHECK(explain(asked, {peer}, now).headline ==
        "waiting: lab1 will fit when job 1 ends and job 2 ends (at most 1m more)");
  peer.loads[1].ends_by.reset();
  CHECK(!judge(asked, peer, now).free_by);
  peer.unreachable_since = now;
  CHECK(!judge(cpus(8), peer, now).free_by);
}

TEST_CASE("one job that has the device and the processors is waited for once") {
  PeerView peer = loaded({load(8, 0, "job 1", 180, 60)});
  Accelerator device;
  device.id = "cuda:0";
  device.usable = true;
  peer.accelerators = {device};
  DeviceHold hold;
  hold.holder = "job 1";
  hold.ends_by = now + seconds(60);
  peer.holds = {hold};
  Requirement asked = cpus(8);
  asked.gpus = 1;
  CHECK(explain(asked, {peer}, now).headline ==
        "waiting: lab1 will fit when job 1 ends (at most 1m more)");
}
