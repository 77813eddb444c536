#include <doctest/doctest.h>

#include "scheduler_scene.h"

using namespace gpl;
using namespace gpl::scheduler_test;

namespace {

Allocation one_cpu() { return {1, 0, {}, ""}; }
Allocation a_card(int index = 0) { return {1, 0, {{{AcceleratorKind::cuda, index, ""}, {}}}, ""}; }

struct Explained : Scene {
  using Scene::Scene;
  JobExplanation of(JobId job) const { return explain_job(state, job, now()); }
  std::string headline(JobId job) const { return of(job).explanation.headline; }
  Verdict verdict(JobId job) const { return of(job).explanation.verdict; }
};

}  // namespace

TEST_CASE("a job that waits is told what for, how long, and how many are in front") {
  Explained scene({machine(4), machine(8, {24})});
  const JobId running = scene.run(with_limit(seconds(3600), for_cards(1)), PeerId{2}, a_card());
  scene.now_ms += 180'000;
  JobDescription big = for_cards(1);
  const JobId front = scene.submit(big);
  const JobId behind = scene.submit(big);
  REQUIRE(running == JobId{1});
  CHECK(scene.headline(front) ==
        "waiting: lab2 will fit when job 1 ends (running 3m, at most 57m more)");
  CHECK(scene.headline(behind) ==
        "waiting: lab2 will fit when job 1 ends (running 3m, at most 57m more); "
        "1 job is in front");
  CHECK(scene.verdict(behind) == Verdict::waiting);
  CHECK(scene.of(front).position == 1);
  CHECK(scene.of(behind).position == 2);
  CHECK(scene.of(behind).explanation.peers.size() == 2);
}

TEST_CASE("a job that waits for processors is told who has them, for how long and until when") {
  Explained scene({machine(2)});
  scene.run(with_limit(seconds(3600), for_cpus(2)), PeerId{1}, {2, 0, {}, ""});
  scene.now_ms += 180'000;
  scene.submit(for_cpus(2));
  const JobId job = scene.submit(for_cpus(2));
  CHECK(scene.headline(job) ==
        "waiting: lab1 will fit when job 1 ends (running 3m, at most 57m more); 1 job is in front");
  CHECK(scene.of(job).explanation.peers[0].fit.reasons[0].text ==
        "cpus: 2 asked, 0 free of 2 (2 held by job 1 for 3m)");
}

TEST_CASE("since when is not told when one job has the processors and another the memory") {
  Explained scene({machine(2, {}, 4)});
  scene.run(for_cpus(2), PeerId{1}, {2, 0, {}, ""});
  scene.run(for_cpus(1), PeerId{1}, {0, 4 * gib, {}, ""});
  JobDescription both = for_cpus(1);
  both.requirement.memory_bytes = gib;
  CHECK(scene.headline(scene.submit(both)) ==
        "waiting: lab1 will fit when job 1 ends and job 2 ends");
}

TEST_CASE("those in front are those of higher priority, and the older of equals") {
  Explained scene({machine(1)});
  scene.run_on_cpus(1, PeerId{1});
  const JobId job = scene.submit(for_cpus(1));
  scene.submit(with_priority(-1, for_cpus(1)));
  scene.submit(for_cpus(1));
  CHECK(scene.of(job).position == 1);
  scene.submit(with_priority(1, for_cpus(1)));
  scene.submit(with_priority(2, for_cpus(1)));
  CHECK(scene.of(job).position == 3);
  CHECK(scene.headline(job) ==
        "waiting: lab1 will fit when job 1 ends (running 0s); 2 jobs are in front");
}

TEST_CASE("a job that fits and has not been placed is told that its turn has not come") {
  Explained scene({machine(8)});
  const JobId first = scene.submit(for_cpus(8));
  const JobId second = scene.submit(for_cpus(1));
  CHECK(scene.verdict(first) == Verdict::waiting);
  CHECK(scene.headline(first) == "waiting: it is about to start, on lab1 or elsewhere");
  CHECK(scene.headline(second) ==
        "waiting: lab1 fits, and its turn has not come; 1 job is in front");
}

TEST_CASE("an array at its limit waits for its own tasks") {
  Explained scene({machine(8)});
  JobDescription array = array_of(5, for_cpus(1));
  std::get<Array>(array.shape).limit = 1;
  const JobId job = scene.submit(array);
  scene.pass();
  CHECK(scene.headline(job) ==
        "waiting: as many of its tasks are under way as its array's limit lets; 1 task is under "
        "way");
}

TEST_CASE("a job that runs is told where and since when") {
  Explained scene({machine(8)});
  const JobId job = scene.submit(for_cpus(1));
  scene.pass();
  CHECK(scene.headline(job) == "is being started on lab1");
  scene.start(job);
  scene.now_ms += 180'000;
  CHECK(scene.headline(job) == "runs on lab1 since 3m");
  CHECK(scene.verdict(job) == Verdict::fits);
  CHECK(scene.of(job).position == 0);
  scene.apply(command::Cancel{job, std::nullopt, scene.now()});
  CHECK(scene.headline(job) == "runs on lab1 since 3m, and has been told to end");
}

TEST_CASE("where a job runs is told as doubtful while its peer is out of reach") {
  Explained scene({machine(8)});
  const JobId job = scene.run(for_cpus(1), PeerId{1}, one_cpu());
  scene.apply(command::PeerDown{PeerId{1}, scene.now()});
  scene.now_ms += 20'000;
  CHECK(scene.headline(job) ==
        "runs on lab1 since 20s, as far as is known: lab1 is unreachable for 20s");
}

TEST_CASE("the tasks of an array are told by their number and peers") {
  Explained scene({machine(2), machine(1)});
  const JobId job = scene.submit(array_of(3, for_cpus(1)));
  scene.pass();
  CHECK(scene.headline(job) == "3 tasks run on lab1 and lab2");
}

TEST_CASE("a job that has ended is told how") {
  Explained scene({machine(8)});
  const JobId job = scene.run(for_cpus(1), PeerId{1}, one_cpu());
  scene.end(job);
  scene.now_ms += 60'000;
  CHECK(scene.headline(job) == "ended 1m ago: exit code 0");
  const JobId lost = scene.run(for_cpus(1), PeerId{1}, one_cpu());
  const Fence fence = scene.state.find_attempt(scene.state.attempts_of(lost).front())->fence;
  scene.apply(command::Report{fence, FailedToStart{2, 127, "no such file"}, scene.now()});
  CHECK(scene.headline(lost) == "ended 0s ago: could not be started: no such file");
  CHECK(scene.of(lost).position == 0);
}

TEST_CASE("a held job and a blocked one say so") {
  Explained scene({machine(8)});
  JobDescription held = for_cpus(1);
  held.held = true;
  const JobId first = scene.submit(held);
  JobDescription blocked = for_cpus(1);
  blocked.after = {{first, After::ok}, {scene.run_on_cpus(1, PeerId{1}), After::fail}};
  const JobId third = scene.submit(blocked);
  CHECK(scene.verdict(first) == Verdict::held);
  CHECK(scene.headline(first) == "held: until it is released (gpl release 1)");
  CHECK(scene.verdict(third) == Verdict::blocked);
  CHECK(scene.headline(third) == "blocked: until job 1 ends well and job 2 fails");
  CHECK(scene.of(third).position == 0);
  CHECK(name_of(Verdict::held) == "held");
  CHECK(name_of(Verdict::blocked) == "blocked");
}

TEST_CASE("a job that no known peer could run is told so") {
  Explained scene({machine(8)});
  const JobId job = scene.submit(for_cpus(9));
  CHECK(scene.verdict(job) == Verdict::never);
  CHECK(scene.headline(job) == "never: lab1 cannot run this: cpus: 9 asked, it has 8");
  CHECK(scene.of(job).explanation.nearest == "lab1 fits if 8 cpus are enough; 9 are asked for");
}

TEST_CASE("a new job is told that it can never run only once all peers have reported") {
  Explained scene({machine(8)});
  const Requirement asked = for_cpus(9).requirement;
  const Explanation early = explain_new(scene.state, asked, false, scene.now());
  CHECK(early.verdict == Verdict::waiting);
  CHECK(early.headline == "waiting: not all peers have reported yet");
  CHECK(explain_new(scene.state, asked, true, scene.now()).verdict == Verdict::never);
  CHECK(explain_new(scene.state, {}, false, scene.now()).verdict == Verdict::fits);
}

TEST_CASE("a new job asks for a processor even if it does not say so") {
  Explained scene({machine(1)});
  scene.run_on_cpus(1, PeerId{1});
  CHECK(explain_new(scene.state, {}, true, scene.now()).verdict == Verdict::waiting);
}

TEST_CASE("names from outside drive no terminal in a job's headline") {
  Explained scene({machine(8)});
  const JobId job = scene.run(for_cpus(1), PeerId{1}, one_cpu());
  const Fence fence = scene.state.find_attempt(scene.state.attempts_of(job).front())->fence;
  scene.apply(command::Report{fence, FailedToStart{0, 125, "a\x1b[2Jb"}, scene.now()});
  CHECK(scene.headline(job) == "ended 0s ago: could not be started: a [2Jb");
}
