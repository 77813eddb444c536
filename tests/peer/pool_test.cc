#include "gpl/peer/pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "../net/run_until.h"

using namespace gpl;
using namespace gpl::peer;

namespace {

/// Closed until opened, for work of the pool to stand before.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    wake_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool open_ = false;
};

}  // namespace

TEST_CASE("work is done on another thread, and its end is told on the loop's") {
  const auto loop = make_loop();
  Pool pool(*loop);
  const Ticket ticket;
  std::thread::id worked;
  std::thread::id told;
  pool.submit(
      ticket, [&] { worked = std::this_thread::get_id(); },
      [&] { told = std::this_thread::get_id(); });
  run_until(*loop, [&] { return told != std::thread::id(); });
  CHECK(told == std::this_thread::get_id());
  CHECK(worked != told);
}

TEST_CASE("nothing is told once the ticket is gone, though the work was done") {
  const auto loop = make_loop();
  Pool pool(*loop);
  std::optional<Ticket> ticket(std::in_place);
  const Ticket other;
  std::atomic<bool> worked = false;
  bool told = false;
  bool other_told = false;
  Gate gate;
  pool.submit(
      *ticket, [&] { gate.pass(), worked = true; }, [&] { told = true; });
  ticket.reset();
  gate.open();
  run_until(*loop, [&] {
    if (worked && !other_told)
      pool.submit(
          other, [] {}, [&] { other_told = true; });
    if (!worked)
      pool.submit(
          other, [] {}, [] {});
    return other_told;
  });
  run_ready(*loop);
  CHECK_FALSE(told);
}

TEST_CASE("a pool that ends waits for running work, and drops what has not begun or was not told") {
  const auto loop = make_loop();
  const Ticket ticket;
  std::atomic<int> running = 0;
  std::atomic<int> finished = 0;
  bool told = false;
  bool late_work = false;
  auto owned = std::make_shared<int>(7);
  const std::weak_ptr<int> watch = owned;
  {
    Pool pool(*loop, 2);
    for (int i = 0; i < 2; ++i) {
      pool.submit(
          ticket,
          [&] {
            ++running;
            while (!watch.expired()) std::this_thread::yield();
            ++finished;
          },
          [&] { told = true; });
    }
    while (running < 2) std::this_thread::yield();
    pool.submit(
        ticket, [&, owned = std::move(owned)] { late_work = true; }, [&] { told = true; });
  }
  CHECK(finished == 2);
  run_ready(*loop);
  CHECK_FALSE(told);
  CHECK_FALSE(late_work);
}

TEST_CASE("what work owns is dropped before its end is told") {
  const auto loop = make_loop();
  Pool pool(*loop);
  const Ticket ticket;
  auto owned = std::make_shared<int>(7);
  const std::weak_ptr<int> watch = owned;
  bool told = false;
  pool.submit(
      ticket, [owned = std::move(owned)] {},
      [&] {
        told = true;
        CHECK(watch.expired());
      });
  run_until(*loop, [&] { return told; });
}

TEST_CASE("lengthy work leaves a thread to what is brief") {
  const auto loop = make_loop();
  Gate gate;
  Pool pool(*loop, 2);
  const Ticket ticket;
  int lengthy = 0;
  int brief = 0;
  for (int i = 0; i < 3; ++i) {
    pool.submit(
        ticket, [&] { gate.pass(); }, [&] { ++lengthy; }, Pool::Length::lengthy);
  }
  // One by one, so that each time there is nothing else but lengthy work.
  for (int i = 1; i <= 50; ++i) {
    pool.submit(
        ticket, [] {}, [&] { ++brief; });
    run_until(*loop, [&] { return brief == i; });
  }
  CHECK(lengthy == 0);
  gate.open();
  run_until(*loop, [&] { return lengthy == 3; });
}

TEST_CASE("what is told may end the pool") {
  const auto loop = make_loop();
  std::optional<Pool> pool(std::in_place, *loop);
  const Ticket ticket;
  int told = 0;
  for (int i = 0; i < 4; ++i) {
    pool->submit(
        ticket, [] {},
        [&] {
          ++told;
          pool.reset();
        });
  }
  run_until(*loop, [&] { return told > 0; });
  run_ready(*loop);
  CHECK(told == 1);
}
