#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "effort.h"
#include "state_checks.h"
#include "state_history.h"

using namespace gpl;
using namespace gpl::test;

namespace {

/// Applies the history of the seed; every attempt's outcome is taken once at most.
struct Counted {
  int refused = 0;
  int overlaps = 0;
  int ended = 0;
};
Counted run_history(std::uint64_t seed, int commands) {
  ClusterState state;
  ClusterState twin;
  History history(seed);
  std::set<Fence> taken;
  Counted counted;
  for (int i = 0; i < commands; ++i) {
    const Command command = history.next(state);
    CAPTURE(seed);
    CAPTURE(i);
    CAPTURE(name_of(command));
    const auto before = parts_of(state.freeze());
    const std::uint64_t digest = state.digest();
    const Applied applied = state.apply(command);
    REQUIRE(applied == twin.apply(command));
    REQUIRE(state.digest() == twin.digest());
    const bool same = parts_of(state.freeze()) == before;
    REQUIRE(same == (state.digest() == digest));
    if (applied.refused) {
      REQUIRE(same);
      ++counted.refused;
    } else if (const auto* report = std::get_if<command::Report>(&command)) {
      if (!applied.given_up) REQUIRE(taken.insert(report->attempt).second);
    }
    counted.overlaps += static_cast<int>(applied.overlaps.size());
    counted.ended += static_cast<int>(applied.ended.size());
    check_all(state);
  }
  REQUIRE(parts_of(twin.freeze()) == parts_of(state.freeze()));
  return counted;
}

}  // namespace

TEST_CASE("whatever is applied, the state is sound, and what is refused changes nothing") {
  CHECK(rc::check([](std::uint64_t seed) { run_history(seed, static_cast<int>(60 * effort())); }));
}

TEST_CASE("a long history is sound to its end, and has some of everything") {
  const Counted counted = run_history(7, static_cast<int>(1200 * effort()));
  CHECK(counted.refused > 50);
  CHECK(counted.refused < 1000 * static_cast<int>(effort()));
  CHECK(counted.ended > 25);
  CHECK(counted.overlaps > 0);
}

TEST_CASE("the order of commands shows in the digest") {
  const auto digest_of = [](const std::vector<Command>& commands) {
    ClusterState state;
    for (const Command& command : commands) REQUIRE(!state.apply(command).refused);
    return state.digest();
  };
  Cluster cluster;
  const Command one = cluster.up(lab1);
  const Command two = cluster.up(lab2);
  CHECK(digest_of({one, two}) == digest_of({one, two}));
  CHECK(digest_of({one, two}) != digest_of({two, one}));
  CHECK(digest_of({one}) != digest_of({two}));
}

TEST_CASE("what a command says shows in the digest, wherever it says it") {
  const auto digest_of = [](const std::function<void(command::Submit&)>& change) {
    Cluster cluster;
    auto submit = cluster.submit(one_task());
    change(submit);
    cluster.fine(submit);
    return cluster.state.digest();
  };
  std::set<std::uint64_t> digests;
  const std::vector<std::function<void(command::Submit&)>> changes = {
      [](command::Submit&) {},
      [](command::Submit& s) { s.at.since_epoch_ms += 1; },
      [](command::Submit& s) { s.request.high += 1; },
      [](command::Submit& s) { s.submitter.uid += 1; },
      [](command::Submit& s) {
        s.job.spec.command = {"tru", "e"};
      },
      [](command::Submit& s) {
        s.job.spec.command = {"true", ""};
      },
      [](command::Submit& s) {
        s.job.spec.env = {{"A", "1"}};
      },
      [](command::Submit& s) {
        s.job.spec.env = {{"A", "2"}};
      },
      [](command::Submit& s) {
        s.job.spec.stage = {"A", "1"};
      },
      [](command::Submit& s) { s.job.requirement.cpus = 1; },
      [](command::Submit& s) { s.job.requirement.cpus = 2; },
      [](command::Submit& s) { s.job.requirement.gpus = 1; },
      [](command::Submit& s) {
        s.job.shape = Array{task(0), std::nullopt};
      },
      [](command::Submit& s) {
        s.job.shape = Array{task(0), 1};
      },
      [](command::Submit& s) { s.job.priority = -1; },
      [](command::Submit& s) { s.job.priority = 1; },
      [](command::Submit& s) { s.job.on_loss = OnLoss::fail; },
      [](command::Submit& s) {
        s.placings = {{task(0), lab1, {}}};
      },
      [](command::Submit& s) {
        s.placings = {{task(0), lab2, {}}};
      }};
  for (const auto& change : changes) digests.insert(digest_of(change));
  CHECK(digests.size() == changes.size());
}
