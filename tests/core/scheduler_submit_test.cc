#include <doctest/doctest.h>

#include "scheduler_scene.h"

using namespace gpl;
using namespace gpl::scheduler_test;

namespace {

std::vector<command::Placing> placings(const Scene& scene, const JobDescription& job) {
  return place_at_submit(scene.state, job, scene.now());
}
bool starts(const Scene& scene, const JobDescription& job) { return !placings(scene, job).empty(); }

}  // namespace

TEST_CASE("a job that is submitted to an idle cluster starts on the peer that fits best") {
  Scene scene({machine(8), machine(2)});
  const JobDescription job = for_cpus(2);
  CHECK(placings(scene, job) ==
        std::vector{command::Placing{{TaskId{0}, TaskId{0}}, PeerId{2}, {2, 0, {}, ""}}});
  const JobId id = scene.submit(job, placings(scene, job));
  CHECK(scene.where(id) == Names{"lab2"});
}

TEST_CASE("of peers that serve alike the one that takes the submit gets the job") {
  Scene scene({machine(4), machine(4), machine(4)});
  for (const PeerId home : {PeerId{1}, PeerId{2}, PeerId{3}}) {
    const auto placed = place_at_submit(scene.state, for_cpus(2), scene.now(), {}, home);
    REQUIRE(placed.size() == 1);
    CHECK(placed.front().peer == home);
  }
  // But not where more would be left over there.
  Scene unlike({machine(8), machine(4)});
  CHECK(place_at_submit(unlike.state, for_cpus(2), unlike.now(), {}, PeerId{1}).front().peer ==
        PeerId{2});
}

TEST_CASE("a peer whose link is gone gets nothing, though the state has it up") {
  Scene scene({machine(4), machine(2)});
  const std::set<PeerId> away{PeerId{2}};
  CHECK(place_at_submit(scene.state, for_cpus(2), scene.now(), away).front().peer == PeerId{1});
  CHECK(place_at_submit(scene.state, for_cpus(2), scene.now(), {PeerId{1}, PeerId{2}}).empty());
  const JobId job = scene.submit(for_cpus(2), {});
  Scheduler scheduler;
  const auto pass = scheduler.pass(scene.state, scene.now(), 100, away);
  REQUIRE(pass.places.size() == 1);
  CHECK(pass.places.front().job == job);
  CHECK(pass.places.front().placing.peer == PeerId{1});
}

TEST_CASE("as many tasks of an array start at its submit as fit, up to its limit") {
  Scene scene({machine(3)});
  JobDescription job = array_of(9, for_cpus(1));
  std::get<Array>(job.shape).tasks = {TaskId{5}, TaskId{13}};
  CHECK(placings(scene, job).size() == 3);
  CHECK(placings(scene, job).back().tasks == TaskRange{TaskId{7}, TaskId{7}});
  std::get<Array>(job.shape).limit = 2;
  const JobId id = scene.submit(job, placings(scene, job));
  CHECK(scene.where(id).size() == 2);
}

TEST_CASE("the rest of a large array is left to the next pass") {
  Scene scene({machine(1000)});
  const JobDescription job = array_of(1000, for_cpus(1));
  const auto some = placings(scene, job);
  CHECK(some.size() >= 32);
  CHECK(some.size() <= 64);
  const JobId id = scene.submit(job, some);
  scene.pass();
  CHECK(scene.where(id).size() == 1000);
}

TEST_CASE("what is held, or has to wait for a job, does not start at its submit") {
  Scene scene({machine(8)});
  JobDescription held = for_cpus(1);
  held.held = true;
  CHECK(!starts(scene, held));
  JobDescription after = for_cpus(1);
  after.after = {{scene.run_on_cpus(1, PeerId{1}), After::ok}};
  CHECK(!starts(scene, after));
  scene.end(after.after[0].job);
  CHECK(starts(scene, after));
}

TEST_CASE("a job of which the dependency ended otherwise than it asks ends with its submit") {
  Scene scene({machine(8)});
  JobDescription after = for_cpus(1);
  after.after = {{scene.run_on_cpus(1, PeerId{1}), After::fail}};
  scene.end(after.after[0].job);
  const JobId id = scene.submit(after, placings(scene, after));
  CHECK(scene.state.find_job(id)->has_ended());
}

TEST_CASE("a job does not start at its submit where one in front of it fits") {
  Scene scene({machine(8)});
  scene.submit(for_cpus(8));
  CHECK(!starts(scene, for_cpus(1)));
  CHECK(starts(scene, with_priority(1, for_cpus(1))));
}

TEST_CASE("a job does not start at its submit where one in front waits for room") {
  Scene scene({machine(8), machine(4)});
  scene.run_on_cpus(5, PeerId{1});
  scene.submit(for_cpus(6));
  REQUIRE(placings(scene, for_cpus(3)).size() == 1);
  CHECK(placings(scene, for_cpus(3))[0].peer == PeerId{2});
  scene.run_on_cpus(4, PeerId{2});
  CHECK(!starts(scene, for_cpus(3)));
  CHECK(starts(scene, for_cpus(2)));  // beside it
  CHECK(placings(scene, array_of(3, for_cpus(1))).size() == 2);
}

TEST_CASE("a job that ends before the one in front can start does so at its submit") {
  Scene scene({machine(8, {24, 24})});
  scene.run(with_limit(seconds(60), for_cards(1)), PeerId{1},
            {1, 0, {{{AcceleratorKind::cuda, 0, ""}, {}}}, ""});
  scene.submit(for_cards(2));
  CHECK(starts(scene, with_limit(seconds(60), for_cards(1))));
  CHECK(!starts(scene, with_limit(seconds(61), for_cards(1))));
}

TEST_CASE("behind a queue a job is left to the next pass") {
  Scene scene({machine(8)});
  for (int i = 0; i < 100'000; ++i) scene.submit(for_cpus(9));
  CHECK(!starts(scene, for_cpus(1)));
  CHECK(starts(scene, with_priority(1, for_cpus(1))));
}
