#include "gpl/core/lease.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpl/core/prng.h"

using namespace gpl;

namespace {

constexpr PeerId peer{7};
constexpr Duration lease = seconds(60);

/// A machine's clock over true time in microseconds: millionths of its rate, whole milliseconds.
struct SkewedClock {
  std::int64_t rate_ppm;
  std::int64_t offset_us;
  Moment read(std::int64_t true_us) const {
    return Moment{(offset_us + true_us / 1000 * rate_ppm / 1000 + true_us % 1000) / 1000};
  }
};

SkewedClock some_clock(Prng& prng) {
  // The fastest and the slowest differ by one part in a hundred.
  const std::int64_t rates[] = {1'000'000, 1'010'000,
                                static_cast<std::int64_t>(prng.between(1'000'000, 1'010'000))};
  return {rates[prng.below(3)], static_cast<std::int64_t>(prng.below(1'000'000'000))};
}

enum class CountedFrom { asking, answer };

/// One holder renews at a leader that is replaced at some time without knowing it, and now and then
/// at its successor. Messages take up to a minute, and arrive in any order. Says whether a leader
/// ever counted a lease as over that the holder still held.
bool holds_what_is_over(std::uint64_t seed, CountedFrom counted_from) {
  Prng prng(seed);
  const SkewedClock worker = some_clock(prng);
  const SkewedClock clocks[] = {some_clock(prng), some_clock(prng)};
  const auto replaced_us = static_cast<std::int64_t>(prng.below(300'000'000));

  struct Event {
    std::int64_t true_us;
    std::size_t leader;
    std::int64_t asked_us;
    std::int64_t answered_us;
    enum { answer, arrival, look } what;
  };
  std::vector<Event> events;
  for (int i = 0; i < 40; ++i) {
    const auto asked_us = static_cast<std::int64_t>(prng.below(500'000'000));
    const auto longest_us = prng.one_in(4) ? 60'000'000u : 200'000u;
    const auto answered_us = asked_us + static_cast<std::int64_t>(prng.below(longest_us));
    const auto arrives_us = answered_us + static_cast<std::int64_t>(prng.below(longest_us));
    const std::size_t leader = answered_us > replaced_us && !prng.one_in(3) ? 1 : 0;
    events.push_back({answered_us, leader, asked_us, answered_us, Event::answer});
    if (!prng.one_in(5))
      events.push_back({arrives_us, leader, asked_us, answered_us, Event::arrival});
  }
  for (std::int64_t true_us = 0; true_us < 700'000'000; true_us += 77'000)
    events.push_back({true_us, 0, 0, 0, Event::look});
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.true_us < b.true_us; });

  LeaseHolder holder;
  LeaseLedger ledgers[] = {LeaseLedger(clocks[0].read(0)),
                           LeaseLedger(clocks[1].read(replaced_us))};
  for (const Event& event : events) {
    const std::int64_t now_us = event.true_us;
    switch (event.what) {
      case Event::answer:
        ledgers[event.leader].answered(peer, clocks[event.leader].read(now_us));
        break;
      case Event::arrival: {
        // The first leader can have had no majority after it was replaced.
        const std::int64_t led_us =
            event.leader == 0 ? std::min(event.answered_us, replaced_us) : event.answered_us;
        const SkewedClock& clock = clocks[event.leader];
        const Duration unconfirmed = clock.read(event.answered_us) - clock.read(led_us);
        const std::int64_t asked_us = counted_from == CountedFrom::asking ? event.asked_us : now_us;
        holder.renewed(worker.read(asked_us), unconfirmed);
        break;
      }
      case Event::look:
        break;
    }
    for (const Duration length : {shortest_lease, seconds(61), seconds(180)}) {
      const bool held = !holder.over(worker.read(now_us), length);
      const bool over_by_first = ledgers[0].over(peer, clocks[0].read(now_us), length);
      const bool over_by_second =
          now_us >= replaced_us && ledgers[1].over(peer, clocks[1].read(now_us), length);
      // The first one's word counts no more once it is replaced: it can commit nothing.
      if (held && ((over_by_first && now_us < replaced_us) || over_by_second)) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("a holder that was never granted a lease holds none") {
  const LeaseHolder holder;
  CHECK(holder.over(Moment{0}, lease));
  CHECK_FALSE(holder.over_at(lease));
}

TEST_CASE("a lease counts from when it was asked for") {
  LeaseHolder holder;
  holder.renewed(Moment{1'000}, milliseconds(0));
  CHECK(holder.over_at(lease) == Moment{61'000});
  CHECK_FALSE(holder.over(Moment{60'999}, lease));
  CHECK(holder.over(Moment{61'000}, lease));
}

TEST_CASE("one renewal serves leases of every length") {
  LeaseHolder holder;
  holder.renewed(Moment{1'000}, milliseconds(0));
  CHECK(holder.over_at(seconds(30)) == Moment{31'000});
  CHECK(holder.over_at(seconds(3600)) == Moment{3'601'000});
}

TEST_CASE("an answer to an older question does not shorten a lease") {
  LeaseHolder holder;
  holder.renewed(Moment{5'000}, milliseconds(0));
  holder.renewed(Moment{1'000}, milliseconds(0));
  CHECK(holder.renewed_at() == Moment{5'000});
}

TEST_CASE("a lease is shorter by the time for which its leader may have been none") {
  LeaseHolder holder;
  holder.renewed(Moment{50'000}, seconds(10));
  // Ten seconds of the leader's clock, one in a hundred more, and 2 ms for whole milliseconds.
  CHECK(holder.renewed_at() == Moment{50'000 - 10'000 - 100 - 2});
}

TEST_CASE("a ledger counts from its last answer, lengthened by what clocks may differ") {
  LeaseLedger ledger(Moment{0});
  ledger.answered(peer, Moment{9'000});
  ledger.answered(peer, Moment{4'000});
  CHECK(ledger.over_at(peer, lease) == Moment{9'000 + 60'000 + 600 + 2});
  CHECK_FALSE(ledger.over(peer, Moment{69'601}, lease));
  CHECK(ledger.over(peer, Moment{69'602}, lease));
}

TEST_CASE("a new leader waits out a full lease of every peer from when it began") {
  const LeaseLedger ledger(Moment{100'000});
  CHECK(ledger.over_at(PeerId{1}, lease) == Moment{160'602});
  CHECK(ledger.over_at(PeerId{2}, seconds(180)) == Moment{281'802});
}

TEST_CASE("the answers to one peer say nothing about another") {
  LeaseLedger ledger(Moment{0});
  ledger.answered(PeerId{1}, Moment{50'000});
  CHECK(ledger.over_at(PeerId{2}, lease) == Moment{60'602});
}

TEST_CASE("no lease is too short to notice silence and to end an attempt in") {
  CHECK(effective_lease(seconds(1)) == shortest_lease);
  CHECK(effective_lease(seconds(31)) == seconds(31));
}

TEST_CASE("what a leader counts as over no holder holds, whatever clocks, delays and leaders do") {
  CHECK(rc::check(
      [](std::uint64_t seed) { RC_ASSERT_FALSE(holds_what_is_over(seed, CountedFrom::asking)); }));
}

TEST_CASE("a lease that is counted from the answer is held when it is over") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    found += holds_what_is_over(seed, CountedFrom::answer) ? 1 : 0;
  CHECK(found > 10);
}
