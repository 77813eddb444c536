#include <doctest/doctest.h>

#include <algorithm>

#include "scheduler_scene.h"

using namespace gpl;
using namespace gpl::scheduler_test;

TEST_CASE("what is behind does not take what the first that waits will need") {
  Scene scene({machine(8)});
  const JobId running = scene.run_on_cpus(6, PeerId{1});
  const JobId first = scene.submit(for_cpus(8));
  const JobId behind = scene.submit(for_cpus(2));
  CHECK(scene.pass().places.empty());
  scene.end(running);
  scene.pass();
  CHECK(!scene.waits(first));
  CHECK(scene.waits(behind));
}

TEST_CASE("what leaves room for the first that waits starts beside it") {
  Scene scene({machine(8)});
  const JobId running = scene.run_on_cpus(5, PeerId{1});
  const JobId first = scene.submit(for_cpus(6));
  const JobId beside = scene.submit(for_cpus(2));
  const JobId too_much = scene.submit(for_cpus(1));
  scene.pass();
  CHECK(!scene.waits(beside));
  CHECK(scene.waits(too_much));
  // Nor when what started beside is in the state.
  CHECK(scene.pass().places.empty());
  scene.end(running);
  scene.pass();
  CHECK(!scene.waits(first));
}

TEST_CASE("other peers than the one that is kept take what fits") {
  Scene scene({machine(8), machine(2)});
  scene.run_on_cpus(7, PeerId{1});
  const JobId first = scene.submit(for_cpus(8));
  const JobId behind = scene.submit(array_of(3, for_cpus(1)));
  scene.pass();
  CHECK(scene.waits(first));
  CHECK(scene.where(behind) == Names{"lab2", "lab2"});
}

TEST_CASE("the peer with the most free is kept when nobody knows when") {
  Scene scene({machine(8), machine(8)});
  scene.run_on_cpus(4, PeerId{1});
  scene.run_on_cpus(3, PeerId{2});
  scene.submit(for_cpus(8));
  const JobId behind = scene.submit(array_of(9, for_cpus(1)));
  scene.pass();
  CHECK(scene.where(behind) == Names(4, "lab1"));
}

TEST_CASE("the peer that is kept stays the same while the same job waits") {
  Scene scene({machine(8), machine(8)});
  scene.run_on_cpus(4, PeerId{1});
  scene.run_on_cpus(1, PeerId{2});
  const JobId running = scene.run_on_cpus(4, PeerId{2});
  const JobId other = scene.run_on_cpus(1, PeerId{1});
  const JobId first = scene.submit(for_cpus(8));
  scene.pass();  // as much is free on both: lab1
  scene.end(running);
  const JobId behind = scene.submit(array_of(9, for_cpus(1)));
  scene.pass();
  CHECK(scene.where(behind) == Names(7, "lab2"));
  scene.end(other);
  CHECK(scene.pass().places.empty());
  CHECK(scene.waits(first));
}

TEST_CASE("the peer is kept where time limits let the job start first") {
  Scene scene({machine(8, {24}), machine(8, {24}), machine(8, {24})});
  const Allocation card{1, 0, {{{AcceleratorKind::cuda, 0, ""}, {}}}, ""};
  scene.run(for_cards(1), PeerId{1}, card);
  scene.run(with_limit(seconds(60), for_cards(1)), PeerId{2}, card);
  scene.run(with_limit(seconds(90), for_cards(1)), PeerId{3}, card);
  JobDescription big = for_cards(1);
  big.requirement.cpus = 7;
  scene.submit(big);
  const JobId behind = scene.submit(array_of(3, for_cpus(7)));
  scene.pass();
  CHECK(scene.where(behind) == Names{"lab1", "lab3"});
}

TEST_CASE("a time limit lets a job end before the first that waits can start") {
  Scene scene({machine(8, {24, 24})});
  scene.run(with_limit(seconds(60), for_cards(1)), PeerId{1},
            {1, 0, {{{AcceleratorKind::cuda, 0, ""}, {}}}, ""});
  const JobId first = scene.submit(for_cards(2));
  const JobId endless = scene.submit(for_cards(1));
  const JobId slow = scene.submit(with_limit(milliseconds(60'001), for_cards(1)));
  const JobId quick = scene.submit(with_limit(seconds(60), for_cards(1)));
  scene.pass();
  CHECK(scene.waits(first));
  CHECK(scene.waits(endless));
  CHECK(scene.waits(slow));
  CHECK(!scene.waits(quick));
}

TEST_CASE("time limits say when processors come free, and what ends before that may start") {
  Scene scene({machine(8)});
  scene.run(with_limit(seconds(60), for_cpus(4)), PeerId{1}, {4, 0, {}, ""});
  const JobId first = scene.submit(for_cpus(8));
  const JobId endless = scene.submit(for_cpus(1));
  const JobId slow = scene.submit(with_limit(milliseconds(60'001), for_cpus(1)));
  const JobId quick = scene.submit(with_limit(seconds(60), for_cpus(1)));
  scene.pass();
  CHECK(scene.waits(first));
  CHECK(scene.waits(endless));
  CHECK(scene.waits(slow));
  CHECK(!scene.waits(quick));
}

TEST_CASE("no peer is kept for a job that could run on none") {
  Scene scene({machine(8)});
  const JobId never = scene.submit(for_cpus(9));
  const JobId behind = scene.submit(array_of(9, for_cpus(1)));
  scene.pass();
  CHECK(scene.waits(never));
  CHECK(scene.where(behind).size() == 8);
}

TEST_CASE("no peer is kept for a job that waits for memory that is used outside gpl") {
  PeerOffer offer = machine(8, {24});
  offer.accelerators[0].memory_used_bytes = 20 * gib;
  Scene scene({offer});
  JobDescription job = for_cards(1);
  job.requirement.gpu_memory_bytes = 8 * gib;
  job.requirement.cpus = 8;
  scene.submit(job);
  const JobId behind = scene.submit(for_cpus(1));
  scene.pass();
  CHECK(!scene.waits(behind));
}

TEST_CASE("a peer is kept for the rest of an array") {
  Scene scene({machine(4), machine(4)});
  scene.run_on_cpus(2, PeerId{1});
  const JobId array = scene.submit(array_of(3, for_cpus(3)));
  const JobId behind = scene.submit(array_of(9, for_cpus(1)));
  scene.pass();
  CHECK(scene.where(array) == Names{"lab2"});
  // lab1 is kept, and one processor is left beside.
  CHECK(scene.where(behind) == Names{"lab2", "lab1"});
}

TEST_CASE("once a peer is no longer needed what was kept from it starts at once") {
  Scene scene({machine(8)});
  scene.run_on_cpus(6, PeerId{1});
  const JobId first = scene.submit(for_cpus(8));
  const JobId behind = scene.submit(for_cpus(2));
  CHECK(scene.pass().places.empty());
  scene.apply(command::Cancel{first, std::nullopt, scene.now()});
  scene.pass();
  CHECK(!scene.waits(behind));
}

TEST_CASE("a stream of small jobs does not starve a large one") {
  Scene scene({machine(4), machine(4)});
  std::vector<JobId> small;
  const auto submit_small = [&] {
    const JobDescription job = for_cpus(1);
    small.push_back(scene.submit(job, place_at_submit(scene.state, job, scene.now())));
  };
  for (int i = 0; i < 12; ++i) submit_small();
  scene.pass();
  const JobId large = scene.submit(for_cpus(4));
  int turns = 0;
  for (; scene.waits(large) && turns < 100; ++turns) {
    const auto runs =
        std::find_if(small.begin(), small.end(), [&](JobId job) { return !scene.waits(job); });
    if (runs != small.end()) {
      scene.end(*runs);
      small.erase(runs);
    }
    submit_small();
    submit_small();
    scene.pass();
  }
  CHECK(turns < 20);
}
