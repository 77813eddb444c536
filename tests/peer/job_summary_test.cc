#include "gpl/peer/job_summary.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/state_fixture.h"

using namespace gpl::test;  // the words of the fixture
using gpl::Cancelled;
using gpl::Exited;
using gpl::Instant;
using gpl::JobDescription;
using gpl::JobId;
using gpl::Lost;
using gpl::Submitter;
using gpl::peer::ListingContext;
using gpl::peer::QueuePositions;
using gpl::wire::JobSummary;

namespace {

const Submitter bob{"", lab2, 1001};
constexpr Instant later{100'000};

JobId add_of(Cluster& cluster, const Submitter& submitter, JobDescription job = one_task()) {
  gpl::command::Submit submit = cluster.submit(std::move(job));
  submit.submitter = submitter;
  return *cluster.fine(submit).job;
}
JobDescription with_priority(std::int32_t priority) {
  JobDescription job = one_task();
  job.priority = priority;
  return job;
}
JobDescription held_job() {
  JobDescription job = one_task();
  job.held = true;
  return job;
}

JobSummary summary_of(const Cluster& cluster, JobId job) {
  return gpl::peer::summarise(cluster.state, job, {}, later);
}
void close(Cluster& cluster, gpl::PeerId peer, const std::string& why) {
  gpl::command::PeerUp up = cluster.up(peer);
  up.offer.closed = why;
  cluster.fine(up);
}

}  // namespace

TEST_CASE("a queued job tells its place by priority, then age, and for what it waits") {
  Cluster cluster;
  cluster.add(one_task());
  JobDescription asking = one_task();
  asking.requirement.gpus = 2;
  asking.requirement.kind = gpl::AcceleratorKind::cuda;
  asking.requirement.cpus = 4;
  asking.requirement.memory_bytes = std::uint64_t{8} << 30;
  asking.requirement.on = "lab2";
  asking.requirement.frameworks = {gpl::FrameworkWish::parse("torch.cuda >=2").value()};
  cluster.add(asking);
  cluster.add(with_priority(1));
  const JobSummary first = summary_of(cluster, job3);
  CHECK(first.state == "queued");
  CHECK(first.position == 1);
  CHECK(first.why == "waits for its turn");
  CHECK(summary_of(cluster, job1).position == 2);
  const JobSummary last = summary_of(cluster, job2);
  CHECK(last.position == 3);
  CHECK(last.why == "waits for 2 cuda, 4 cpus, 8.0 GiB, torch.cuda on lab2");
  CHECK(last.where.empty());
  CHECK(!last.outcome);
}

TEST_CASE("positions made at once are those made singly") {
  Cluster cluster;
  for (int i = 0; i < 20; ++i) cluster.add(i % 7 == 3 ? held_job() : with_priority(i % 3));
  cluster.run(cluster.add(one_task()));
  const QueuePositions positions(cluster.state);
  ListingContext context;
  context.positions = &positions;
  cluster.state.for_each_job([&](const gpl::JobRecord& job) {
    const JobSummary with = gpl::peer::summarise(cluster.state, job.id, context, later);
    CHECK(with == summary_of(cluster, job.id));
  });
  CHECK(QueuePositions(cluster.state, 2).of(cluster.state.placeable({}, 3).back()) == 0);
}

TEST_CASE("any kind of gpu is told as one") {
  Cluster cluster;
  JobDescription asking = one_task();
  asking.requirement.gpus = 1;
  CHECK(summary_of(cluster, cluster.add(asking)).why == "waits for 1 gpu");
  asking.requirement.gpus = 2;
  CHECK(summary_of(cluster, cluster.add(asking)).why == "waits for 2 gpus");
  asking.requirement.gpus = 0;
  asking.requirement.cpus = 1;
  CHECK(summary_of(cluster, cluster.add(asking)).why == "waits for 1 cpu");
}

TEST_CASE("a job says when no peer takes work") {
  Cluster cluster;
  cluster.add(one_task());
  close(cluster, lab1, "draining");
  CHECK(summary_of(cluster, job1).why == "waits for its turn");
  cluster.fine(gpl::command::PeerDown{lab2, Instant{40'000}});
  CHECK(summary_of(cluster, job1).why == "waits for a peer that takes work");
  cluster.fine(gpl::command::PeerForgotten{lab1, cluster.now()});
  CHECK(summary_of(cluster, job1).why == "lab2 unreachable for 1m");
  close(cluster, lab2, "lends from 20:00 to 08:00");
  CHECK(summary_of(cluster, job1).why == "lab2 lends from 20:00 to 08:00");
  cluster.fine(gpl::command::PeerForgotten{lab2, cluster.now()});
  CHECK(summary_of(cluster, job1).why == "waits for a peer");
}

TEST_CASE("held and blocked jobs have no place in the queue") {
  Cluster cluster;
  cluster.add(held_job());
  const JobSummary held = summary_of(cluster, job1);
  CHECK(held.state == "held");
  CHECK(held.why == "held");
  CHECK(held.position == 0);
  cluster.add(after(one_task(), {{job1, gpl::After::ok}}));
  const JobSummary blocked = summary_of(cluster, job2);
  CHECK(blocked.state == "blocked");
  CHECK(blocked.why == "waits for job 1");
  CHECK(blocked.position == 0);
  cluster.add(after(one_task(), {{job1, gpl::After::ok}, {job2, gpl::After::ok}}));
  CHECK(summary_of(cluster, job3).why == "waits for job 1 and 1 more");
}

TEST_CASE("a job that is placed starts, then runs, where its devices are") {
  Cluster cluster;
  cluster.add(one_task());
  const auto fence = cluster.run(job1, task(0), claims({card(0), slice("MIG-b")}), lab2).front();
  const JobSummary starting = summary_of(cluster, job1);
  CHECK(starting.state == "starting");
  CHECK(starting.where == std::vector<std::string>{"lab2 cuda:0 cuda:2 1g"});
  CHECK(!starting.started_at);
  CHECK(starting.running == 1);
  cluster.fine(gpl::command::Start{fence, Instant{50'000}});
  const JobSummary running = summary_of(cluster, job1);
  CHECK(running.state == "running");
  CHECK(running.started_at == Instant{50'000});
  CHECK(running.position == 0);
  CHECK(running.why.empty());
}

TEST_CASE("an array runs where its tasks do, each place once, since its first start") {
  Cluster cluster;
  cluster.add(array_of(10));
  const auto on_lab2 = cluster.run(job1, tasks(0, 1), cpus(1), lab2);
  const auto on_lab1 = cluster.run(job1, task(2), cpus(1), lab1);
  cluster.run(job1, task(3), cpus(1), lab1);
  cluster.fine(gpl::command::Start{on_lab1.front(), Instant{60'000}});
  cluster.fine(gpl::command::Start{on_lab2.front(), Instant{50'000}});
  cluster.fine(cluster.report(on_lab1.front(), Exited{3}));
  cluster.fine(cluster.report(on_lab2.front(), Exited{0}));
  const auto third = cluster.run(job1, task(4), cpus(1), lab1);
  cluster.fine(gpl::command::Start{third.front(), Instant{70'000}});
  const JobSummary summary = summary_of(cluster, job1);
  CHECK(summary.state == "running");
  CHECK(summary.where == std::vector<std::string>{"lab1", "lab2"});
  CHECK(summary.started_at == Instant{70'000});
  CHECK(summary.tasks == 10);
  CHECK(summary.running == 3);
  CHECK(summary.waiting == 5);
  CHECK(summary.succeeded == 1);
  CHECK(summary.failed == 1);
  CHECK(!summary.outcome);
}

TEST_CASE("of very many places the first are told, and how many more there are") {
  Cluster cluster;
  gpl::command::PeerUp up = cluster.up(lab1);
  up.offer.accelerators.clear();
  for (int index = 0; index < 40; ++index) {
    gpl::Accelerator one = offer_named("lab1").accelerators[0];
    one.index = index;
    up.offer.accelerators.push_back(one);
  }
  cluster.fine(up);
  cluster.add(array_of(40));
  for (int index = 0; index < 40; ++index)
    cluster.run(job1, task(static_cast<std::uint64_t>(index)), claims({card(index)}));
  const JobSummary summary = summary_of(cluster, job1);
  REQUIRE(summary.where.size() == 33);
  CHECK(summary.where.back() == "and 8 more");
}

TEST_CASE("an ended job tells the outcome of its failing task of lowest number") {
  Cluster cluster;
  cluster.add(array_of(4));
  const auto fences = cluster.run(job1, tasks(0, 3));
  cluster.fine(cluster.report(fences[3], Lost{"gone"}));
  cluster.fine(cluster.report(fences[0], Exited{0}));
  cluster.fine(cluster.report(fences[2], Cancelled{15}));
  CHECK(!summary_of(cluster, job1).outcome);
  cluster.fine(cluster.report(fences[1], Exited{7}));
  const JobSummary summary = summary_of(cluster, job1);
  CHECK(summary.state == "ended");
  CHECK(summary.outcome == gpl::Outcome(Exited{7}));
  CHECK(summary.succeeded == 1);
  CHECK(summary.failed == 3);
  CHECK(summary.ended_at == cluster.job(job1).ended_at);
}

TEST_CASE("an ended job without a failure tells success") {
  Cluster cluster;
  cluster.end(cluster.add(one_task()), Exited{0});
  CHECK(summary_of(cluster, job1).outcome == gpl::Outcome(Exited{0}));
}

TEST_CASE("who submitted, and what the peers know, is asked for") {
  Cluster cluster;
  JobDescription job = one_task();
  job.spec.name = "train";
  add_of(cluster, bob, job);
  CHECK(summary_of(cluster, job1).submitter_name == "1001");
  ListingContext context;
  context.name_of = [](const Submitter& who) { return who.uid == 1001 ? "bob" : ""; };
  context.notes_of = [](JobId asked) {
    gpl::peer::JobNotes notes;
    notes.kept_files = asked.value;
    notes.kept_bytes = 5;
    notes.kept_until = Instant{9};
    notes.client_gone = true;
    notes.started_at = Instant{3};
    notes.where = {"lab1"};
    return notes;
  };
  const JobSummary queued = gpl::peer::summarise(cluster.state, job1, context, later);
  CHECK(queued.name == "train");
  CHECK(queued.command == std::vector<std::string>{"true"});
  CHECK(queued.submitter == bob);
  CHECK(queued.submitter_name == "bob");
  CHECK(queued.kept_files == 1);
  CHECK(queued.kept_bytes == 5);
  CHECK(queued.kept_until == Instant{9});
  CHECK(queued.client_gone);
  CHECK(!queued.started_at);
  CHECK(queued.where.empty());
  CHECK(!queued.description);
  cluster.end(job1, Exited{0});
  context.details = true;
  const JobSummary ended = gpl::peer::summarise(cluster.state, job1, context, later);
  CHECK(ended.started_at == Instant{3});
  CHECK(ended.where == std::vector<std::string>{"lab1"});
  CHECK(ended.description == job);
}

TEST_CASE("a client key without a name is told by its id") {
  Cluster cluster;
  add_of(cluster, {"key7", {}, 0});
  CHECK(summary_of(cluster, job1).submitter_name == "key7");
}
