#include "gpl/store/commit_thread.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <atomic>
#include <future>
#include <thread>

#include "log_model.h"

namespace gpl::store {
namespace {

/// Notes what is performed, from whichever thread, and fails or waits where it is told.
class NotingDisk : public Disk {
 public:
  Result<std::vector<std::string>> list() override { return std::vector<std::string>(); }
  Result<std::uint64_t> size(std::string_view) override { return std::uint64_t{0}; }
  Result<std::string> read(std::string_view, std::uint64_t, std::size_t) override {
    return std::string();
  }
  Status perform(const Operation& operation) override {
    if (operation == waits_at) gate.get_future().wait();
    const std::lock_guard lock(mutex_);
    performed_.push_back(operation);
    threads_.push_back(std::this_thread::get_id());
    if (operation == fails_at) return Error{Code::io, "no"};
    return success();
  }
  std::vector<Operation> performed() {
    const std::lock_guard lock(mutex_);
    return performed_;
  }
  std::vector<std::thread::id> threads() {
    const std::lock_guard lock(mutex_);
    return threads_;
  }

  std::promise<void> gate;
  std::optional<Operation> waits_at;
  std::optional<Operation> fails_at;

 private:
  std::mutex mutex_;
  std::vector<Operation> performed_;
  std::vector<std::thread::id> threads_;
};

struct Fixture {
  NotingDisk disk;
  std::unique_ptr<CommitThread> committer = std::move(CommitThread::start(disk)).value();
  std::vector<std::string> told;

  Committer::Done tell(const std::string& name) {
    return [this, name](Status status) {
      told.push_back(name + (status ? "" : ": " + status.error().message));
    };
  }
  /// Runs the loop until so much was told.
  void wait_for(std::size_t count) {
    while (told.size() < count) {
      pollfd ready{committer->descriptor(), POLLIN, 0};
      REQUIRE(::poll(&ready, 1, 20'000) == 1);
      committer->take_completions();
    }
  }
};

constexpr auto log_lane = Committer::Lane::log;
constexpr auto background = Committer::Lane::background;

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "What is submitted is performed in order, off the loop, and told on it") {
  committer->submit(log_lane, {Write{"a", 0, "1"}, Sync{"a"}}, tell("first"));
  committer->submit(log_lane, {Write{"a", 1, "2"}, Sync{"a"}}, tell("second"));
  wait_for(2);
  CHECK(told == std::vector<std::string>{"first", "second"});
  CHECK(disk.performed() ==
        std::vector<Operation>{Write{"a", 0, "1"}, Sync{"a"}, Write{"a", 1, "2"}, Sync{"a"}});
  for (const std::thread::id id : disk.threads()) CHECK(id != std::this_thread::get_id());
}

TEST_CASE_FIXTURE(Fixture, "Nothing is told before it is taken, and nothing twice") {
  committer->submit(log_lane, std::vector<Operation>{}, tell("empty"));
  pollfd ready{committer->descriptor(), POLLIN, 0};
  REQUIRE(::poll(&ready, 1, 20'000) == 1);
  CHECK(told.empty());
  committer->take_completions();
  committer->take_completions();
  CHECK(told == std::vector<std::string>{"empty"});
  CHECK(::poll(&ready, 1, 0) == 0);
}

TEST_CASE_FIXTURE(Fixture, "Background work does not hold the log up") {
  disk.waits_at = Remove{"slow"};
  committer->submit(background, {Remove{"slow"}}, tell("slow"));
  committer->submit(log_lane, {Sync{"a"}}, tell("log"));
  wait_for(1);
  CHECK(told == std::vector<std::string>{"log"});
  disk.gate.set_value();
  wait_for(2);
}

TEST_CASE_FIXTURE(Fixture, "A source is asked off the loop until it has nothing more") {
  std::atomic<int> asked = 0;
  const std::thread::id loop = std::this_thread::get_id();
  std::atomic<bool> on_loop = false;
  committer->submit(
      background,
      [&]() -> Result<std::optional<Operation>> {
        on_loop = on_loop || std::this_thread::get_id() == loop;
        if (++asked > 2) return std::optional<Operation>();
        return std::optional<Operation>(Remove{std::to_string(asked)});
      },
      tell("source"));
  wait_for(1);
  CHECK(asked == 3);
  CHECK_FALSE(on_loop);
  CHECK(disk.performed() == std::vector<Operation>{Remove{"1"}, Remove{"2"}});
}

TEST_CASE_FIXTURE(Fixture, "A failure in the log lane stops the lane for good") {
  disk.fails_at = Write{"a", 0, "x"};
  committer->submit(log_lane, {Write{"a", 0, "x"}, Sync{"a"}}, tell("first"));
  committer->submit(log_lane, {Sync{"b"}}, tell("second"));
  committer->submit(background, {Remove{"c"}}, tell("third"));
  wait_for(3);
  std::sort(told.begin(), told.end());
  CHECK(told == std::vector<std::string>{"first: no", "second: no", "third"});
  const std::vector<Operation> performed = disk.performed();
  CHECK(std::count(performed.begin(), performed.end(), Operation(Sync{"a"})) == 0);
  CHECK(std::count(performed.begin(), performed.end(), Operation(Sync{"b"})) == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "A failure in the background ends its own piece of work, a failed sync too") {
  disk.fails_at = Create{"a", 1};
  committer->submit(background, {Create{"a", 1}, Sync{"a"}}, tell("create"));
  committer->submit(background, {Remove{"b"}}, tell("remove"));
  wait_for(2);
  CHECK(told == std::vector<std::string>{"create: no", "remove"});
  disk.fails_at = Sync{"s"};
  committer->submit(background, {Sync{"s"}}, tell("sync"));
  committer->submit(background, {Remove{"c"}}, tell("after"));
  wait_for(4);
  CHECK(told[2] == "sync: no");
  CHECK(told[3] == "after");
}

TEST_CASE_FIXTURE(Fixture, "The end waits for what was submitted") {
  for (int i = 0; i < 100; ++i) {
    committer->submit(log_lane, {Sync{std::to_string(i)}}, tell("log"));
    committer->submit(background, {Remove{std::to_string(i)}}, tell("background"));
  }
  committer.reset();
  CHECK(disk.performed().size() == 200);
  CHECK(told.empty());
}

TEST_CASE_FIXTURE(Fixture, "What is done may submit more") {
  int rounds = 0;
  std::function<void(Status)> again = [&](Status) {
    told.push_back("round");
    if (++rounds < 50) committer->submit(log_lane, {Sync{"a"}}, again);
  };
  committer->submit(log_lane, {Sync{"a"}}, again);
  wait_for(50);
  CHECK(disk.performed().size() == 50);
}

}  // namespace gpl::store
