#include <doctest/doctest.h>

#include "state_fixture.h"

using namespace gpl;
using namespace gpl::test;

TEST_CASE("a placing gives each task an attempt of the next number and the present epoch") {
  Cluster cluster;
  cluster.fine(command::SetEpoch{3, cluster.now()});
  cluster.add(array_of(5));
  const auto place = cluster.place(job1, tasks(1, 2), cpus(2));
  CHECK(cluster.fine(place).placed == std::vector{AttemptId{1}, AttemptId{2}});
  const Attempt* attempt = cluster.state.find_attempt(AttemptId{2});
  REQUIRE(attempt != nullptr);
  CHECK(attempt->fence == Fence{3, AttemptId{2}});
  CHECK(attempt->job == job1);
  CHECK(attempt->task == TaskId{2});
  CHECK(attempt->peer == lab1);
  CHECK(attempt->allocation == cpus(2));
  CHECK(attempt->placed_at == place.at);
  CHECK(attempt->state == AttemptState{Placed{}});
  CHECK(!attempt->cancelled);
  CHECK(cluster.state.waiting(job1) == std::vector{task(0), tasks(3, 4)});
  CHECK(cluster.state.attempts_of(job1) == std::vector{AttemptId{1}, AttemptId{2}});
  CHECK(cluster.state.attempts_on(lab1) == std::vector{AttemptId{1}, AttemptId{2}});
  CHECK(cluster.job(job1).under_way_count == 2);
  CHECK(cluster.run(job1, task(0), cpus(1)).front() == Fence{3, AttemptId{3}});
}

TEST_CASE("a job without a task to place is not placeable until one is") {
  Cluster cluster;
  JobDescription job = one_task();
  job.retries = 1;
  cluster.add(job);
  const Fence attempt = cluster.run(job1);
  CHECK(cluster.state.placeable().empty());
  cluster.fine(cluster.report(attempt, Exited{1}));
  CHECK(cluster.state.placeable() == std::vector{job1});
}

TEST_CASE("only tasks that wait can be placed") {
  Cluster cluster;
  cluster.add(array_of(4));
  cluster.run(job1, task(1));
  CHECK(cluster.refused(cluster.place(job1, task(1), {})).message ==
        "task 1 of job 1 does not wait to be placed");
  CHECK(cluster.refused(cluster.place(job1, tasks(0, 2), {})).message ==
        "tasks 0 to 2 of job 1 do not all wait to be placed");
  CHECK(cluster.refused(cluster.place(job1, tasks(3, 4), {})).code == Code::invalid);
  CHECK(cluster.refused(cluster.place(job1, tasks(3, 2), {})).message ==
        "the tasks end before they begin");
}

TEST_CASE("a job that never was, or has ended, is not placed") {
  Cluster cluster;
  CHECK(cluster.refused(cluster.place(job1, task(0), {})).code == Code::not_found);
  cluster.add(one_task());
  cluster.end(job1, Exited{0});
  CHECK(cluster.refused(cluster.place(job1, task(0), {})).message == "job 1 has ended");
}

TEST_CASE("a placing has a bounded number of tasks") {
  Cluster cluster;
  cluster.add(array_of(5000));
  CHECK(cluster.refused(cluster.place(job1, tasks(0, 1024), {})).code == Code::too_large);
  CHECK(cluster.run(job1, tasks(0, 1023)).size() == 1024);
}

TEST_CASE("a peer that is not known, or out of reach, gets nothing") {
  Cluster cluster;
  cluster.add(one_task());
  CHECK(cluster.refused(cluster.place(job1, task(0), {}, PeerId{99})) ==
        Error{Code::not_found, "peer 99 is not known: it has never reported, or was forgotten"});
  cluster.fine(command::PeerDown{lab1, cluster.now()});
  CHECK(cluster.refused(cluster.place(job1, task(0), {})) ==
        Error{Code::busy, "lab1 is out of reach"});
  cluster.fine(cluster.up(lab1));
  cluster.run(job1);
}

TEST_CASE("cpus are held up to what the peer offers") {
  Cluster cluster;
  cluster.add(array_of(3));
  cluster.run(job1, task(0), cpus(5));
  CHECK(cluster.refused(cluster.place(job1, task(1), cpus(4))) ==
        Error{Code::busy, "lab1: 4 cpus are claimed, 3 of 8 are free"});
  CHECK(cluster.refused(cluster.place(job1, task(1), cpus(9))).code == Code::invalid);
  CHECK(cluster.refused(cluster.place(job1, task(1), cpus(-1))).code == Code::invalid);
  cluster.run(job1, task(1), cpus(3));
  cluster.run(job1, task(2), cpus(4), lab2);
  CHECK(cluster.state.view_of(lab1).cpus_held == 8);
  CHECK(cluster.state.view_of(lab2).cpus_held == 4);
}

TEST_CASE("memory is held up to what the peer offers") {
  Cluster cluster;
  cluster.add(array_of(2));
  cluster.run(job1, task(0), {0, 60, {}, ""});
  CHECK(cluster.refused(cluster.place(job1, task(1), {0, 41, {}, ""})) ==
        Error{Code::busy, "lab1: 41 bytes of memory are claimed, 40 of 100 are free"});
  CHECK(cluster.refused(cluster.place(job1, task(1), {0, 101, {}, ""})).code == Code::invalid);
  cluster.run(job1, task(1), {0, 40, {}, ""});
  CHECK(cluster.state.view_of(lab1).memory_held_bytes == 100);
}

TEST_CASE("of memory that is unknown nothing can be had") {
  Cluster cluster;
  auto up = cluster.up(lab1);
  up.offer.host.memory_bytes = 0;
  cluster.fine(up);
  cluster.add(array_of(2));
  CHECK(cluster.refused(cluster.place(job1, task(0), {0, 1, {}, ""})).message ==
        "lab1: memory is claimed, and what it has is unknown");
  cluster.run(job1, task(0), cpus(1));
}

TEST_CASE("what ended is free again") {
  Cluster cluster;
  cluster.add(array_of(2));
  const Allocation all{8, 100, {card(0), share(1, 80)}, ""};
  const Fence attempt = cluster.run(job1, task(0), all).front();
  CHECK(cluster.refused(cluster.place(job1, task(1), all)).code == Code::busy);
  cluster.fine(cluster.report(attempt, Exited{0}));
  cluster.run(job1, task(1), all);
}

TEST_CASE("a card that is held is nobody else's") {
  Cluster cluster;
  cluster.add(array_of(3));
  cluster.run(job1, task(0), claims({card(0)}));
  CHECK(cluster.refused(cluster.place(job1, task(1), claims({card(0)}))) ==
        Error{Code::busy, "lab1: cuda:0 is held by job 1 (attempt 1)"});
  CHECK(cluster.refused(cluster.place(job1, task(1), claims({share(0, 1)}))).code == Code::busy);
  cluster.run(job1, task(1), claims({card(1)}));
  cluster.run(job1, task(2), claims({card(0)}), lab2);
}

TEST_CASE("a card that is shared is not to be had whole") {
  Cluster cluster;
  cluster.add(array_of(2));
  cluster.run(job1, task(0), claims({share(0, 10)}));
  CHECK(cluster.refused(cluster.place(job1, task(1), claims({card(0)}))).code == Code::busy);
}

TEST_CASE("shares of a card sum up to its memory at most") {
  Cluster cluster;
  cluster.add(array_of(3));
  cluster.run(job1, task(0), claims({share(0, 50)}));
  CHECK(cluster.refused(cluster.place(job1, task(1), claims({share(0, 31)}))) ==
        Error{Code::busy, "lab1: cuda:0 has 30 of 80 bytes free, 31 are claimed"});
  CHECK(cluster.refused(cluster.place(job1, task(1), claims({share(0, 0)}))).code == Code::invalid);
  cluster.run(job1, task(1), claims({share(0, 30)}));
}

TEST_CASE("a card whose memory is unknown is not shared, unless it is the host's") {
  Cluster cluster;
  auto up = cluster.up(lab1);
  up.offer.accelerators[0].memory_bytes.reset();
  up.offer.accelerators[1].memory_bytes.reset();
  up.offer.accelerators[1].unified_memory = true;
  cluster.fine(up);
  cluster.add(array_of(2));
  CHECK(cluster.refused(cluster.place(job1, task(0), claims({share(0, 1)}))).message ==
        "lab1: a share of cuda:0, whose memory is unknown");
  CHECK(cluster.refused(cluster.place(job1, task(0), claims({share(1, 101)}))).code == Code::busy);
  cluster.run(job1, task(0), claims({share(1, 100)}));
}

TEST_CASE("a card that is held excludes its slices, and a slice the card") {
  Cluster cluster;
  cluster.add(array_of(3));
  const Fence whole = cluster.run(job1, task(0), claims({card(2)})).front();
  CHECK(cluster.refused(cluster.place(job1, task(1), claims({slice("MIG-a")}))).code == Code::busy);
  cluster.fine(cluster.report(whole, Exited{0}));
  cluster.run(job1, task(1), claims({slice("MIG-a")}));
  CHECK(cluster.refused(cluster.place(job1, task(2), claims({card(2)}))).code == Code::busy);
  CHECK(cluster.refused(cluster.place(job1, task(2), claims({slice("MIG-a")}))).code == Code::busy);
  cluster.run(job1, task(2), claims({slice("MIG-b")}));
}

TEST_CASE("one allocation claims a device once, or shares that fit together") {
  Cluster cluster;
  cluster.add(array_of(2));
  CHECK(cluster.refused(cluster.place(job1, task(0), claims({card(0), card(0)}))) ==
        Error{Code::invalid, "lab1: cuda:0 is claimed twice"});
  CHECK(cluster.refused(cluster.place(job1, task(0), claims({card(2), slice("MIG-a")}))).code ==
        Code::invalid);
  CHECK(cluster.refused(cluster.place(job1, task(0), claims({share(0, 50), share(0, 31)}))).code ==
        Code::busy);
  cluster.run(job1, task(0), claims({card(0), card(1), slice("MIG-a"), slice("MIG-b")}));
}

TEST_CASE("a device that is not there, or not usable, is not claimed") {
  Cluster cluster;
  auto up = cluster.up(lab1);
  up.offer.accelerators[1].usable = false;
  cluster.fine(up);
  cluster.add(one_task());
  CHECK(cluster.refused(cluster.place(job1, task(0), claims({card(7)}))).message ==
        "lab1: it has no cuda:7");
  CHECK(cluster.refused(cluster.place(job1, task(0), claims({slice("MIG-x")}))).message ==
        "lab1: it has no cuda:2 slice MIG-x");
  CHECK(cluster
            .refused(cluster.place(job1, task(0),
                                   claims({{{AcceleratorKind::rocm, 0, ""}, std::nullopt}})))
            .message == "lab1: it has no rocm:0");
  CHECK(cluster.refused(cluster.place(job1, task(0), claims({card(1)}))).message ==
        "lab1: cuda:1 is not usable");
}

TEST_CASE("an environment that the peer does not have is refused") {
  Cluster cluster;
  cluster.add(one_task());
  CHECK(cluster.refused(cluster.place(job1, task(0), {1, 0, {}, "/opt/venv"})).message ==
        "lab1: it has no environment '/opt/venv'");
  cluster.run(job1, task(0), {1, 0, {}, "/usr"});
}

TEST_CASE("tasks of one placing hold their allocation once, until the last has ended") {
  Cluster cluster;
  cluster.add(array_of(3));
  const auto attempts = cluster.run(job1, tasks(0, 2), {8, 100, {card(0)}, ""});
  CHECK(cluster.state.view_of(lab1).cpus_held == 8);
  CHECK(cluster.state.view_of(lab1).holds.size() == 1);
  for (const Fence& attempt : attempts)
    CHECK(cluster.state.find_attempt(attempt.attempt)->slot == attempts[0].attempt);
  cluster.fine(cluster.report(attempts[0], Exited{0}));
  cluster.fine(cluster.report(attempts[2], Exited{0}));
  CHECK(cluster.state.view_of(lab1).cpus_held == 8);
  CHECK(cluster.state.view_of(lab1).memory_held_bytes == 100);
  CHECK(cluster.state.view_of(lab1).holds.size() == 1);
  cluster.fine(cluster.report(attempts[1], Exited{0}));
  CHECK(cluster.state.view_of(lab1).cpus_held == 0);
  CHECK(cluster.state.view_of(lab1).memory_held_bytes == 0);
  CHECK(cluster.state.view_of(lab1).holds.empty());
}

TEST_CASE("an array's limit counts placings, since the tasks of one run one after the other") {
  Cluster cluster;
  JobDescription job = array_of(10);
  std::get<Array>(job.shape).limit = 2;
  cluster.add(job);
  CHECK(cluster.state.placings_left(job1) == 2);
  const auto first = cluster.run(job1, tasks(0, 3));
  cluster.run(job1, task(4));
  CHECK(cluster.state.placings_left(job1) == 0);
  CHECK(cluster.refused(cluster.place(job1, task(5), {})) ==
        Error{Code::busy, "job 1 has as many tasks under way as its array may: 2"});
  for (const Fence& attempt : first) {
    CHECK(cluster.state.placings_left(job1) == 0);
    cluster.fine(cluster.report(attempt, Exited{0}));
  }
  CHECK(cluster.state.placings_left(job1) == 1);
  cluster.run(job1, tasks(5, 9));
}

TEST_CASE("a job without a limit has any number of placings left") {
  Cluster cluster;
  cluster.add(array_of(3));
  CHECK(cluster.state.placings_left(job1) > 1'000'000);
  CHECK(cluster.state.placings_left(job2) == 0);
}

TEST_CASE("an offer that shrinks leaves what is held, and nothing free") {
  Cluster cluster;
  cluster.add(array_of(2));
  const Fence attempt = cluster.run(job1, task(0), {6, 60, {card(1)}, ""}).front();
  auto up = cluster.up(lab1);
  up.offer.host.cpus = 4;
  up.offer.host.memory_bytes = 50;
  up.offer.accelerators.resize(1);
  cluster.fine(up);
  CHECK(cluster.refused(cluster.place(job1, task(1), cpus(1))).code == Code::busy);
  CHECK(cluster.refused(cluster.place(job1, task(1), {0, 1, {}, ""})).code == Code::busy);
  cluster.fine(cluster.report(attempt, Exited{0}));
  cluster.run(job1, task(1), {4, 50, {card(0)}, ""});
}

TEST_CASE("a peer is shown to the placing functions with who holds what, and until when") {
  Cluster cluster;
  JobDescription job = array_of(3);
  job.spec.time_limit = seconds(60);
  cluster.add(job);
  const Fence whole = cluster.run(job1, task(0), claims({card(0)})).front();
  cluster.run(job1, tasks(1, 2), claims({share(1, 20)}));
  const auto start = cluster.start(whole);
  cluster.fine(start);
  const PeerView view = cluster.state.view_of(lab1);
  CHECK(view.name == "lab1");
  CHECK(view.accelerators.size() == 3);
  CHECK(view.reported_at == cluster.state.find_peer(lab1)->reported_at);
  CHECK(!view.unreachable_since);
  REQUIRE(view.holds.size() == 2);
  CHECK(view.holds[0].index == 0);
  CHECK(view.holds[0].holder == "job 1");
  CHECK(view.holds[0].since == cluster.state.find_attempt(whole.attempt)->placed_at);
  CHECK(view.holds[0].ends_by == start.at + seconds(60));
  CHECK(view.holds[1].shared_memory_bytes == 20);
  CHECK(!view.holds[1].ends_by);
}

TEST_CASE("a peer is shown with who has its processors and memory, each slot once") {
  Cluster cluster;
  JobDescription job = array_of(3);
  job.spec.time_limit = seconds(60);
  cluster.add(job);
  const Fence alone = cluster.run(job1, task(0), {2, 10, {}, ""}).front();
  const auto two = cluster.run(job1, tasks(1, 2), {3, 0, {}, ""});
  const auto start = cluster.start(alone);
  cluster.fine(start);
  cluster.fine(cluster.start(two[0]));
  const auto placed_at = cluster.state.find_attempt(two[0].attempt)->placed_at;
  PeerView view = cluster.state.view_of(lab1);
  REQUIRE(view.loads.size() == 2);
  CHECK(view.loads[0].cpus == 2);
  CHECK(view.loads[0].memory_bytes == 10);
  CHECK(view.loads[0].holder == "job 1");
  CHECK(view.loads[0].ends_by == start.at + seconds(60));
  // Another task of the slot runs after it.
  CHECK(view.loads[1] == LoadHold{3, 0, "job 1", placed_at, std::nullopt});
  cluster.fine(cluster.report(two[0], Exited{0}));
  const auto last = cluster.start(two[1]);
  cluster.fine(last);
  view = cluster.state.view_of(lab1);
  CHECK(view.loads[1] == LoadHold{3, 0, "job 1", placed_at, last.at + seconds(60)});
  cluster.fine(cluster.report(two[1], Exited{0}));
  cluster.fine(cluster.report(alone, Exited{0}));
  CHECK(cluster.state.view_of(lab1).loads.empty());
}

TEST_CASE("of many that hold a peer's processors the eight that began first are shown") {
  Cluster cluster;
  cluster.add(array_of(12));
  std::vector<Fence> all;
  for (std::uint64_t i = 0; i < 8; ++i)
    all.push_back(cluster.run(job1, task(i), {i < 7 ? 0 : 1, i < 7 ? 1u : 0u, {}, ""}).front());
  for (std::uint64_t i = 8; i < 12; ++i) cluster.run(job1, task(i), {1, 0, {}, ""});
  REQUIRE(cluster.state.view_of(lab1).loads.size() == 8);
  CHECK(cluster.state.view_of(lab1).loads[0].memory_bytes == 1);
  cluster.fine(cluster.report(all[0], Exited{0}));
  REQUIRE(cluster.state.view_of(lab1).loads.size() == 8);
  CHECK(cluster.state.view_of(lab1).loads[7].cpus == 1);
  CHECK(cluster.state.view_of(lab1).cpus_held == 5);
}

TEST_CASE("gangs are not placed yet") {
  Cluster cluster;
  cluster.add(one_task());
  CHECK(cluster
            .refused(command::PlaceGang{job1, task0, {{lab1, {}}, {lab2, {}}}, 0, 0, cluster.now()})
            .code == Code::unsupported);
}
