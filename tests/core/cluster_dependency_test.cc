#include <doctest/doctest.h>

#include "state_fixture.h"

using namespace gpl;
using namespace gpl::test;

namespace {

const std::vector<After> all = {After::ok, After::any, After::fail};

bool starts(After after, const Outcome& outcome) {
  Cluster cluster;
  cluster.add(one_task());
  cluster.add(test::after(one_task(), {{job1, after}}));
  cluster.end(job1, outcome);
  const bool placeable = cluster.state.placeable() == std::vector{job2};
  CHECK(cluster.job(job2).has_ended() == !placeable);
  return placeable;
}

}  // namespace

TEST_CASE("a job that depends on one that has not ended is blocked") {
  for (const After how : all) {
    Cluster cluster;
    cluster.add(one_task());
    cluster.add(after(one_task(), {{job1, how}}));
    CHECK(cluster.state.placeable() == std::vector{job1});
    CHECK(cluster.state.blocked_by(job2) == std::vector{Dependency{job1, how}});
    CHECK(cluster.refused(cluster.place(job2, task(0), cpus(1))).message ==
          "job 2 waits for a job that it depends on");
  }
}

TEST_CASE("placings of a submit that is blocked are left out") {
  Cluster cluster;
  cluster.add(one_task());
  CHECK(
      cluster
          .fine(cluster.submit(after(one_task(), {{job1, After::any}}), {{task(0), lab1, cpus(1)}}))
          .placed.empty());
}

TEST_CASE("how a job must have ended for another to start") {
  CHECK(starts(After::ok, Exited{0}));
  CHECK(starts(After::any, Exited{0}));
  CHECK(!starts(After::fail, Exited{0}));
  for (const Outcome& bad : {Outcome{Exited{1}}, Outcome{Signalled{9, false}}, Outcome{TimedOut{}},
                             Outcome{Cancelled{}}, Outcome{Lost{"power"}}}) {
    CAPTURE(name_of(bad));
    CHECK(!starts(After::ok, bad));
    CHECK(starts(After::any, bad));
    CHECK(starts(After::fail, bad));
  }
}

TEST_CASE("one failed task of an array is a failed job") {
  Cluster cluster;
  cluster.add(array_of(2));
  cluster.add(after(one_task(), {{job1, After::fail}}));
  cluster.fine(cluster.report(cluster.run(job1, task(0)).front(), Exited{5}));
  CHECK(cluster.state.placeable() == std::vector{job1});
  cluster.fine(cluster.report(cluster.run(job1, task(1)).front(), Exited{0}));
  CHECK(cluster.state.placeable() == std::vector{job2});
}

TEST_CASE("all dependencies must hold") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.add(one_task());
  cluster.add(after(one_task(), {{job1, After::ok}, {job2, After::ok}}));
  cluster.end(job1, Exited{0});
  CHECK(cluster.state.blocked_by(job3) == std::vector{Dependency{job2, After::ok}});
  cluster.end(job2, Exited{0});
  CHECK(cluster.state.blocked_by(job3).empty());
  CHECK(cluster.state.placeable() == std::vector{job3});
}

TEST_CASE("a job that can no longer begin ends at once, as one that could not be started") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.add(after(array_of(3), {{job1, After::ok}}));
  const Applied applied = cluster.fine(cluster.report(cluster.run(job1), Exited{1}));
  CHECK(applied.ended == std::vector{job1, job2});
  const Outcome expected = FailedToStart{
      0, 125, "job 1 failed, and the job was to start after it only if it ends otherwise (1:ok)"};
  CHECK(cluster.outcome(job2, TaskId{2}) == expected);
  CHECK(cluster.state.ended(job2).size() == 1);
}

TEST_CASE("it does not wait for its other dependencies") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.add(one_task());
  cluster.add(after(one_task(), {{job1, After::any}, {job2, After::fail}}));
  const Applied applied = cluster.fine(cluster.report(cluster.run(job2), Exited{0}));
  CHECK(applied.ended == std::vector{job2, job3});
  cluster.end(job1, Exited{0});
  CHECK(cluster.job(job3).ended_count == 1);
}

TEST_CASE("jobs that depend on one that cannot begin follow it, however many") {
  Cluster cluster;
  cluster.add(one_task());
  for (std::uint64_t i = 1; i <= 50'000; ++i)
    cluster.add(after(one_task(), {{JobId{i}, After::ok}}));
  CHECK(cluster.fine(cluster.cancel(job1)).ended.size() == 50'001);
  CHECK(cluster.state.placeable().empty());
}

TEST_CASE("a job that was to follow a failure starts after one that could not begin") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.add(after(one_task(), {{job1, After::ok}}));
  cluster.add(after(one_task(), {{job2, After::fail}}));
  cluster.end(job1, Exited{1});
  CHECK(cluster.state.placeable() == std::vector{job3});
}

TEST_CASE("a job that is submitted after its chance is gone ends at once") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.end(job1, Exited{0});
  const Applied applied = cluster.fine(cluster.submit(after(one_task(), {{job1, After::fail}})));
  CHECK(applied.job == job2);
  CHECK(applied.ended == std::vector{job2});
  CHECK(exit_status(cluster.outcome(job2)) == 125);
}

TEST_CASE("a job that is submitted after what it waits for has come starts") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.end(job1, Exited{0});
  CHECK(
      cluster
          .fine(cluster.submit(after(one_task(), {{job1, After::ok}}), {{task(0), lab1, cpus(1)}}))
          .placed.size() == 1);
}

TEST_CASE("a dependency on a job that is not there is refused") {
  Cluster cluster;
  CHECK(cluster.refused(cluster.submit(after(one_task(), {{job1, After::ok}}))) ==
        Error{Code::not_found, "after: job 1 is not known: it never was, or ended long ago"});
}

TEST_CASE("a held job whose dependency fails ends") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.add(after(one_task(), {{job1, After::ok}}));
  cluster.fine(command::Hold{job2, cluster.now()});
  cluster.end(job1, Exited{2});
  CHECK(cluster.job(job2).has_ended());
}

TEST_CASE("a blocked job can be cancelled, and its end is then its own") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.add(after(one_task(), {{job1, After::ok}}));
  cluster.fine(cluster.cancel(job2));
  cluster.end(job1, Exited{1});
  CHECK(cluster.outcome(job2) == Outcome{Cancelled{}});
}
