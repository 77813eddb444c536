#include "gpl/client/job_choice.h"

#include <doctest/doctest.h>

#include "fake_peer.h"

using gpl::Code;
using gpl::JobId;
using gpl::TaskId;
using gpl::client::choose_job;
using gpl::client::choose_jobs;
using gpl::client::JobScope;
using gpl::client::queries_of;
using gpl::client::Voice;
using Which = gpl::wire::JobQuery::Which;
namespace wire = gpl::wire;

namespace {

const Voice silent(true);

wire::JobSummary job(std::uint64_t number) {
  wire::JobSummary summary;
  summary.id = JobId{number};
  return summary;
}

// Has jobs 1 to 9, and lists those meant one a message, the last first.
void list_some(FakePeer& peer, const wire::ClientMessage& message) {
  const auto& query = std::get<wire::ListJobs>(message.body).queries.front();
  wire::JobList last{{}, true};
  for (std::uint64_t number = 9; number > 0; --number) {
    const bool meant =
        query.which == Which::all || (query.which == Which::last && number == 9) ||
        (query.which == Which::range && query.first.value <= number && number <= query.last.value);
    if (meant) peer.say(message.question, wire::JobList{{job(number)}, false});
  }
  peer.say(message.question, last);
}

std::vector<std::uint64_t> numbers(const std::vector<gpl::client::ChosenJob>& jobs) {
  std::vector<std::uint64_t> found;
  for (const auto& chosen : jobs) found.push_back(chosen.job.id.value);
  return found;
}

}  // namespace

TEST_CASE("last and all are the caller's own unless everyone's are asked for") {
  const auto last = gpl::parse_job_selector("last").value();
  const auto all = gpl::parse_job_selector("all").value();
  CHECK(queries_of(last, {}) == std::vector<wire::JobQuery>{{Which::last, {}, {}, false}});
  CHECK(queries_of(all, {}) == std::vector<wire::JobQuery>{{Which::all, {}, {}, false}});
  JobScope scope;
  scope.everyone = scope.active = true;
  CHECK(queries_of(last, scope) == std::vector<wire::JobQuery>{{Which::last, {}, {}, true}});
  CHECK(queries_of(all, scope) == std::vector<wire::JobQuery>{{Which::active, {}, {}, true}});
}

TEST_CASE("a number names a job whosever it is") {
  const auto selector = gpl::parse_job_selector("1-3,8").value();
  CHECK(queries_of(selector, {}) ==
        std::vector<wire::JobQuery>{{Which::range, JobId{1}, JobId{3}, true},
                                    {Which::range, JobId{8}, JobId{8}, true}});
}

TEST_CASE("jobs are chosen by all words, by number, each once") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", list_some);
  const auto session = connect(folder / "sock", silent);
  const auto chosen = choose_jobs(*session, {"last", "2-4", "3"}, {});
  REQUIRE(chosen.ok());
  CHECK(numbers(chosen.value()) == std::vector<std::uint64_t>{2, 3, 4, 9});
}

TEST_CASE("a task is chosen unless all of its job is") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", list_some);
  const auto session = connect(folder / "sock", silent);
  const auto one = choose_job(*session, "5.17", {});
  REQUIRE(one.ok());
  CHECK(one.value().task == TaskId{17});
  const auto whole = choose_jobs(*session, {"5.17", "5"}, {});
  REQUIRE(whole.ok());
  CHECK(whole.value().front().task == std::nullopt);
}

TEST_CASE("a word that names no job is told with it") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", list_some);
  const auto session = connect(folder / "sock", silent);
  const auto chosen = choose_jobs(*session, {"3", "70-80"}, {});
  REQUIRE_FALSE(chosen.ok());
  CHECK(chosen.error().code == Code::not_found);
  CHECK(chosen.error().message.find("70-80") != std::string::npos);
  CHECK(choose_jobs(*session, {"x"}, {}).error().code == Code::invalid);
}

TEST_CASE("a command of one job refuses several") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", list_some);
  const auto session = connect(folder / "sock", silent);
  CHECK(choose_job(*session, "1-2", {}).error().code == Code::invalid);
}

TEST_CASE("a list that was cut short is begun anew") {
  const TemporaryFolder folder;
  FakePeer peer(folder / "sock", [](FakePeer& self, const wire::ClientMessage& message) {
    if (self.connections() > 1) return list_some(self, message);
    self.say(message.question, wire::JobList{{job(55)}, false});
    self.hang_up();
  });
  const auto session = connect(folder / "sock", silent);
  const auto chosen = choose_jobs(*session, {"all"}, {});
  REQUIRE(chosen.ok());
  CHECK(numbers(chosen.value()) == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9});
}
