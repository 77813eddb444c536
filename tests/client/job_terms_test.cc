#include "gpl/client/job_terms.h"

#include <doctest/doctest.h>

using gpl::After;
using gpl::Code;
using gpl::Dependency;
using gpl::JobId;
using gpl::OnLoss;
using gpl::client::JobTerms;
using namespace gpl::client;

TEST_CASE("a dependency waits for a good end unless it says how") {
  CHECK(parse_after("12").value() == Dependency{JobId{12}, After::ok});
  CHECK(parse_after("12:any").value() == Dependency{JobId{12}, After::any});
  CHECK(parse_after("12:fail").value() == Dependency{JobId{12}, After::fail});
  for (const char* text : {"", "0", "x", "12:", "12:never", "-1", "1-2"}) {
    CAPTURE(text);
    CHECK(parse_after(text).error().code == Code::invalid);
  }
}

TEST_CASE("numbers are whole and in their limits") {
  CHECK(parse_retries("3").value() == 3);
  CHECK_FALSE(parse_retries("-1").ok());
  CHECK_FALSE(parse_retries("4294967296").ok());
  CHECK(parse_priority("-5").value() == -5);
  CHECK_FALSE(parse_priority("1.5").ok());
}

TEST_CASE("on-loss is one of three words") {
  CHECK(parse_on_loss("retry").value() == OnLoss::retry);
  CHECK_FALSE(parse_on_loss("Retry").ok());
}

TEST_CASE("the command line counts for more than the file, and lists are of both") {
  JobTerms file;
  file.retries = 1;
  file.priority = 4;
  file.secrets = {"A"};
  JobTerms line;
  line.retries = 2;
  line.secrets = {"B"};
  const JobTerms both = merge(file, line);
  CHECK(both.retries == 2);
  CHECK(both.priority == 4);
  CHECK(both.secrets == std::vector<std::string>{"A", "B"});
}

TEST_CASE("what makes no sense without a cluster is named; secrets and own data do") {
  JobTerms terms;
  terms.secrets = {"TOKEN"};
  terms.data = {{"", "set", "set"}};
  terms.retries = 0;
  CHECK(needing_cluster(terms).empty());
  terms.data.push_back({"12", "model.pt", "model.pt"});
  CHECK(needing_cluster(terms) == "--data of a job");
  terms.retries = 1;
  CHECK(needing_cluster(terms) == "--retries");
}

TEST_CASE("a description has the spec, what it needs and the terms, and is valid") {
  gpl::JobSpec spec;
  spec.command = {"make"};
  JobTerms terms;
  terms.on_loss = OnLoss::retry;
  terms.retries = 2;
  terms.secrets = {"TOKEN"};
  const gpl::JobDescription job = description_of(spec, {}, terms);
  CHECK(job.on_loss == OnLoss::retry);
  CHECK(job.retries == 2);
  CHECK(job.spec.secrets == std::vector<std::string>{"TOKEN"});
  CHECK(gpl::validate(job).ok());
}
