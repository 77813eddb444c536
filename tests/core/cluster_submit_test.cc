#include <doctest/doctest.h>

#include "state_fixture.h"

using namespace gpl;
using namespace gpl::test;

TEST_CASE("a submit makes a job whose tasks wait") {
  Cluster cluster;
  const auto submit = cluster.submit(array_of(10));
  const Applied applied = cluster.fine(submit);
  CHECK(applied.job == job1);
  CHECK(applied.placed.empty());
  CHECK(applied.ended.empty());
  const JobRecord& job = cluster.job(job1);
  CHECK(*job.description == submit.job);
  CHECK(job.submitter == submit.submitter);
  CHECK(job.submitted_at == submit.at);
  CHECK(job.waiting_count == 10);
  CHECK(!job.has_ended());
  CHECK(cluster.state.waiting(job1) == std::vector{tasks(0, 9)});
  CHECK(cluster.state.first_waiting(job1) == tasks(0, 9));
  CHECK(cluster.state.placeable() == std::vector{job1});
  CHECK(cluster.state.find_request(submit.request) == job1);
}

TEST_CASE("jobs are numbered from 1 without gaps") {
  Cluster cluster;
  CHECK(cluster.state.next_job() == job1);
  CHECK(cluster.add(one_task()) == job1);
  cluster.refused(cluster.submit(JobDescription{}));
  CHECK(cluster.add(one_task()) == job2);
  CHECK(cluster.state.next_job() == job3);
}

TEST_CASE("a request told again is the job that it made, and places nothing") {
  Cluster cluster;
  auto submit = cluster.submit(one_task());
  cluster.fine(submit);
  submit.job = array_of(5);
  submit.placings = {{task(0), lab1, cpus(1)}};
  submit.at = cluster.now();
  const Applied again = cluster.idle(submit);
  CHECK(again.job == job1);
  CHECK(again.placed.empty());
  CHECK(cluster.state.job_count() == 1);
}

TEST_CASE("a request is known until its job is pruned, ended or not") {
  Cluster cluster;
  auto submit = cluster.submit(one_task());
  cluster.fine(submit);
  cluster.end(job1, Exited{0});
  CHECK(cluster.idle(submit).job == job1);
  cluster.fine(command::Prune{cluster.now(), cluster.now()});
  CHECK(cluster.fine(submit).job == job2);
}

TEST_CASE("a description that is not valid is refused") {
  Cluster cluster;
  CHECK(cluster.refused(cluster.submit(JobDescription{})) ==
        Error{Code::invalid, "there is no command to run"});
}

TEST_CASE("gangs and services are refused below feature level 2") {
  Cluster cluster;
  for (const JobShape& shape : {JobShape(Gang{2, "plain"}), JobShape(Service{1})}) {
    JobDescription job = one_task();
    job.shape = shape;
    CHECK(cluster.refused(cluster.submit(job)) ==
          Error{Code::unsupported,
                "'submit' needs every peer to be upgraded: it is of feature level 2, the cluster "
                "is at 1"});
  }
}

TEST_CASE("placings that come with a submit are applied") {
  Cluster cluster;
  const Applied applied = cluster.fine(cluster.submit(
      array_of(4), {{tasks(0, 1), lab1, cpus(1)}, {task(2), lab2, claims({card(0)})}}));
  CHECK(applied.placed == std::vector{AttemptId{1}, AttemptId{2}, AttemptId{3}});
  CHECK(cluster.state.waiting(job1) == std::vector{task(3)});
  CHECK(cluster.state.attempts_on(lab2) == std::vector{AttemptId{3}});
}

TEST_CASE("a placing that is not valid leaves its tasks queued, and the others placed") {
  Cluster cluster;
  const Applied applied = cluster.fine(cluster.submit(
      array_of(3),
      {{task(0), lab1, cpus(9)}, {task(1), lab1, cpus(1)}, {task(2), PeerId{99}, cpus(1)}}));
  CHECK(applied.job == job1);
  CHECK(applied.placed.size() == 1);
  CHECK(cluster.state.waiting(job1) == std::vector{task(0), task(2)});
}

TEST_CASE("a job that is submitted held is not placed by its submit") {
  Cluster cluster;
  JobDescription job = one_task();
  job.held = true;
  const Applied applied = cluster.fine(cluster.submit(job, {{task(0), lab1, cpus(1)}}));
  CHECK(applied.placed.empty());
  CHECK(cluster.job(job1).held);
  CHECK(cluster.state.placeable().empty());
}

TEST_CASE("an array of 2^32 tasks is one range, and so are its ends") {
  Cluster cluster;
  cluster.add(array_of(most_tasks));
  CHECK(cluster.state.waiting(job1).size() == 1);
  CHECK(cluster.fine(cluster.cancel(job1)).ended == std::vector{job1});
  CHECK(cluster.state.ended(job1).size() == 1);
  CHECK(cluster.job(job1).ended_count == most_tasks);
}

TEST_CASE("tasks that end alike are one range, whatever order they end in") {
  Cluster cluster;
  cluster.add(array_of(5));
  for (const std::uint64_t number : {4u, 0u, 2u, 1u, 3u})
    cluster.fine(cluster.report(cluster.run(job1, task(number)).front(), Exited{0}));
  const auto ended = cluster.state.ended(job1);
  REQUIRE(ended.size() == 1);
  CHECK(ended.front().tasks == tasks(0, 4));
  CHECK(ended.front().last_at == *cluster.job(job1).ended_at);
}

TEST_CASE("tasks that end otherwise stand apart") {
  Cluster cluster;
  cluster.add(array_of(5));
  for (std::uint64_t number = 0; number < 5; ++number)
    cluster.fine(
        cluster.report(cluster.run(job1, task(number)).front(), Exited{number == 2 ? 1 : 0}));
  const auto ended = cluster.state.ended(job1);
  REQUIRE(ended.size() == 3);
  CHECK(ended[0].tasks == tasks(0, 1));
  CHECK(ended[1].tasks == task(2));
  CHECK(ended[1].outcome == Outcome{Exited{1}});
  CHECK(ended[2].tasks == tasks(3, 4));
  CHECK(cluster.job(job1).failed_count == 1);
  CHECK(cluster.outcome(job1, TaskId{2}) == Outcome{Exited{1}});
  CHECK(cluster.outcome(job1, TaskId{4}) == Outcome{Exited{0}});
}

TEST_CASE("placeable jobs can be asked for a few at a time") {
  Cluster cluster;
  for (int i = 0; i < 5; ++i) cluster.add(one_task());
  CHECK(cluster.state.placeable(job2, 2) == std::vector{job2, job3});
  CHECK(cluster.state.placeable(JobId{5}) == std::vector{JobId{5}});
  CHECK(cluster.state.placeable(JobId{6}).empty());
}

TEST_CASE("a job that is held is not placeable until it is released") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.fine(command::Hold{job1, cluster.now()});
  CHECK(cluster.state.placeable().empty());
  CHECK(cluster.refused(cluster.place(job1, task(0), cpus(1))).message ==
        "job 1 is held: release it first");
  cluster.idle(command::Hold{job1, cluster.now()});
  cluster.fine(command::Release{job1, cluster.now()});
  CHECK(cluster.state.placeable() == std::vector{job1});
  cluster.idle(command::Release{job1, cluster.now()});
}

TEST_CASE("what runs of a held job runs on") {
  Cluster cluster;
  const Fence attempt = cluster.run(one_task());
  CHECK(cluster.fine(command::Hold{job1, cluster.now()}).to_end.empty());
  CHECK(cluster.fine(cluster.report(attempt, Exited{0})).ended == std::vector{job1});
}

TEST_CASE("holding or releasing a job that has ended, or never was, is refused") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.end(job1, Exited{0});
  CHECK(cluster.refused(command::Hold{job1, cluster.now()}).message == "job 1 has ended");
  CHECK(cluster.refused(command::Release{job1, cluster.now()}).code == Code::invalid);
  CHECK(cluster.refused(command::Hold{job2, cluster.now()}) ==
        Error{Code::not_found, "job 2 is not known: it never was, or ended long ago"});
}

TEST_CASE("pruning drops the jobs that ended before, with their requests, and no others") {
  Cluster cluster;
  const auto submit = cluster.submit(array_of(2));
  cluster.fine(submit);
  for (const std::uint64_t number : {0u, 1u})
    cluster.fine(cluster.report(cluster.run(job1, task(number)).front(), Exited{3}));
  const Instant between = cluster.now();
  cluster.add(one_task());
  cluster.end(job2, Exited{0});
  cluster.add(one_task());

  cluster.fine(command::Prune{between, cluster.now()});
  CHECK(cluster.state.find_job(job1) == nullptr);
  CHECK(!cluster.state.find_request(submit.request));
  CHECK(cluster.state.ended(job1).empty());
  CHECK(cluster.state.find_job(job2) != nullptr);
  CHECK(cluster.state.find_job(job3) != nullptr);
  cluster.idle(command::Prune{between, cluster.now()});
}

TEST_CASE("a job that ended at the very time is not dropped yet") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.end(job1, Exited{0});
  const Instant end = *cluster.job(job1).ended_at;
  cluster.idle(command::Prune{end, cluster.now()});
  cluster.fine(command::Prune{end + milliseconds(1), cluster.now()});
}

TEST_CASE("a thousand jobs are dropped at once, those that ended first") {
  Cluster cluster;
  for (int i = 0; i < 1002; ++i) cluster.end(cluster.add(one_task()), Exited{0});
  cluster.fine(command::Prune{cluster.now(), cluster.now()});
  CHECK(cluster.state.job_count() == 2);
  CHECK(cluster.state.find_job(JobId{1001}) != nullptr);
  cluster.fine(command::Prune{cluster.now(), cluster.now()});
  CHECK(cluster.state.job_count() == 0);
}

TEST_CASE("a job is not pruned while one that depends on it lives") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.add(after(one_task(), {{job1, After::ok}}));
  cluster.end(job1, Exited{0});
  cluster.idle(command::Prune{cluster.now(), cluster.now()});
  cluster.end(job2, Exited{0});
  cluster.fine(command::Prune{cluster.now(), cluster.now()});
  CHECK(cluster.state.job_count() == 0);
}
