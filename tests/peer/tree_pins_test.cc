#include "gpl/peer/tree_pins.h"

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>

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
  std::optional<Status> told;
  parts.pins.restore({{JobId{2}, parts.one}, {JobId{3}, parts.two}, {JobId{4}, ""}},
                     [&](Status status) { told = std::move(status); });
  parts.until([&] { return told.has_value(); });
  CHECK(told->ok());
  CHECK(parts.owners(parts.one) == Owners{"job-2"});
  CHECK(parts.owners(parts.two) == Owners{"data-set", "job-3"});
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
