#include "gpl/peer/known_jobs.h"

#include <doctest/doctest.h>

#include "../core/state_fixture.h"

using namespace gpl::test;
using gpl::Exited;
using gpl::JobId;
using gpl::peer::has_ended;
using gpl::peer::is_forgotten;

TEST_CASE("a job that the state does not know yet is neither forgotten nor ended") {
  Cluster cluster;
  cluster.add(one_task());
  CHECK_FALSE(is_forgotten(cluster.state, job2));
  CHECK_FALSE(has_ended(&cluster.state, job2));
  cluster.add(one_task());
  CHECK_FALSE(is_forgotten(cluster.state, job2));
}

TEST_CASE("a job that was dropped is forgotten, and has ended") {
  Cluster cluster;
  cluster.end(cluster.add(one_task()), Exited{0});
  CHECK_FALSE(is_forgotten(cluster.state, job1));
  const gpl::Instant now = cluster.now();
  cluster.fine(gpl::command::Prune{now, now});
  CHECK(is_forgotten(cluster.state, job1));
  CHECK(has_ended(&cluster.state, job1));
}

TEST_CASE("a job that is known has ended when it says so") {
  Cluster cluster;
  cluster.add(one_task());
  CHECK_FALSE(has_ended(&cluster.state, job1));
  cluster.end(job1, Exited{3});
  CHECK(has_ended(&cluster.state, job1));
}

TEST_CASE("without a state nothing is known to have ended") {
  CHECK_FALSE(has_ended(nullptr, job1));
}
