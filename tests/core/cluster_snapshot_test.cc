#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "state_history.h"

using namespace gpl;
using namespace gpl::test;

namespace {

std::vector<StatePart> parts_after(std::uint64_t seed, int commands) {
  ClusterState state;
  History history(seed);
  for (int i = 0; i < commands; ++i) state.apply(history.next(state));
  return parts_of(state.freeze());
}

/// One waiting, one ended, one running twice in a slot, one blocked job, one fenced attempt.
std::vector<StatePart> small_state() {
  Cluster cluster;
  cluster.add(array_of(10));
  cluster.add(one_task());
  cluster.end(job2, Exited{0});
  JobDescription job = array_of(4);
  job.on_loss = OnLoss::retry;
  job.retries = 1;
  cluster.add(job);
  cluster.run(job3, tasks(0, 1), claims({card(0)}));
  cluster.fine(cluster.report(cluster.run(job3, task(3)).front(), Exited{1}));
  const Fence fenced = cluster.run(job3, task(2)).front();
  cluster.fine(command::LeasesOver{lab1, {fenced}, cluster.now()});
  cluster.add(after(one_task(), {{job1, After::ok}}));
  return cluster.parts();
}

std::string why_not(std::vector<StatePart> parts) {
  const auto restored = ClusterState::restore(std::move(parts));
  if (restored.ok()) return "";
  const std::string& message = restored.error().message;
  const std::string start = "the snapshot is not one of a state: ";
  REQUIRE(message.substr(0, start.size()) == start);
  return message.substr(start.size());
}

/// The small state with its part of a kind changed.
template <class Part>
std::string why_not_with(const std::function<void(Part&)>& change) {
  std::vector<StatePart> parts = small_state();
  for (StatePart& part : parts) {
    if (auto* found = std::get_if<Part>(&part)) {
      change(*found);
      return why_not(std::move(parts));
    }
  }
  FAIL("there is no such part");
  return "";
}

std::string with_job(std::size_t index, const std::function<void(JobRecord&)>& change) {
  return why_not_with<JobsPart>([&](JobsPart& part) { change(part.jobs.at(index)); });
}
std::string with_description(std::size_t index,
                             const std::function<void(JobDescription&)>& change) {
  return with_job(index, [&](JobRecord& job) {
    JobDescription description = *job.description;
    change(description);
    job.description = std::make_shared<const JobDescription>(description);
  });
}
std::string with_attempt(std::size_t index, const std::function<void(Attempt&)>& change) {
  return why_not_with<AttemptsPart>([&](AttemptsPart& part) { change(part.attempts.at(index)); });
}

}  // namespace

TEST_CASE("a restored state is the one that was frozen, part by part") {
  for (const auto& parts : {small_state(), Cluster().parts(), parts_of(ClusterState().freeze()),
                            parts_after(1, 3000)}) {
    const auto restored = ClusterState::restore(parts);
    REQUIRE(restored.ok());
    CHECK(restored.value().digest() == std::get<StateCounters>(parts.front()).digest);
    CHECK(parts_of(restored.value().freeze()).size() <= parts.size());
    std::size_t jobs = 0;
    for (const StatePart& part : parts) {
      if (const auto* some = std::get_if<JobsPart>(&part)) {
        for (const JobRecord& job : some->jobs) CHECK(*restored.value().find_job(job.id) == job);
        jobs += some->jobs.size();
      }
    }
    CHECK(restored.value().job_count() == jobs);
  }
}

TEST_CASE("a small state is restored as it was") {
  const auto restored = ClusterState::restore(small_state());
  REQUIRE(restored.ok());
  CHECK(parts_of(restored.value().freeze()) == small_state());
}

TEST_CASE("the parts of a snapshot are small") {
  for (const StatePart& part : parts_after(2, 20'000)) {
    if (const auto* jobs = std::get_if<JobsPart>(&part)) CHECK(jobs->jobs.size() <= 64);
    if (const auto* tasks = std::get_if<EndedPart>(&part)) CHECK(tasks->tasks.size() <= 64);
  }
}

TEST_CASE("a frozen state stays as it was, whatever is applied afterwards") {
  ClusterState state;
  History history(3);
  std::vector<std::pair<FrozenState, std::vector<StatePart>>> frozen;
  for (int i = 0; i < 4000; ++i) {
    if (i % 97 == 0) {
      const FrozenState now = state.freeze();
      frozen.emplace_back(now, parts_of(now));
    }
    state.apply(history.next(state));
  }
  for (const auto& [then, parts] : frozen) CHECK(parts_of(then) == parts);
}

TEST_CASE("another thread reads a frozen state while commands are applied") {
  ClusterState state;
  History history(4);
  for (int i = 0; i < 3000; ++i) state.apply(history.next(state));
  for (int round = 0; round < 5; ++round) {
    const std::vector<StatePart> expected = parts_of(state.freeze());
    bool same = true;
    std::thread reader([&same, &expected, frozen = state.freeze()]() mutable {
      for (std::size_t i = 0; i < expected.size(); ++i) same &= frozen.part(i) == expected[i];
    });
    for (int i = 0; i < 2000; ++i) state.apply(history.next(state));
    reader.join();
    CHECK(same);
  }
}

TEST_CASE("a restored state answers all that follows as the one that was frozen") {
  ClusterState state;
  History history(5);
  for (int i = 0; i < 2000; ++i) state.apply(history.next(state));
  auto restored = ClusterState::restore(parts_of(state.freeze()));
  REQUIRE(restored.ok());
  for (int i = 0; i < 2000; ++i) {
    const Command command = history.next(state);
    CAPTURE(name_of(command));
    REQUIRE(state.apply(command) == restored.value().apply(command));
    REQUIRE(state.digest() == restored.value().digest());
  }
}

TEST_CASE("parts without counters, or with two sets of them, are no state") {
  std::vector<StatePart> parts = small_state();
  parts.push_back(parts.front());
  CHECK(why_not(parts) == "it has two sets of counters");
  CHECK(why_not({}) == "it has no counters");
}

TEST_CASE("a state of a newer gpl is told apart from a damaged one") {
  std::vector<StatePart> parts = small_state();
  std::get<StateCounters>(parts.front()).feature_level = newest_feature_level + 1;
  const auto restored = ClusterState::restore(parts);
  REQUIRE(!restored.ok());
  CHECK(restored.error().code == Code::unsupported);
}

TEST_CASE("counters out of range are refused") {
  using Change = std::function<void(StateCounters&)>;
  for (const Change& change :
       {Change([](StateCounters& c) { c.feature_level = 0; }),
        Change([](StateCounters& c) { c.next_job = JobId{0}; }),
        Change([](StateCounters& c) { c.next_job = JobId{~std::uint64_t{0}}; }),
        Change([](StateCounters& c) { c.next_attempt = AttemptId{0}; }),
        Change([](StateCounters& c) { c.next_attempt = AttemptId{~std::uint64_t{0}}; }),
        Change([](StateCounters& c) { c.next_job = JobId{2}; }),
        Change([](StateCounters& c) { c.next_attempt = AttemptId{2}; })})
    CHECK(why_not_with<StateCounters>(change) != "");
}

TEST_CASE("records that do not ascend are refused") {
  CHECK(why_not_with<JobsPart>([](JobsPart& part) { std::swap(part.jobs[0], part.jobs[1]); }) ==
        "its jobs do not ascend");
  CHECK(why_not_with<AttemptsPart>([](AttemptsPart& part) {
          part.attempts.push_back(part.attempts.back());
        }) == "its attempts do not ascend");
}

TEST_CASE("jobs that cannot be are refused") {
  CHECK(with_job(0, [](JobRecord& job) { job.id = JobId{0}; }) == "job 0 is not below the next id");
  CHECK(with_job(0, [](JobRecord& job) { job.description = nullptr; }) ==
        "job 1 has no description");
  CHECK(with_description(0, [](JobDescription& job) { job.spec.command.clear(); }) ==
        "job 1: there is no command to run");
  CHECK(with_description(0, [](JobDescription& job) {
          job.shape = Gang{2, ""};
        }) == "job 1 is above the feature level");
  CHECK(with_job(1, [](JobRecord& job) { job.request.low = 1; }) ==
        "job 2 has the request of another");
  CHECK(with_job(0, [](JobRecord& job) { job.overlaps = {TaskId{10}}; }) ==
        "the overlaps of job 1 are not tasks that ascend");
  CHECK(with_job(0, [](JobRecord& job) {
          job.overlaps = {TaskId{1}, TaskId{1}};
        }) == "the overlaps of job 1 are not tasks that ascend");
}

TEST_CASE("tasks that do not add up are refused") {
  const std::string sum = "the tasks of job 1 do not add up";
  CHECK(with_job(0, [](JobRecord& job) { job.waiting_count = 9; }) == sum);
  CHECK(with_job(0, [](JobRecord& job) { job.failed_count = 1; }) == sum);
  CHECK(with_job(0, [](JobRecord& job) { job.under_way_count = ~std::uint64_t{0}; }) ==
        "job 1 counts more tasks than it has");
  CHECK(with_job(0, [](JobRecord& job) {
          job.waiting_count = 9;
          job.under_way_count = 1;
        }) == "the tasks of job 1 are not where it counts them");
  CHECK(with_job(1, [](JobRecord& job) { job.failed_count = 1; }) ==
        "the tasks of job 2 are not where it counts them");
  CHECK(with_job(1, [](JobRecord& job) { job.ended_at.reset(); }) ==
        "job 2 has ended, or not, but its tasks say otherwise");
  CHECK(with_job(0, [](JobRecord& job) { job.ended_at = Instant{1}; }) ==
        "job 1 has ended, or not, but its tasks say otherwise");
}

TEST_CASE("dependencies that cannot be are refused") {
  CHECK(with_description(3, [](JobDescription& job) { job.after[0].job = JobId{4}; }) ==
        "job 4 depends on one that came after it");
  CHECK(with_description(3, [](JobDescription& job) { job.after[0].job = JobId{0}; }) ==
        "job 4 depends on one that is not there");
  CHECK(with_description(3, [](JobDescription& job) {
          job.after = {{job2, After::fail}};
        }) == "job 4 goes on although what it depends on does not let it");
  CHECK(with_description(2, [](JobDescription& job) {
          job.after = {{job1, After::any}};
        }) == "job 3 goes on although what it depends on does not let it");
}

TEST_CASE("ranges of tasks that cannot be are refused") {
  using Change = std::function<void(WaitingPart&)>;
  const auto with = [](const Change& change) { return why_not_with<WaitingPart>(change); };
  CHECK(with([](WaitingPart& part) { part.tasks[0].tasks = tasks(0, 10); }) ==
        "job 1 has no such tasks");
  CHECK(with([](WaitingPart& part) { part.tasks[0].tasks = tasks(5, 4); }) ==
        "job 1 has no such tasks");
  CHECK(with([](WaitingPart& part) { part.tasks.back().job = JobId{9}; }) ==
        "there are tasks of job 9, not it");
  CHECK(with([](WaitingPart& part) {
          part.tasks[0].tasks = tasks(0, 4);
          part.tasks.insert(part.tasks.begin() + 1, {job1, tasks(5, 9)});
        }) == "ranges of job 1 overlap, or are one");
  CHECK(with([](WaitingPart& part) {
          part.tasks.insert(part.tasks.begin() + 1, {job1, tasks(9, 9)});
        }) == "ranges of job 1 overlap, or are one");
  CHECK(why_not_with<EndedPart>([](EndedPart& part) {
          part.tasks.insert(part.tasks.begin(), {job1, task(3), Exited{0}, Instant{}});
        }) == "a task of job 1 waits and has ended");
  CHECK(why_not_with<RetriedPart>([](RetriedPart& part) { part.tasks[0].count = 0; }) ==
        "tasks of job 3 retried 0 times");
}

TEST_CASE("attempts that cannot be are refused") {
  CHECK(with_attempt(0, [](Attempt& attempt) { attempt.job = JobId{9}; }) ==
        "attempt 2 is at a task that is not there");
  CHECK(with_attempt(0, [](Attempt& attempt) { attempt.task = TaskId{4}; }) ==
        "attempt 2 is at a task that is not there");
  CHECK(with_attempt(0, [](Attempt& attempt) { attempt.peer = PeerId{9}; }) ==
        "attempt 2 is on a peer that is not there");
  CHECK(with_attempt(1, [](Attempt& attempt) { attempt.slot = AttemptId{4}; }) ==
        "attempt 3 is not one that was placed");
  CHECK(with_attempt(0, [](Attempt& attempt) { attempt.fence.epoch = 1; }) ==
        "attempt 2 is not one that was placed");
  CHECK(with_attempt(1, [](Attempt& attempt) { attempt.task = TaskId{2}; }) ==
        "attempt 3 is not alone with its task");
  CHECK(with_attempt(1, [](Attempt& attempt) { attempt.task = TaskId{0}; }) ==
        "attempt 3 is not alone with its task");
  CHECK(with_attempt(1, [](Attempt& attempt) { attempt.peer = lab2; }) ==
        "attempt 3 shares a slot with another job, peer or allocation");
  CHECK(with_attempt(1, [](Attempt& attempt) { attempt.slot = AttemptId{3}; }) ==
        "attempt 3 holds what attempt 2 holds");
  CHECK(why_not_with<AttemptsPart>([](AttemptsPart& part) {
          for (Attempt& attempt : part.attempts) attempt.allocation.cpus = -1;
        }) == "attempt 2 has a negative number of cpus");
}

TEST_CASE("more placings than an array may have at a time are refused") {
  Cluster cluster;
  JobDescription job = array_of(3);
  std::get<Array>(job.shape).limit = 1;
  cluster.add(job);
  cluster.run(job1, tasks(0, 1));
  std::vector<StatePart> parts = cluster.parts();
  for (StatePart& part : parts) {
    if (auto* found = std::get_if<AttemptsPart>(&part)) found->attempts[1].slot = AttemptId{2};
  }
  CHECK(why_not(parts) == "attempt 2 is one more than the limit of its array");
}

TEST_CASE("fenced attempts that cannot be are refused") {
  using Change = std::function<void(FencedAttempt&)>;
  for (const Change& change : {Change([](FencedAttempt& a) { a.job = JobId{9}; }),
                               Change([](FencedAttempt& a) { a.task = TaskId{4}; }),
                               Change([](FencedAttempt& a) { a.fence.attempt = AttemptId{2}; }),
                               Change([](FencedAttempt& a) { a.fence.attempt = AttemptId{99}; }),
                               Change([](FencedAttempt& a) { a.ended_before = AttemptId{1}; }),
                               Change([](FencedAttempt& a) { a.ended_before = AttemptId{99}; })})
    CHECK(why_not_with<FencedPart>([&](FencedPart& part) {
            change(part.attempts[0]);
          }).find("is not one that was given up") != std::string::npos);
}

TEST_CASE("a peer 0 is refused") {
  CHECK(why_not_with<PeersPart>([](PeersPart& part) {
          PeerRecord peer;
          part.peers.insert(part.peers.begin(), peer);
        }) == "it has a peer 0");
}
