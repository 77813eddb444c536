#include "gpl/peer/staging.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "gpl/peer/staged_attempt.h"
#include "parts.h"

using namespace gpl;
using namespace gpl::peer;

namespace {

using Files = Result<std::vector<wire::ResultFile>>;

struct StagingParts : Parts {
  std::optional<peer::Staging> staging{std::in_place, *pool, store, attempts};

  /// A peer that was killed and runs again.
  void restart() {
    staging.reset();
    pool.reset();
    run_ready(*loop);
    pool.emplace(*loop);
    staging.emplace(*pool, store, attempts);
  }
  std::optional<FailedToStart> prepare(std::uint64_t number, const ContentId& tree) {
    std::optional<std::optional<FailedToStart>> told;
    staging->prepare(JobId{12}, TaskId{3}, fence(number), tree,
                     [&](std::optional<FailedToStart> failure) { told = std::move(failure); });
    until([&] { return told.has_value(); });
    return *told;
  }
  Files collect(std::uint64_t number, StagingMode mode = StagingMode::copy) {
    std::optional<Files> found;
    bool cleared = false;
    staging->collect(
        JobId{12}, TaskId{3}, fence(number), mode, [&](Files files) { found = std::move(files); },
        [&] {
          CHECK(found.has_value());
          cleared = true;
        });
    until([&] { return found.has_value() && (cleared || !found->ok()); });
    return std::move(*found);
  }
  std::string in_work(std::uint64_t number, const std::string& name) const {
    return in_attempt(number, "work/" + name);
  }
  ContentId small_tree() const {
    return put_tree(
        store, {{tree_file("a.txt", "alpha"), tree_folder("sub"), tree_file("sub/b.txt", "beta")}},
        {"alpha", "beta"});
  }
};

std::vector<std::string> found_paths(const Files& files) {
  REQUIRE(files.ok());
  return paths_of(files.value());
}

}  // namespace

TEST_CASE("a prepared attempt has its tree in work") {
  StagingParts parts;
  parts.make_attempt(1);
  CHECK_FALSE(parts.prepare(1, parts.small_tree()));
  CHECK(parts.folder.read(parts.in_work(1, "a.txt")) == "alpha");
  CHECK(parts.folder.read(parts.in_work(1, "sub/b.txt")) == "beta");
}

TEST_CASE("an attempt without a tree is prepared with an empty work folder") {
  StagingParts parts;
  parts.make_attempt(1);
  CHECK_FALSE(parts.prepare(1, ""));
  CHECK(parts.exists(parts.in_attempt(1, "staged")));
}

TEST_CASE("an attempt that was prepared before is not prepared again") {
  StagingParts parts;
  parts.make_attempt(1);
  const ContentId tree = parts.small_tree();
  CHECK_FALSE(parts.prepare(1, tree));
  parts.folder.write(parts.in_work(1, "a.txt"), "changed by the command");
  parts.restart();
  CHECK_FALSE(parts.prepare(1, tree));
  CHECK(parts.folder.read(parts.in_work(1, "a.txt")) == "changed by the command");
}

TEST_CASE("what a killed peer has half staged is made anew") {
  StagingParts parts;
  parts.make_attempt(1);
  parts.folder.write(parts.in_work(1, "a.txt"), "al");
  parts.folder.write(parts.in_work(1, "sub/deep/left"), "over");
  CHECK_FALSE(parts.prepare(1, parts.small_tree()));
  CHECK(parts.folder.read(parts.in_work(1, "a.txt")) == "alpha");
  CHECK_FALSE(parts.exists(parts.in_work(1, "sub/deep")));
  CHECK(found_paths(parts.collect(1)).empty());
}

TEST_CASE("a mark whose content a power loss has taken does not pass for a staged tree") {
  StagingParts parts;
  parts.make_attempt(1);
  parts.folder.write(parts.in_attempt(1, "staged"), "");
  CHECK_FALSE(parts.prepare(1, parts.small_tree()));
  CHECK(parts.folder.read(parts.in_work(1, "a.txt")) == "alpha");
}

TEST_CASE("an attempt whose tree is not in the store fails to start, and says why") {
  StagingParts parts;
  parts.make_attempt(1);
  const ContentId tree =
      put_tree(parts.store, {{tree_file("here", "here"), tree_file("there", "there")}}, {"here"});
  const auto failure = parts.prepare(1, tree);
  REQUIRE(failure);
  CHECK(failure->exit == 125);
  CHECK(failure->message.find("there") != std::string::npos);
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "staged")));
  CHECK(std::filesystem::is_empty(parts.folder / parts.in_attempt(1, "work")));
  CHECK(parts.prepare(1, "no id").has_value());
  CHECK(parts.prepare(2, "").has_value());  // the keeper has made no folder
}

TEST_CASE("an attempt that is cancelled while it is staged tells nothing, and makes no files") {
  StagingParts parts;
  parts.make_attempt(1);
  bool told = false;
  parts.staging->prepare(JobId{1}, TaskId{}, parts.fence(1), parts.small_tree(),
                         [&](const std::optional<FailedToStart>&) { told = true; });
  parts.staging->cancel(parts.fence(1));
  CHECK(found_paths(parts.collect(1)).empty());
  CHECK_FALSE(told);
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "work")));
}

TEST_CASE("an attempt that is asked for again while it is staged is told once, to who asked last") {
  StagingParts parts;
  parts.make_attempt(1);
  const ContentId tree = parts.small_tree();
  int first = 0;
  int second = 0;
  parts.staging->prepare(JobId{1}, TaskId{}, parts.fence(1), tree,
                         [&](const std::optional<FailedToStart>&) { ++first; });
  parts.staging->prepare(JobId{1}, TaskId{}, parts.fence(1), tree,
                         [&](const std::optional<FailedToStart>&) { ++second; });
  parts.until([&] { return second == 1; });
  run_ready(*parts.loop);
  CHECK(first == 0);
  CHECK(second == 1);
}

TEST_CASE("an attempt that was cancelled can be prepared after all") {
  StagingParts parts;
  parts.make_attempt(1);
  const ContentId tree = parts.small_tree();
  parts.staging->prepare(JobId{1}, TaskId{}, parts.fence(1), tree,
                         [](const std::optional<FailedToStart>&) { FAIL("told"); });
  parts.staging->cancel(parts.fence(1));
  CHECK_FALSE(parts.prepare(1, tree));
  CHECK(parts.folder.read(parts.in_work(1, "a.txt")) == "alpha");
}

TEST_CASE("what the command made or changed is moved to files, and work goes") {
  StagingParts parts;
  parts.make_attempt(1);
  REQUIRE_FALSE(parts.prepare(1, parts.small_tree()));
  parts.folder.write(parts.in_work(1, "sub/b.txt"), "BETA");  // of the same size
  parts.folder.write(parts.in_work(1, "out/model.bin"), "weights", 0640);
  std::filesystem::create_symlink("model.bin", parts.folder / parts.in_work(1, "out/latest"));
  const Files files = parts.collect(1);
  CHECK(found_paths(files) == std::vector<std::string>{"out/latest", "out/model.bin", "sub/b.txt"});
  const wire::ResultFile& model = files.value()[1];
  CHECK(model.task == TaskId{3});
  CHECK(model.size_bytes == 7);
  CHECK(model.mode == 0640);
  CHECK_FALSE(model.is_link);
  CHECK(files.value()[0].is_link);
  CHECK(parts.folder.read(parts.in_attempt(1, "files/sub/b.txt")) == "BETA");
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "work")));
  CHECK(parts.exists(parts.in_attempt(1, "collected")));
}

TEST_CASE("a command that made nothing leaves nothing") {
  StagingParts parts;
  parts.make_attempt(1);
  REQUIRE_FALSE(parts.prepare(1, parts.small_tree()));
  CHECK(found_paths(parts.collect(1)).empty());
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "files")));
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "work")));
}

TEST_CASE("what a peer killed while it moved files has left is found again") {
  StagingParts parts;
  parts.make_attempt(1);
  REQUIRE_FALSE(parts.prepare(1, parts.small_tree()));
  parts.folder.write(parts.in_attempt(1, "files/one"), "1");  // moved already
  parts.folder.write(parts.in_work(1, "two"), "2");
  parts.restart();
  CHECK(found_paths(parts.collect(1)) == std::vector<std::string>{"one", "two"});
}

TEST_CASE("a peer killed after all files were moved does not take the rest of work for results") {
  StagingParts parts;
  parts.make_attempt(1);
  REQUIRE_FALSE(parts.prepare(1, parts.small_tree()));
  parts.folder.write(parts.in_work(1, "one"), "1");
  REQUIRE(found_paths(parts.collect(1)).size() == 1);
  parts.folder.write(parts.in_work(1, "half/removed"), "x");
  parts.restart();
  CHECK(found_paths(parts.collect(1)) == std::vector<std::string>{"one"});
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "work")));
}

TEST_CASE("results are found when the mark's content, or the tree, is lost") {
  StagingParts parts;
  parts.make_attempt(1);
  REQUIRE_FALSE(parts.prepare(1, parts.small_tree()));
  SUBCASE("the mark's content") {
    std::filesystem::resize_file(parts.folder / parts.in_attempt(1, "staged"), 0);
  }
  SUBCASE("the tree") {
    REQUIRE(parts.store.collect({}, Instant{std::int64_t{4'000'000'000'000}}).ok());
  }
  parts.folder.write(parts.in_work(1, "one"), "1");
  parts.restart();
  CHECK(found_paths(parts.collect(1)) == std::vector<std::string>{"one"});
}

TEST_CASE("results that were collected before the power went are found without their mark") {
  StagingParts parts;
  parts.make_attempt(1);
  REQUIRE_FALSE(parts.prepare(1, ""));
  parts.folder.write(parts.in_work(1, "one"), "1");
  REQUIRE(found_paths(parts.collect(1)).size() == 1);
  std::filesystem::resize_file(parts.folder / parts.in_attempt(1, "collected"), 0);
  CHECK(found_paths(parts.collect(1)) == std::vector<std::string>{"one"});
}

TEST_CASE("an attempt that was not staged has made nothing") {
  StagingParts parts;
  parts.make_attempt(1);
  parts.folder.write(parts.in_work(1, "half"), "staged");
  CHECK(found_paths(parts.collect(1)).empty());
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "work")));
}

TEST_CASE("nothing is collected where the command ran in the submitter's folder") {
  StagingParts parts;
  parts.make_attempt(1);
  REQUIRE_FALSE(parts.prepare(1, ""));
  CHECK(found_paths(parts.collect(1, StagingMode::none)).empty());
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "collected")));
}

TEST_CASE("files that cannot be moved stay where they are, and are found the next time") {
  StagingParts parts;
  parts.make_attempt(1);
  REQUIRE_FALSE(parts.prepare(1, ""));
  parts.folder.write(parts.in_work(1, "one"), "1");
  parts.folder.write(parts.in_attempt(1, "files"), "in the way");
  const Files failed = parts.collect(1);
  REQUIRE_FALSE(failed.ok());
  CHECK(parts.exists(parts.in_work(1, "one")));
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "collected")));
  std::filesystem::remove(parts.folder / parts.in_attempt(1, "files"));
  CHECK(found_paths(parts.collect(1)) == std::vector<std::string>{"one"});
}

TEST_CASE("an attempt that was discarded cannot be collected") {
  StagingParts parts;
  const Files files = parts.collect(9);
  REQUIRE_FALSE(files.ok());
  CHECK(files.error().code == Code::not_found);
}

TEST_CASE("staging that ends while it stages a tree ends soon, and leaves no mark") {
  StagingParts parts;
  parts.make_attempt(1);
  const ContentId tree = parts.small_tree();
  parts.staging->prepare(JobId{1}, TaskId{}, parts.fence(1), tree,
                         [](const std::optional<FailedToStart>&) { FAIL("told"); });
  parts.restart();
  CHECK_FALSE(parts.prepare(1, tree));
  CHECK(parts.folder.read(parts.in_work(1, "a.txt")) == "alpha");
}

TEST_CASE("an attempt's folder has its fence for a name") {
  CHECK(StagedAttempt::name_of({3, AttemptId{14}}) == "3.14");
  CHECK(StagedAttempt::fence_of("3.14") == Fence{3, AttemptId{14}});
  for (const char* name : {"", ".", "3", "3.", ".14", "3.14.1", "03.14", "-3.1", ".gone-3.14-0"}) {
    CHECK_FALSE(StagedAttempt::fence_of(name));
  }
}
