#include "gpl/peer/admission.h"

#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "../core/state_fixture.h"

using namespace gpl;
using namespace gpl::peer;

namespace {

const Submitter me{"", test::lab1, 1000};
constexpr Instant now{1'700'000'000'000};

struct Scene {
  ClusterState state;

  Scene() {
    PeerOffer offer = test::offer_named("lab1");
    REQUIRE(!state.apply(command::PeerUp{test::lab1, "keeper", offer, now}).refused);
  }
  std::variant<command::Submit, wire::Refused> ask(JobDescription job, std::uint64_t request = 1,
                                                   bool all_reported = true) const {
    return admit(state, wire::SubmitJob{{0, request}, std::move(job), {}, false}, me, all_reported,
                 now);
  }
  JobId submit(JobDescription job, std::uint64_t request) {
    const auto admitted = ask(std::move(job), request);
    REQUIRE(std::holds_alternative<command::Submit>(admitted));
    const Applied applied = state.apply(std::get<command::Submit>(admitted));
    REQUIRE(applied.job.has_value());
    return *applied.job;
  }
};

JobDescription wants_cpus(int cpus) {
  JobDescription job = test::one_task();
  job.requirement.cpus = cpus;
  return job;
}
JobDescription wants_gpus(int gpus) {
  JobDescription job = test::one_task();
  job.requirement.gpus = gpus;
  return job;
}

}  // namespace

TEST_CASE("a job that fits is taken with the place where it starts at once") {
  const Scene scene;
  const auto admitted = scene.ask(test::one_task());
  REQUIRE(std::holds_alternative<command::Submit>(admitted));
  const auto& submit = std::get<command::Submit>(admitted);
  CHECK(submit.request == RequestId{0, 1});
  CHECK(submit.submitter == me);
  CHECK(submit.at == now);
  REQUIRE(submit.placings.size() == 1);
  CHECK(submit.placings[0].peer == test::lab1);
  CHECK(submit.placings[0].tasks == test::task(0));
}

TEST_CASE("a job that has to wait is taken without a place") {
  Scene scene;
  scene.submit(wants_cpus(8), 1);
  const auto admitted = scene.ask(wants_cpus(8), 2);
  REQUIRE(std::holds_alternative<command::Submit>(admitted));
  CHECK(std::get<command::Submit>(admitted).placings.empty());
}

TEST_CASE("a job that no peer could ever run is refused with 125, and why") {
  const Scene scene;
  const auto admitted = scene.ask(wants_gpus(64));
  REQUIRE(std::holds_alternative<wire::Refused>(admitted));
  const auto& refused = std::get<wire::Refused>(admitted);
  CHECK(refused.exit_code == 125);
  REQUIRE(refused.explanation.has_value());
  CHECK(refused.explanation->verdict == Verdict::never);
  CHECK(refused.explanation->peers.size() == 1);
  CHECK(!refused.message.empty());
  CHECK_FALSE(refused.message.starts_with("never"));
}

TEST_CASE("a job that no peer can run is taken when it may wait for one that can") {
  const Scene scene;
  JobDescription job = wants_gpus(64);
  job.allow_pending = true;
  const auto admitted = scene.ask(job);
  REQUIRE(std::holds_alternative<command::Submit>(admitted));
  CHECK(std::get<command::Submit>(admitted).placings.empty());
}

TEST_CASE("nothing is called impossible before all peers have reported") {
  const Scene scene;
  CHECK(std::holds_alternative<command::Submit>(scene.ask(wants_gpus(64), 1, false)));
}

TEST_CASE("a dependency that is not known is refused by its number") {
  Scene scene;
  const JobId known = scene.submit(test::one_task(), 1);
  CHECK(std::holds_alternative<command::Submit>(
      scene.ask(test::after(test::one_task(), {{known, After::ok}}), 2)));
  const auto admitted = scene.ask(test::after(test::one_task(), {{JobId{99}, After::ok}}), 3);
  REQUIRE(std::holds_alternative<wire::Refused>(admitted));
  CHECK(std::get<wire::Refused>(admitted).exit_code == 125);
  CHECK(std::get<wire::Refused>(admitted).message.find("job 99") != std::string::npos);
}

TEST_CASE("a description that makes no sense is refused as a wrong use") {
  const Scene scene;
  const auto admitted = scene.ask(JobDescription{});
  REQUIRE(std::holds_alternative<wire::Refused>(admitted));
  CHECK(std::get<wire::Refused>(admitted).exit_code == 2);
}

TEST_CASE("a request that is told again is taken as it was, whatever has become impossible since") {
  Scene scene;
  const JobId job = scene.submit(wants_gpus(1), 5);
  PeerOffer bare = test::offer_named("lab1");
  bare.accelerators.clear();
  REQUIRE(!scene.state.apply(command::PeerUp{test::lab1, "keeper", bare, now}).refused);
  REQUIRE(std::holds_alternative<wire::Refused>(scene.ask(wants_gpus(1), 6)));
  const auto again = scene.ask(wants_gpus(1), 5);
  REQUIRE(std::holds_alternative<command::Submit>(again));
  CHECK(std::get<command::Submit>(again).placings.empty());
  CHECK(scene.state.apply(std::get<command::Submit>(again)).job == job);
  CHECK(scene.state.job_count() == 1);
}

TEST_CASE("what was refused later has the exit code of its kind") {
  CHECK(refusal(Error{Code::invalid, "x"}).exit_code == 2);
  CHECK(refusal(Error{Code::io, "x"}) == wire::Refused{125, "x", {}});
  CHECK(refusal(Error{Code::busy, "x"}).exit_code == 125);
}

TEST_CASE("jobs are somebody's own by client key, or by peer and user") {
  JobRecord job;
  job.submitter = me;
  CHECK(is_own(job, me));
  CHECK_FALSE(is_own(job, Submitter{"", test::lab1, 1001}));
  CHECK_FALSE(is_own(job, Submitter{"", test::lab2, 1000}));
  CHECK_FALSE(is_own(job, Submitter{"key", test::lab1, 1000}));
}

TEST_CASE("a job of a client's key is that key's, by whatever peer it asks") {
  JobRecord job;
  job.submitter = {"mine", test::lab1, 0};
  CHECK(is_own(job, {"mine", test::lab1, 0}));
  CHECK(is_own(job, {"mine", test::lab2, 0}));
  CHECK_FALSE(is_own(job, {"other", test::lab1, 0}));
  CHECK_FALSE(is_own(job, {"", test::lab1, 0}));
}

TEST_CASE("a job of a person of a machine is nobody's with a key, nor of that uid elsewhere") {
  JobRecord job;
  job.submitter = {"", test::lab1, 1000};
  CHECK(is_own(job, {"", test::lab1, 1000}));
  CHECK_FALSE(is_own(job, {"", test::lab1, 1001}));
  CHECK_FALSE(is_own(job, {"", test::lab2, 1000}));
  CHECK_FALSE(is_own(job, {"mine", test::lab1, 1000}));
}
