#include "gpl/peer/listing.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/state_fixture.h"
#include "gpl/wire/codec.h"

using namespace gpl::test;  // the words of the fixture
using gpl::Exited;
using gpl::Instant;
using gpl::JobDescription;
using gpl::JobId;
using gpl::Submitter;
using gpl::wire::JobQuery;
using gpl::wire::JobSummary;
using Which = gpl::wire::JobQuery::Which;

namespace {

const Submitter ana{"", lab1, 1000};
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
std::vector<JobId> selected(const Cluster& cluster, const JobQuery& query) {
  return gpl::peer::select(cluster.state, query, ana);
}
gpl::wire::ClusterStatus status_of(const Cluster& cluster) {
  return gpl::peer::cluster_status(cluster.state, {"7f3a", "lab1", 3, 1}, {}, later);
}
std::vector<std::uint64_t> ids_of(const std::vector<JobSummary>& jobs) {
  std::vector<std::uint64_t> ids;
  for (const JobSummary& job : jobs) ids.push_back(job.id.value);
  return ids;
}
void close(Cluster& cluster, gpl::PeerId peer, const std::string& why) {
  gpl::command::PeerUp up = cluster.up(peer);
  up.offer.closed = why;
  cluster.fine(up);
}

}  // namespace

TEST_CASE("a range selects the jobs that there are, of anyone") {
  Cluster cluster;
  for (int i = 0; i < 3; ++i) add_of(cluster, i == 1 ? bob : ana);
  CHECK(selected(cluster, {Which::range, job1, job3, false}) == std::vector{job1, job2, job3});
  CHECK(selected(cluster, {Which::range, job2, JobId{99}, false}) == std::vector{job2, job3});
  CHECK(selected(cluster, {Which::range, JobId{0}, job1, false}) == std::vector{job1});
  CHECK(selected(cluster, {Which::range, JobId{4}, JobId{99}, false}).empty());
  CHECK(selected(cluster, {Which::range, job3, job1, false}).empty());
}

TEST_CASE("all and the last one are the asker's own, unless everyone's are meant") {
  Cluster cluster;
  add_of(cluster, ana);
  add_of(cluster, ana);
  add_of(cluster, bob);
  CHECK(selected(cluster, {Which::all, {}, {}, false}) == std::vector{job1, job2});
  CHECK(selected(cluster, {Which::all, {}, {}, true}) == std::vector{job1, job2, job3});
  CHECK(selected(cluster, {Which::last, {}, {}, false}) == std::vector{job2});
  CHECK(selected(cluster, {Which::last, {}, {}, true}) == std::vector{job3});
  CHECK(gpl::peer::select(cluster.state, {Which::last, {}, {}, false}, {"key", {}, 0}).empty());
}

TEST_CASE("active jobs are those that have not ended") {
  Cluster cluster;
  cluster.end(add_of(cluster, ana), Exited{0});
  add_of(cluster, ana);
  add_of(cluster, bob);
  CHECK(selected(cluster, {Which::active, {}, {}, false}) == std::vector{job2});
  CHECK(selected(cluster, {Which::active, {}, {}, true}) == std::vector{job2, job3});
}

TEST_CASE("the cluster's status lists what runs, then the queue, then what is held") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.add(held_job());
  cluster.add(with_priority(5));
  cluster.run(cluster.add(one_task()));
  cluster.add(array_of(2));
  cluster.run(JobId{5}, task(0));
  cluster.add(after(with_priority(9), {{job1, gpl::After::ok}}));
  cluster.add(one_task());
  const auto status = status_of(cluster);
  CHECK(status.cluster == "7f3a");
  CHECK(status.leader == "lab1");
  CHECK(status.voters == 3);
  CHECK(status.can_lose == 1);
  CHECK(ids_of(status.active) == std::vector<std::uint64_t>{4, 5, 3, 1, 7, 6, 2});
  std::vector<std::uint64_t> positions;
  for (const JobSummary& job : status.active) positions.push_back(job.position);
  // Job 5 has a task in the queue: job 7 is behind it.
  CHECK(positions == std::vector<std::uint64_t>{0, 0, 1, 2, 4, 0, 0});
  CHECK(status.more_active == 0);
  CHECK(status.ended.empty());
  for (const JobSummary& job : status.active) CHECK(job == summary_of(cluster, job.id));
}

TEST_CASE("what the consensus knows of the cluster is told as it is") {
  const Cluster cluster;
  const auto status = gpl::peer::cluster_status(cluster.state, {"7f3a", "", 5, 2, true}, {}, later);
  CHECK(status.leader.empty());
  CHECK(status.voters == 5);
  CHECK(status.can_lose == 2);
  CHECK(status.unprotected);
  // Its part and where it is reached are known to the peer that is asked, not to the state.
  for (const auto& peer : status.peers) {
    CHECK(peer.part.empty());
    CHECK(peer.address.empty());
  }
}

TEST_CASE("of many active jobs the first are listed, and how many more there are") {
  Cluster cluster;
  for (int i = 0; i < 250; ++i) cluster.add(one_task());
  cluster.add(held_job());
  cluster.run(JobId{250});
  const auto status = status_of(cluster);
  REQUIRE(status.active.size() == 200);
  CHECK(status.active[0].id == JobId{250});
  CHECK(status.active[1].id == JobId{1});
  CHECK(status.active[199].id == JobId{199});
  CHECK(status.active[199].position == 199);
  CHECK(status.more_active == 51);
}

TEST_CASE("the most recent ends are listed, newest first") {
  Cluster cluster;
  for (int i = 0; i < 13; ++i) cluster.add(one_task());
  for (const std::uint64_t id : {5u, 1u, 2u, 3u, 4u, 6u, 12u, 8u, 9u, 10u, 11u, 7u})
    cluster.end(JobId{id}, Exited{0});
  const auto status = status_of(cluster);
  CHECK(ids_of(status.ended) == std::vector<std::uint64_t>{7, 11, 10, 9, 8, 12, 6, 4, 3, 2});
  CHECK(ids_of(status.active) == std::vector<std::uint64_t>{13});
}

TEST_CASE("peers are told by name, with their state and what they lend") {
  Cluster cluster;
  gpl::command::PeerUp third = cluster.up(gpl::PeerId{5});
  third.offer = offer_named("lab3");
  third.offer.closed = "draining";
  cluster.fine(third);
  cluster.fine(gpl::command::PeerDown{lab1, cluster.now()});
  close(cluster, lab2, "lends from 20:00 to 08:00");
  auto status = status_of(cluster);
  REQUIRE(status.peers.size() == 3);
  CHECK(status.peers[0].view.name == "lab1");
  CHECK(status.peers[0].state == "unreachable");
  CHECK(status.peers[0].view.unreachable_since);
  CHECK(status.peers[1].id == lab2);
  CHECK(status.peers[1].state == "up");
  CHECK(status.peers[1].view.closed == "lends from 20:00 to 08:00");
  CHECK(status.peers[1].cpus_lent == 8);
  CHECK(status.peers[1].memory_lent_bytes == 100);
  CHECK(status.peers[1].up_at == cluster.state.find_peer(lab2)->up_at);
  CHECK(status.peers[2].view.name == "lab3");
  CHECK(status.peers[2].state == "drained");
}

TEST_CASE("a peer is draining as long as something runs there") {
  Cluster cluster;
  cluster.add(one_task());
  cluster.run(job1, task(0), claims({card(1)}), lab2);
  close(cluster, lab2, "draining");
  const auto status = status_of(cluster);
  CHECK(status.peers[1].state == "draining");
  REQUIRE(status.peers[1].view.holds.size() == 1);
  CHECK(status.peers[1].view.holds[0].holder == "job 1");
}

TEST_CASE("a status goes over the wire") {
  Cluster cluster;
  cluster.add(one_task());
  auto status = status_of(cluster);
  status.more_active = 77;
  const auto decoded = gpl::wire::decode<gpl::wire::PeerMessage>(
      gpl::wire::encode(gpl::wire::PeerMessage{3, status}));
  REQUIRE(decoded.ok());
  const auto* read = std::get_if<gpl::wire::ClusterStatus>(&decoded.value().body);
  REQUIRE(read != nullptr);
  CHECK(read->more_active == 77);
  CHECK(read->active == status.active);
  CHECK(read->peers.size() == 2);
}
