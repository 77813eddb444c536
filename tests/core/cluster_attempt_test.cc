#include <doctest/doctest.h>

#include "state_fixture.h"

using namespace gpl;
using namespace gpl::test;

namespace {

JobDescription retrying(std::uint32_t retries) {
  JobDescription job = one_task();
  job.retries = retries;
  return job;
}
JobDescription on_loss(OnLoss what, JobDescription job = one_task()) {
  job.on_loss = what;
  return job;
}

const std::vector<Outcome> all_outcomes = {Exited{0},
                                           Exited{1},
                                           Signalled{9, false},
                                           TimedOut{},
                                           Cancelled{},
                                           Lost{"gone"},
                                           FailedToStart{2, 127, "no such command"}};

}  // namespace

TEST_CASE("an attempt that was placed starts, once") {
  Cluster cluster;
  cluster.add(one_task());
  const Fence attempt = cluster.run(job1);
  const auto start = cluster.start(attempt);
  CHECK(cluster.fine(start) == Applied{});
  CHECK(cluster.state.find_attempt(attempt.attempt)->state == AttemptState{Started{start.at}});
  cluster.idle(cluster.start(attempt));
}

TEST_CASE("an attempt that is not under way does not start") {
  Cluster cluster;
  const Fence attempt = cluster.run(one_task());
  CHECK(cluster.refused(cluster.start({0, AttemptId{2}})) ==
        Error{Code::not_found,
              "attempt 2 of epoch 0 is not under way: its end has been told, or it was given up"});
  CHECK(cluster.refused(cluster.start({1, attempt.attempt})).code == Code::not_found);
  cluster.fine(cluster.report(attempt, Exited{0}));
  CHECK(cluster.refused(cluster.start(attempt)).code == Code::not_found);
}

TEST_CASE("the outcome that is reported is the task's") {
  for (const Outcome& outcome : all_outcomes) {
    CAPTURE(name_of(outcome));
    Cluster cluster;
    const auto report = cluster.report(cluster.run(one_task()), outcome);
    CHECK(cluster.fine(report).ended == std::vector{job1});
    CHECK(cluster.outcome(job1) == outcome);
    CHECK(cluster.job(job1).ended_at == report.at);
    CHECK(cluster.state.attempts_of(job1).empty());
    CHECK(cluster.job(job1).failed_count == (outcome == Outcome{Exited{0}} ? 0 : 1));
  }
}

TEST_CASE("a report of an attempt whose start was not told is taken") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.end(job1, Exited{0});
  CHECK(cluster.outcome(job1) == Outcome{Exited{0}});
}

TEST_CASE("an outcome is taken once") {
  Cluster cluster;
  const Fence attempt = cluster.run(one_task());
  cluster.fine(cluster.report(attempt, Exited{3}));
  CHECK(cluster.refused(cluster.report(attempt, Exited{0})).code == Code::not_found);
  CHECK(cluster.outcome(job1) == Outcome{Exited{3}});
}

TEST_CASE("a report of another epoch is refused") {
  Cluster cluster;
  const Fence attempt = cluster.run(one_task());
  cluster.fine(command::SetEpoch{1, cluster.now()});
  CHECK(cluster.refused(cluster.report({1, attempt.attempt}, Exited{0})).code == Code::not_found);
  cluster.fine(cluster.report(attempt, Exited{0}));
}

TEST_CASE("an outcome that cannot be is refused") {
  Cluster cluster;
  const Fence attempt = cluster.run(one_task());
  for (const Outcome& outcome :
       {Outcome{Exited{-1}}, Outcome{Exited{256}}, Outcome{Signalled{0, false}},
        Outcome{Signalled{128, false}}, Outcome{FailedToStart{0, 0, ""}}})
    CHECK(cluster.refused(cluster.report(attempt, outcome)).code == Code::invalid);
}

TEST_CASE("a task that fails is tried again as often as its retries say") {
  Cluster cluster;
  cluster.add(retrying(2));
  for (std::uint32_t tried = 1; tried <= 2; ++tried) {
    CHECK(cluster.fine(cluster.report(cluster.run(job1), Exited{1})).ended.empty());
    CHECK(cluster.state.retries_of(job1, task0) == tried);
    CHECK(cluster.state.waiting(job1) == std::vector{task(0)});
  }
  CHECK(cluster.fine(cluster.report(cluster.run(job1), Exited{4})).ended == std::vector{job1});
  CHECK(cluster.outcome(job1) == Outcome{Exited{4}});
}

TEST_CASE("what is tried again: every outcome but success, a person's end, and a loss") {
  for (const Outcome& outcome : all_outcomes) {
    CAPTURE(name_of(outcome));
    Cluster cluster;
    cluster.add(retrying(1));
    cluster.end(job1, outcome);
    const bool is_final = outcome == Outcome{Exited{0}} || outcome == Outcome{Cancelled{}} ||
                          outcome == Outcome{Lost{"gone"}};
    CHECK(cluster.job(job1).has_ended() == is_final);
  }
}

TEST_CASE("each task has its own retries") {
  Cluster cluster;
  JobDescription job = array_of(4);
  job.retries = 1;
  cluster.add(job);
  for (const std::uint64_t number : {1u, 3u, 1u})
    cluster.fine(cluster.report(cluster.run(job1, task(number)).front(), Exited{1}));
  CHECK(cluster.state.waiting(job1) == std::vector{task(0), tasks(2, 3)});
  CHECK(cluster.state.retries_of(job1, TaskId{0}) == 0);
  CHECK(cluster.state.retries_of(job1, TaskId{1}) == 1);
  CHECK(cluster.state.retries_of(job1, TaskId{3}) == 1);
  CHECK(cluster.outcome(job1, TaskId{1}) == Outcome{Exited{1}});
}

TEST_CASE("cancelling a job ends what waits and tells what runs to end") {
  Cluster cluster;
  cluster.add(array_of(5));
  const auto attempts = cluster.run(job1, tasks(1, 2));
  const Applied applied = cluster.fine(cluster.cancel(job1));
  CHECK(applied.to_end == attempts);
  CHECK(applied.ended.empty());
  CHECK(cluster.job(job1).cancelled);
  CHECK(cluster.outcome(job1, TaskId{0}) == Outcome{Cancelled{}});
  CHECK(cluster.outcome(job1, TaskId{4}) == Outcome{Cancelled{}});
  CHECK(cluster.state.find_attempt(attempts[0].attempt)->cancelled);
  cluster.fine(cluster.report(attempts[0], Cancelled{}));
  CHECK(cluster.fine(cluster.report(attempts[1], Cancelled{})).ended == std::vector{job1});
  REQUIRE(cluster.state.ended(job1).size() == 1);
}

TEST_CASE("cancelling a job that waits ends it") {
  Cluster cluster;
  cluster.add(one_task());
  CHECK(cluster.fine(cluster.cancel(job1)).ended == std::vector{job1});
  CHECK(cluster.outcome(job1) == Outcome{Cancelled{}});
  CHECK(cluster.state.placeable().empty());
}

TEST_CASE("cancelling again changes nothing, and tells what still runs once more") {
  Cluster cluster;
  const Fence attempt = cluster.run(one_task());
  cluster.fine(cluster.cancel(job1));
  CHECK(cluster.idle(cluster.cancel(job1)).to_end == std::vector{attempt});
  cluster.fine(cluster.report(attempt, Cancelled{}));
  CHECK(cluster.idle(cluster.cancel(job1)).to_end.empty());
}

TEST_CASE("cancelling some tasks leaves the others") {
  Cluster cluster;
  cluster.add(array_of(10));
  const auto attempts = cluster.run(job1, tasks(4, 5));
  CHECK(cluster.fine(cluster.cancel(job1, tasks(2, 4))).to_end == std::vector{attempts[0]});
  CHECK(cluster.state.waiting(job1) == std::vector{tasks(0, 1), tasks(6, 9)});
  CHECK(!cluster.job(job1).cancelled);
  CHECK(!cluster.state.find_attempt(attempts[1].attempt)->cancelled);
  cluster.idle(cluster.cancel(job1, tasks(2, 3)));
}

TEST_CASE("cancelling a job or tasks that are not there is refused") {
  Cluster cluster;
  CHECK(cluster.refused(cluster.cancel(job1)).code == Code::not_found);
  cluster.add(array_of(3));
  CHECK(cluster.refused(cluster.cancel(job1, tasks(2, 3))) ==
        Error{Code::not_found, "job 1 has the tasks 0 to 2"});
  CHECK(cluster.refused(cluster.cancel(job1, tasks(2, 1))).code == Code::not_found);
}

TEST_CASE("a cancelled attempt ends as cancelled, unless the command exited by itself") {
  for (const Outcome& outcome : all_outcomes) {
    CAPTURE(name_of(outcome));
    Cluster cluster;
    JobDescription job = retrying(5);
    const Fence attempt = cluster.run(job);
    cluster.fine(cluster.cancel(job1));
    CHECK(cluster.fine(cluster.report(attempt, outcome)).ended == std::vector{job1});
    const bool exited = std::holds_alternative<Exited>(outcome);
    CHECK(cluster.outcome(job1) == (exited ? outcome : Outcome{cancelled_by(outcome)}));
  }
}

TEST_CASE("a cancelled attempt that starts after all is told to end") {
  Cluster cluster;
  cluster.add(one_task());
  const Fence attempt = cluster.run(job1);
  cluster.fine(cluster.cancel(job1));
  CHECK(cluster.fine(cluster.start(attempt)).to_end == std::vector{attempt});
}

TEST_CASE("a lease that is over queues the task again, and does not count as a retry") {
  Cluster cluster;
  const Fence attempt = cluster.run(on_loss(OnLoss::retry));
  const Applied applied = cluster.fine(command::LeasesOver{lab1, {attempt}, cluster.now()});
  CHECK(applied == Applied{});
  CHECK(cluster.state.placeable() == std::vector{job1});
  CHECK(cluster.state.retries_of(job1, task0) == 0);
  CHECK(cluster.refused(cluster.report(attempt, Exited{0})).code == Code::not_found);
  CHECK(cluster.run(job1) == Fence{0, AttemptId{2}});
}

TEST_CASE("what has no lease keeps it") {
  for (const OnLoss what : {OnLoss::wait, OnLoss::fail}) {
    Cluster cluster;
    const Fence attempt = cluster.run(on_loss(what));
    CHECK(cluster.refused(command::LeasesOver{lab1, {attempt}, cluster.now()}) ==
          Error{Code::invalid, "attempt 1 has no lease: its job is not run with on-loss retry"});
  }
}

TEST_CASE("one attempt without a lease refuses them all") {
  Cluster cluster;
  const Fence leased = cluster.run(on_loss(OnLoss::retry));
  const Fence other = cluster.run(one_task());
  cluster.refused(command::LeasesOver{lab1, {leased, other}, cluster.now()});
}

TEST_CASE("attempts that ended meanwhile are left out of a list, and others' are a mistake") {
  Cluster cluster;
  cluster.add(on_loss(OnLoss::retry, array_of(3)));
  const Fence here = cluster.run(job1, task(0)).front();
  const Fence done = cluster.run(job1, task(1)).front();
  const Fence there = cluster.run(job1, task(2), {}, lab2).front();
  cluster.fine(cluster.report(done, Exited{0}));
  CHECK(cluster.refused(command::LeasesOver{lab1, {here, there}, cluster.now()}) ==
        Error{Code::invalid, "attempt 3 is on peer 12, not on peer 11"});
  CHECK(cluster.refused(command::LeasesOver{lab1, {done}, cluster.now()}) ==
        Error{Code::not_found, "none of these attempts is under way on peer 11"});
  CHECK(cluster.refused(command::LeasesOver{lab1, {}, cluster.now()}).code == Code::not_found);
  CHECK(cluster.refused(command::LeasesOver{PeerId{9}, {here}, cluster.now()}).code ==
        Code::not_found);
  cluster.fine(command::LeasesOver{lab1, {here, done, here}, cluster.now()});
  CHECK(cluster.state.waiting(job1) == std::vector{task(0)});
}

TEST_CASE("a cancelled attempt whose lease is over has ended") {
  Cluster cluster;
  const Fence attempt = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(cluster.cancel(job1));
  CHECK(cluster.fine(command::LeasesOver{lab1, {attempt}, cluster.now()}).ended ==
        std::vector{job1});
  CHECK(cluster.outcome(job1) == Outcome{Cancelled{}});
}

TEST_CASE("a keeper's word that it outlived its lease is an overlap when another attempt ran") {
  Cluster cluster;
  const Fence old = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::LeasesOver{lab1, {old}, cluster.now()});
  const Fence next = cluster.run(job1, task(0), {}, lab2).front();
  cluster.fine(cluster.start(next));
  const Applied applied = cluster.fine(cluster.report(old, Exited{0}, true));
  CHECK(applied.overlaps == std::vector{Overlap{job1, task0}});
  CHECK(applied.ended.empty());
  CHECK(cluster.job(job1).overlaps == std::vector{task0});
  CHECK(!cluster.job(job1).has_ended());
  cluster.refused(cluster.report(old, Exited{0}, true));
}

TEST_CASE("it is one too when the other has ended by then, its start told or not") {
  Cluster cluster;
  const Fence old = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::LeasesOver{lab1, {old}, cluster.now()});
  cluster.end(job1, Exited{0});
  CHECK(cluster.fine(cluster.report(old, Signalled{9, false}, true)).overlaps ==
        std::vector{Overlap{job1, task0}});
  CHECK(cluster.outcome(job1) == Outcome{Exited{0}});
}

TEST_CASE("it is none, and no news, while no other attempt has been placed") {
  Cluster cluster;
  const Fence old = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::LeasesOver{lab1, {old}, cluster.now()});
  CHECK(!cluster.state.is_news_that_outlived(old));
  cluster.refused(cluster.report(old, Exited{0}, true));
  cluster.fine(cluster.start(cluster.run(job1)));
  CHECK(cluster.job(job1).overlaps.empty());
}

TEST_CASE("it is none when the other did not run after all") {
  Cluster cluster;
  const Fence old = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::LeasesOver{lab1, {old}, cluster.now()});
  const Fence next = cluster.run(job1);
  CHECK(cluster.fine(cluster.report(old, Exited{0}, true)).given_up);
  cluster.fine(cluster.report(next, FailedToStart{2, 127, "no such command"}));
  CHECK(cluster.job(job1).overlaps.empty());
  CHECK(cluster.job(job1).has_ended());
}

TEST_CASE("it is one as soon as another that had been placed by then is known to have run") {
  Cluster cluster;
  const Fence old = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::LeasesOver{lab1, {old}, cluster.now()});
  const Fence next = cluster.run(job1);
  CHECK(cluster.fine(cluster.report(old, Exited{0}, true)).overlaps.empty());
  cluster.refused(cluster.report(old, Exited{0}, true));
  CHECK(cluster.fine(cluster.start(next)).overlaps == std::vector{Overlap{job1, task0}});
  CHECK(cluster.job(job1).overlaps == std::vector{task0});
}

TEST_CASE("what is placed after the word that the other has ended did not run beside it") {
  Cluster cluster;
  const Fence old = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::LeasesOver{lab1, {old}, cluster.now()});
  const Fence next = cluster.run(job1);
  cluster.fine(cluster.report(old, Exited{0}, true));
  cluster.fine(command::LeasesOver{lab1, {next}, cluster.now()});
  cluster.fine(cluster.start(cluster.run(job1)));
  CHECK(cluster.job(job1).overlaps.empty());
  SUBCASE("but what was placed before, and given up, may turn out to have run") {
    CHECK(cluster.state.is_news_that_ran(next));
    const Applied applied = cluster.fine(cluster.start(next));
    CHECK(applied.given_up);
    CHECK(applied.overlaps == std::vector{Overlap{job1, task0}});
  }
}

TEST_CASE("that an attempt that was given up ran is news for those before it, once") {
  Cluster cluster;
  const Fence first = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::LeasesOver{lab1, {first}, cluster.now()});
  const Fence second = cluster.run(job1);
  cluster.fine(command::LeasesOver{lab1, {second}, cluster.now()});
  CHECK(!cluster.state.is_news_that_ran(first));
  cluster.refused(cluster.start(first));
  REQUIRE(cluster.state.is_news_that_ran(second));
  cluster.fine(cluster.start(second));
  CHECK(!cluster.state.is_news_that_ran(second));
  cluster.refused(cluster.start(second));
  CHECK(cluster.fine(cluster.report(first, Exited{0}, true)).overlaps ==
        std::vector{Overlap{job1, task0}});
}

TEST_CASE("a fenced attempt that did not outlive its lease is refused and nothing more") {
  Cluster cluster;
  const Fence old = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::LeasesOver{lab1, {old}, cluster.now()});
  cluster.end(job1, Exited{0});
  cluster.refused(cluster.report(old, Exited{0}, false));
  cluster.refused(cluster.report({1, old.attempt}, Exited{0}, true));
}

TEST_CASE("an attempt that outlived its lease while nobody called it over is an ordinary one") {
  Cluster cluster;
  const Fence attempt = cluster.run(on_loss(OnLoss::retry));
  CHECK(cluster.fine(cluster.report(attempt, Exited{0}, true)).ended == std::vector{job1});
  CHECK(cluster.job(job1).overlaps.empty());
}

TEST_CASE("two overlaps at a task are told once, those of others in order") {
  Cluster cluster;
  cluster.add(on_loss(OnLoss::retry, array_of(2)));
  std::vector<Fence> old;
  for (const std::uint64_t number : {1u, 0u, 1u}) {
    old.push_back(cluster.run(job1, task(number)).front());
    cluster.fine(command::LeasesOver{lab1, {old.back()}, cluster.now()});
  }
  for (const std::uint64_t number : {0u, 1u}) cluster.run(job1, task(number));
  for (const AttemptId id : cluster.state.attempts_of(job1))
    cluster.fine(cluster.start(cluster.state.find_attempt(id)->fence));
  for (const Fence& fence : old) cluster.fine(cluster.report(fence, Exited{0}, true));
  CHECK(cluster.job(job1).overlaps == std::vector{TaskId{0}, TaskId{1}});
}

TEST_CASE("of very many fenced attempts the oldest are forgotten") {
  Cluster cluster;
  cluster.add(on_loss(OnLoss::retry));
  std::vector<Fence> old;
  for (int i = 0; i < 5000; ++i) {
    old.push_back(cluster.run(job1));
    cluster.fine(command::LeasesOver{lab1, {old.back()}, cluster.now()});
  }
  cluster.end(job1, Exited{0});
  cluster.refused(cluster.report(old[903], Exited{0}, true));
  CHECK(cluster.fine(cluster.report(old[904], Exited{0}, true)).overlaps ==
        std::vector{Overlap{job1, task0}});
}

TEST_CASE("a pruned job's fenced attempts are forgotten with it") {
  Cluster cluster;
  const Fence old = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::LeasesOver{lab1, {old}, cluster.now()});
  cluster.end(job1, Exited{0});
  cluster.fine(command::Prune{cluster.now(), cluster.now()});
  cluster.refused(cluster.report(old, Exited{0}, true));
}
