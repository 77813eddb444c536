#include "gpl/peer/strand.h"

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <vector>

#include "../net/run_until.h"

using namespace gpl;
using namespace gpl::peer;

TEST_CASE("a strand's work is done one after the other, in order") {
  const auto loop = make_loop();
  Pool pool(*loop);
  Strand strand(pool);
  std::vector<int> done;  // no lock: a data race would be the strand's
  std::vector<int> told;
  for (int i = 0; i < 200; ++i) {
    strand.submit([&, i] { done.push_back(i); }, [&, i] { told.push_back(i); });
  }
  CHECK(strand.pending() == 200);
  run_until(*loop, [&] { return told.size() == 200; });
  CHECK(done == told);
  CHECK(std::is_sorted(done.begin(), done.end()));
  CHECK(strand.pending() == 0);
}

TEST_CASE("a strand may be dropped by what it tells, and tells nothing more") {
  const auto loop = make_loop();
  Pool pool(*loop);
  std::optional<Strand> strand(std::in_place, pool);
  int told = 0;
  for (int i = 0; i < 3; ++i) {
    strand->submit([] {},
                   [&] {
                     ++told;
                     strand.reset();
                   });
  }
  run_until(*loop, [&] { return told > 0; });
  bool later = false;
  const Ticket ticket;
  pool.submit(
      ticket, [] {}, [&] { later = true; });
  run_until(*loop, [&] { return later; });
  CHECK(told == 1);
}

TEST_CASE("one strand does not wait for another") {
  const auto loop = make_loop();
  Pool pool(*loop, 2);
  Strand one(pool);
  Strand two(pool);
  std::atomic<bool> go = false;
  bool one_told = false;
  bool two_told = false;
  one.submit(
      [&] {
        while (!go) std::this_thread::yield();
      },
      [&] { one_told = true; });
  two.submit([] {}, [&] { two_told = true; });
  run_until(*loop, [&] { return two_told; });
  CHECK_FALSE(one_told);
  go = true;
  run_until(*loop, [&] { return one_told; });
}
