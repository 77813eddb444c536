#include "gpl/peer/tree_pins.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "parts.h"

using namespace gpl;
using namespace gpl::peer;

namespace {

struct PinParts : Parts {
  TreePins pins{*pool, store};
  const ContentId one = put_tree(store, {{tree_file("one", "")}}, {});
  const ContentId two = put_tree(store, {{tree_file("two", "")}}, {});

  std::set<std::string> owners(const ContentId& tree) const {
    std::set<std::string> owners;
    const auto there = store.pins();
    REQUIRE(there.ok());
    for (const artifact::Pin& pin : there.value()) {
      if (pin.id.bytes() == tree) owners.insert(pin.owner);
    }
    return owners;
  }
  void pin(const ContentId& tree, const std::string& owner) const {
    const auto id = artifact::Digest::from_bytes(tree);
    REQUIRE(store.pin({*id, owner}, posix::Durability::none).ok());
  }
  std::vector<JobId> restore(std::vector<std::pair<JobId, ContentId>> jobs, bool keep_clients) {
    std::optional<Result<std::vector<JobId>>> told;
    pins.restore(std::move(jobs), keep_clients,
                 [&](Result<std::vector<JobId>> whole) { told.emplace(std::move(whole)); });
    until([&] { return told.has_value(); });
    REQUIRE(told->ok());
    return told->value();
  }
};

using Owners = std::set<std::string>;

}  // namespace

TEST_CASE("a job's tree is pinned, and unpinned") {
  PinParts parts;
  int told = 0;
  parts.pins.pin(JobId{12}, parts.one, [&](const Status& status) { told += status.ok() ? 1 : 9; });
  parts.pins.pin(JobId{13}, parts.one);
  parts.until([&] { return told == 1 && parts.owners(parts.one).size() == 2; });
  CHECK(parts.owners(parts.one) == Owners{"job-12", "job-13"});
  parts.pins.unpin(JobId{12}, parts.one,
                   [&](const Status& status) { told += status.ok() ? 1 : 9; });
  parts.until([&] { return told == 2; });
  CHECK(parts.owners(parts.one) == Owners{"job-13"});
}

TEST_CASE("a job without a tree needs no pin, and a wrong id is refused") {
  PinParts parts;
  std::optional<Status> none;
  std::optional<Status> wrong;
  parts.pins.pin(JobId{12}, "", [&](Status status) { none = std::move(status); });
  parts.pins.pin(JobId{12}, "short", [&](Status status) { wrong = std::move(status); });
  parts.until([&] { return wrong.has_value(); });
  CHECK(none->ok());
  REQUIRE_FALSE(wrong->ok());
  CHECK(wrong->error().code == Code::invalid);
}

TEST_CASE("at start the pins become those of the jobs there are, and others' are left alone") {
  PinParts parts;
  parts.pin(parts.one, "job-1");
  parts.pin(parts.one, "job-2");
  parts.pin(parts.two, "client-7");
  parts.pin(parts.two, "data-set");
  const auto whole =
      parts.restore({{JobId{2}, parts.one}, {JobId{3}, parts.two}, {JobId{4}, ""}}, false);
  CHECK(whole == std::vector{JobId{2}, JobId{3}});
  CHECK(parts.owners(parts.one) == Owners{"job-2"});
  CHECK(parts.owners(parts.two) == Owners{"data-set", "job-3"});
}

TEST_CASE("only trees that are whole here are pinned, and a job whose tree is not is not told") {
  PinParts parts;
  const ContentId absent = id_of("never brought in");
  const std::string content = "lost";
  const ContentId partial = put_tree(parts.store, {{tree_file("f", content)}}, {content});
  REQUIRE(std::filesystem::remove(parts.folder /
                                  ("store/objects/" + artifact::digest_of(content).hex())));
  parts.pin(absent, "job-1");
  const auto whole = parts.restore(
      {{JobId{1}, absent}, {JobId{2}, partial}, {JobId{3}, parts.one}, {JobId{4}, parts.one}},
      false);
  CHECK(whole == std::vector{JobId{3}, JobId{4}});
  CHECK(parts.owners(absent).empty());
  CHECK(parts.owners(partial).empty());
  CHECK(parts.owners(parts.one) == Owners{"job-3", "job-4"});
}

TEST_CASE("restored later on, what clients have brought in meanwhile stays pinned") {
  PinParts parts;
  parts.pin(parts.one, "client-3");
  parts.pin(parts.one, "job-1");
  const auto whole = parts.restore({{JobId{2}, parts.two}}, true);
  CHECK(whole == std::vector{JobId{2}});
  CHECK(parts.owners(parts.one) == Owners{"client-3"});
  CHECK(parts.owners(parts.two) == Owners{"job-2"});
}

TEST_CASE("what was pinned before is restored over, what comes after stays") {
  PinParts parts;
  bool told = false;
  parts.pins.pin(JobId{1}, parts.one);
  parts.pins.restore({{JobId{2}, parts.two}}, false,
                     [&](const Result<std::vector<JobId>>& whole) { told = whole.ok(); });
  parts.pins.pin(JobId{3}, parts.one);
  parts.until([&] { return told && parts.owners(parts.one) == Owners{"job-3"}; });
  CHECK(parts.owners(parts.two) == Owners{"job-2"});
}

TEST_CASE(
    "work that waits for the pins finds what was asked before done, and not what comes after") {
  PinParts parts;
  Owners seen;
  std::optional<Status> told;
  parts.pins.pin(JobId{1}, parts.one);
  parts.pins.after_pins([&] { seen = parts.owners(parts.one); });
  parts.pins.unpin(JobId{1}, parts.one, [&](Status status) { told = std::move(status); });
  parts.until([&] { return told.has_value(); });
  CHECK(seen == Owners{"job-1"});
  CHECK(parts.owners(parts.one).empty());
}
