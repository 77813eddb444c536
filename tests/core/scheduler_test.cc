#include "gpl/core/scheduler.h"

#include <doctest/doctest.h>

#include "scheduler_scene.h"

using namespace gpl;
using namespace gpl::scheduler_test;

TEST_CASE("a job that says nothing of processors asks for one in a cluster") {
  CHECK(asked_in_cluster({}).cpus == 1);
  Requirement four;
  four.cpus = 4;
  CHECK(asked_in_cluster(four) == four);
}

TEST_CASE("an allocation has what was asked for and the environment's root") {
  PeerView view;
  view.environments = {{"a", "/a", "", "", {}, {}}, {"b", "/b", "", "", {}, {}}};
  Requirement asked = asked_in_cluster({});
  asked.memory_bytes = 5;
  const Placement placement{{{AcceleratorKind::cuda, 1, "MIG-a"}}, 7, 1};
  CHECK(allocation_of(asked, placement, view) ==
        Allocation{1, 5, {{{AcceleratorKind::cuda, 1, "MIG-a"}, 7}}, "/b"});
}

TEST_CASE("jobs of higher priority are placed first, and the older of equals") {
  Scene scene({machine(2)});
  const JobId low = scene.submit(with_priority(-1, for_cpus(1)));
  const JobId old = scene.submit(for_cpus(1));
  const JobId young = scene.submit(for_cpus(1));
  const JobId high = scene.submit(with_priority(7, for_cpus(1)));
  const Scheduler::Pass pass = scene.pass();
  REQUIRE(pass.places.size() == 2);
  CHECK(pass.places[0].job == high);
  CHECK(pass.places[1].job == old);
  CHECK(pass.complete);
  CHECK(scene.waits(young));
  CHECK(scene.waits(low));
}

TEST_CASE("what is placed takes what it asks for, and the time of the pass") {
  Scene scene({machine(4, {24})});
  JobDescription job = for_cards(1);
  job.requirement.cpus = 3;
  job.requirement.memory_bytes = gib;
  const JobId id = scene.submit(job);
  const Scheduler::Pass pass = scene.pass();
  CHECK(
      pass.places ==
      std::vector{command::Place{
          id,
          {{TaskId{0}, TaskId{0}}, PeerId{1}, {3, gib, {{{AcceleratorKind::cuda, 0, ""}, {}}}, ""}},
          scene.now()}});
}

TEST_CASE("a job goes to the fullest peer that fits") {
  Scene scene({machine(8), machine(6), machine(16), machine(4)});
  scene.run_on_cpus(13, PeerId{3});
  scene.run_on_cpus(2, PeerId{4});
  const JobId job = scene.submit(for_cpus(3));
  scene.pass();
  CHECK(scene.where(job) == Names{"lab3"});
}

TEST_CASE("of peers with as many processors left the one with the least memory is taken") {
  Scene scene({machine(4, {}, 32), machine(4, {}, 16), machine(4, {}, 64)});
  const JobId job = scene.submit(for_cpus(2));
  scene.pass();
  CHECK(scene.where(job) == Names{"lab2"});
}

TEST_CASE("of peers that are alike the first is taken") {
  Scene scene({machine(4), machine(4)});
  const JobId job = scene.submit(for_cpus(2));
  scene.pass();
  CHECK(scene.where(job) == Names{"lab1"});
}

TEST_CASE("a job that wants no device leaves peers with devices alone while it can") {
  Scene scene({machine(2, {24}), machine(16)});
  const JobId job = scene.submit(array_of(17, for_cpus(1)));
  scene.pass();
  Names names(16, "lab2");
  names.emplace_back("lab1");
  CHECK(scene.where(job) == names);
}

TEST_CASE("a job for a device takes the smallest card that serves, on whatever peer") {
  Scene scene({machine(2, {80, 48}), machine(16, {24, 12}), machine(2, {24})});
  JobDescription job = for_cards(1);
  job.requirement.gpu_memory_bytes = 20 * gib;
  const JobId first = scene.submit(job);
  const JobId second = scene.submit(job);
  const JobId third = scene.submit(job);
  const JobId any = scene.submit(for_cards(1));
  scene.pass();
  CHECK(scene.where(first) == Names{"lab3"});
  CHECK(scene.where(second) == Names{"lab2"});
  CHECK(scene.claims(second).front().device.index == 0);
  CHECK(scene.where(third) == Names{"lab1"});
  CHECK(scene.claims(third).front().device.index == 1);
  CHECK(scene.where(any) == Names{"lab2"});
  CHECK(scene.claims(any).front().device.index == 1);
}

TEST_CASE("nothing is placed on a peer that is down or closed") {
  Scene scene({machine(4), machine(4)});
  const JobId job = scene.submit(for_cpus(1));
  scene.apply(command::PeerDown{PeerId{1}, scene.now()});
  PeerOffer closed = machine(4);
  closed.closed = "draining";
  scene.report(PeerId{2}, closed);
  CHECK(scene.pass().places.empty());
  scene.report(PeerId{2}, machine(4));
  scene.pass();
  CHECK(scene.where(job) == Names{"lab2"});
}

TEST_CASE("the tasks of an array are placed one by one, as many as fit") {
  Scene scene({machine(3), machine(2)});
  const JobId job = scene.submit(array_of(9, for_cpus(1)));
  const Scheduler::Pass pass = scene.pass();
  REQUIRE(pass.places.size() == 5);
  for (std::uint64_t i = 0; i < 5; ++i)
    CHECK(pass.places[i].placing.tasks == TaskRange{TaskId{i}, TaskId{i}});
  CHECK(scene.state.waiting(job) == std::vector{TaskRange{TaskId{5}, TaskId{8}}});
}

TEST_CASE("no more of an array is placed than its limit lets, and others go past it") {
  Scene scene({machine(8)});
  JobDescription limited = array_of(9, for_cpus(1));
  std::get<Array>(limited.shape).limit = 2;
  const JobId job = scene.submit(limited);
  const JobId behind = scene.submit(for_cpus(6));
  scene.pass();
  CHECK(scene.where(job).size() == 2);
  CHECK(scene.where(behind).size() == 1);
  CHECK(scene.pass().places.empty());
}

TEST_CASE("tasks of an array that come back are placed before those that never ran") {
  Scene scene({machine(1)});
  JobDescription array = array_of(3, for_cpus(1));
  array.retries = 1;
  const JobId job = scene.submit(array);
  scene.pass();
  const Fence fence = scene.state.find_attempt(scene.state.attempts_of(job).front())->fence;
  scene.apply(command::Report{fence, Exited{1}, scene.now()});
  const Scheduler::Pass pass = scene.pass();
  REQUIRE(pass.places.size() == 1);
  CHECK(pass.places[0].placing.tasks.first == TaskId{0});
}

TEST_CASE("what is held or blocked is not placed") {
  Scene scene({machine(8)});
  JobDescription held = for_cpus(1);
  held.held = true;
  const JobId first = scene.submit(held);
  JobDescription blocked = for_cpus(1);
  blocked.after = {{first, After::any}};
  const JobId second = scene.submit(blocked);
  CHECK(scene.pass().places.empty());
  scene.apply(command::Release{first, scene.now()});
  scene.pass();
  CHECK(!scene.waits(first));
  CHECK(scene.waits(second));
}

TEST_CASE("memory is not given of a peer that does not know how much it has") {
  Scene scene({machine(8, {}, 0)});
  JobDescription job = for_cpus(1);
  job.requirement.memory_bytes = 1;
  scene.submit(job);
  const JobId other = scene.submit(for_cpus(1));
  scene.pass();
  CHECK(scene.where(other) == Names{"lab1"});
  CHECK(scene.state.attempts_on(PeerId{1}).size() == 1);
}

TEST_CASE("a share is not given of a card that was cut into slices since it was shared") {
  PeerOffer whole = machine(8, {80});
  Scene scene({whole});
  JobDescription share = for_cards(1);
  share.requirement.gpu_share = true;
  share.requirement.gpu_memory_bytes = 8 * gib;
  const JobId first = scene.submit(share);
  scene.pass();
  REQUIRE(!scene.waits(first));
  whole.accelerators[0].partitions = {{"MIG-a", "3g", 40 * gib, 1}};
  whole.accelerators[0].uuid = "GPU-a";
  scene.report(PeerId{1}, whole);
  const JobId second = scene.submit(share);
  CHECK(scene.pass().places.empty());
  scene.end(first);
  scene.pass();
  CHECK(scene.claims(second).front().device.slice == "MIG-a");
}

TEST_CASE("with a full cluster a pass over 100,000 jobs checks nothing") {
  Scene scene({machine(4), machine(4)});
  for (int i = 0; i < 100'000; ++i) scene.submit(with_priority(i % 1000, for_cpus(1 + i % 3)));
  scene.pass();
  const Scheduler::Pass full = scene.pass();
  CHECK(full.complete);
  CHECK(full.checks == 0);
}

TEST_CASE("a requirement that found no place is not checked again in the pass") {
  Scene scene({machine(2), machine(1)});
  scene.run_on_cpus(1, PeerId{1});
  for (int i = 0; i < 100'000; ++i) scene.submit(with_priority(i % 1000, for_cpus(2 + i % 3)));
  const Scheduler::Pass pass = scene.pass(10'000);
  CHECK(pass.places.empty());
  CHECK(pass.complete);
  CHECK(pass.checks <= 12);
}

TEST_CASE("a pass of few checks passes over few jobs, too") {
  Scene scene({machine(2), machine(1)});
  scene.run_on_cpus(1, PeerId{1});
  for (int i = 0; i < 1000; ++i) scene.submit(for_cpus(2));
  const JobId last = scene.submit(for_cpus(1));
  int passes = 1;
  while (!scene.pass(10).complete) ++passes;
  CHECK(passes > 5);
  CHECK(passes < 100);
  CHECK(scene.where(last) == Names{"lab2"});
}

TEST_CASE("a pass places no more than its checks let, and the next goes on behind it") {
  Scene scene({machine(100)});
  const JobId array = scene.submit(array_of(30, for_cpus(1)));
  const JobId behind = scene.submit(for_cpus(2));
  const Scheduler::Pass first = scene.pass(20);
  CHECK(!first.complete);
  CHECK(first.checks <= 20);
  CHECK(first.places.size() <= 20);
  CHECK(scene.waits(behind));
  while (!scene.pass(20).complete) {
  }
  CHECK(scene.where(array).size() == 30);
  CHECK(!scene.waits(behind));
}

TEST_CASE("what comes free between two passes of a round is found by another round") {
  Scene scene({machine(8), machine(4)});
  scene.run_on_cpus(7, PeerId{1});
  const JobId running = scene.run_on_cpus(3, PeerId{2});
  const JobId first = scene.submit(for_cpus(8));  // lab1 is kept for it
  const JobId second = scene.submit(for_cpus(3));
  for (int i = 0; i < 3; ++i) scene.submit(for_cpus(5 + i));
  CHECK(!scene.pass(1).complete);
  CHECK(!scene.pass(1).complete);
  scene.end(running);
  int passes = 0;
  while (!scene.pass(1).complete) REQUIRE(++passes < 100);
  CHECK(scene.waits(first));
  CHECK(scene.where(second) == Names{"lab2"});
}

TEST_CASE("the first that waits is looked at again before a round goes on behind it") {
  Scene scene({machine(4), machine(2)});
  const JobId running = scene.run_on_cpus(2, PeerId{1});
  scene.run_on_cpus(1, PeerId{2});
  const JobId first = scene.submit(for_cpus(4));
  scene.submit(for_cpus(5));
  const JobId behind = scene.submit(for_cpus(2));
  CHECK(!scene.pass(1).complete);
  scene.end(running);
  CHECK(!scene.pass(1).places.empty());
  CHECK(scene.where(first) == Names{"lab1"});
  while (!scene.pass(1).complete) {
  }
  CHECK(scene.waits(behind));
}

TEST_CASE("a scheduler that is told to restart begins with the front") {
  Scene scene({machine(100)});
  scene.submit(array_of(30, for_cpus(1)));
  CHECK(!scene.pass(20).complete);
  const JobId urgent = scene.submit(with_priority(1, for_cpus(1)));
  scene.scheduler.restart();
  const Scheduler::Pass pass = scene.pass(20);
  REQUIRE(!pass.places.empty());
  CHECK(pass.places.front().job == urgent);
}
