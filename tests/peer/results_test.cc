#include "gpl/peer/results.h"

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "gpl/peer/staged_attempt.h"
#include "parts.h"

using namespace gpl;
using namespace gpl::peer;

namespace {

constexpr Instant monday{1'000'000'000'000};
constexpr Duration week = seconds(std::int64_t{7} * 24 * 3600);

struct ResultParts : Parts {
  std::vector<Fence> emptied;
  std::atomic<bool> short_of_space = false;
  std::optional<Results> results{std::in_place, *pool, attempts,
                                 [this](const Fence& fence) { emptied.push_back(fence); },
                                 [this] { return short_of_space.load(); }};

  /// Files of a task, collected, as Staging leaves them; not added.
  std::vector<wire::ResultFile> collected(std::uint64_t number, JobId job, TaskId task,
                                          const std::vector<std::string>& paths,
                                          Instant at = monday) const {
    const Fence attempt = make_attempt(number);
    for (const std::string& path : paths) folder.write(in_files(number, path), "of " + path);
    const auto opened = StagedAttempt::open(attempts, attempt);
    REQUIRE(opened.ok());
    REQUIRE(opened.value().write_collected({job, task, at}).ok());
    auto files = opened.value().files(task);
    REQUIRE(files.ok());
    return std::move(files).value();
  }
  void add(std::uint64_t number, JobId job, TaskId task, const std::vector<std::string>& paths,
           Instant at = monday) {
    results->add(job, task, fence(number), collected(number, job, task, paths, at), at);
  }
  static std::string in_files(std::uint64_t number, const std::string& path) {
    return in_attempt(number, "files/" + path);
  }
  Result<wire::FilePiece> read(JobId job, TaskId task, const std::string& path,
                               std::uint64_t offset = 0, std::uint32_t size = 1000) {
    std::optional<Result<wire::FilePiece>> piece;
    results->read(job, task, path, offset, size,
                  [&](Result<wire::FilePiece> told) { piece = std::move(told); });
    until([&] { return piece.has_value(); });
    return std::move(*piece);
  }
  Status forget(JobId job, TaskId task, const std::vector<std::string>& paths) {
    std::optional<Status> status;
    results->forget(job, task, paths, [&](Status told) { status = std::move(told); });
    until([&] { return status.has_value(); });
    return std::move(*status);
  }
  /// Sweeps, and waits until that is done.
  void sweep(Instant now) {
    results->sweep(now);
    REQUIRE(forget(JobId{99}, TaskId{}, {}).ok());
  }
};

constexpr JobId job{5};
constexpr TaskId task{0};

}  // namespace

TEST_CASE("what was added is found by job and task, with its size and date") {
  ResultParts parts;
  parts.add(2, job, TaskId{1}, {"b"});
  parts.add(1, job, TaskId{2}, {"c", "d/e"});
  parts.add(3, JobId{6}, TaskId{1}, {"other"});
  const auto all = parts.results->find(job, std::nullopt);
  REQUIRE(all.size() == 2);
  CHECK(all[0].task == TaskId{1});
  CHECK(all[0].kept_until == monday + week);
  CHECK(paths_of(all[1].files) == std::vector<std::string>{"c", "d/e"});
  CHECK(all[1].bytes == 4 + 6);
  CHECK(parts.results->find(job, TaskId{2}).size() == 1);
  CHECK(parts.results->find(job, TaskId{7}).empty());
  const ResultUsage usage = parts.results->usage(job);
  CHECK(usage.files == 3);
  CHECK(usage.bytes == 14);
  CHECK(usage.kept_until == monday + week);
  CHECK(parts.results->usage(JobId{7}).files == 0);
  CHECK(parts.results->has(job, parts.fence(1)));
  CHECK_FALSE(parts.results->has(job, parts.fence(3)));
}

TEST_CASE("an attempt without files is not kept") {
  ResultParts parts;
  parts.results->add(job, task, parts.fence(1), {}, monday);
  CHECK(parts.results->find(job, std::nullopt).empty());
  run_ready(*parts.loop);
  CHECK(parts.emptied.empty());
}

TEST_CASE("a peer that starts again finds what was collected, and nothing else") {
  ResultParts parts;
  parts.collected(1, job, TaskId{4}, {"a", "b/c"});
  parts.make_attempt(2);  // it runs
  parts.folder.write(parts.in_files(2, "half"), "moved");
  parts.collected(3, job, TaskId{5}, {});
  parts.folder.write("attempts/.gone-1.4-0/collected", "");
  parts.folder.write(parts.in_attempt(6, "collected"), "\x01 damaged");
  REQUIRE(parts.results->restore().ok());
  const auto all = parts.results->find(job, std::nullopt);
  REQUIRE(all.size() == 1);
  CHECK(all[0].task == TaskId{4});
  CHECK(all[0].fence == parts.fence(1));
  CHECK(all[0].kept_until == monday + week);
  CHECK(paths_of(all[0].files) == std::vector<std::string>{"a", "b/c"});
}

TEST_CASE("a peer without attempts has no results") {
  ResultParts parts;
  CHECK(parts.results->restore().ok());
}

TEST_CASE("a file is read piece by piece") {
  ResultParts parts;
  parts.add(1, job, task, {"d/file"});
  auto piece = parts.read(job, task, "d/file", 0, 4);
  REQUIRE(piece.ok());
  CHECK(piece.value() == wire::FilePiece{"of d", false});
  piece = parts.read(job, task, "d/file", 4, 5);
  REQUIRE(piece.ok());
  CHECK(piece.value() == wire::FilePiece{"/file", true});
  piece = parts.read(job, task, "d/file", 100, 5);
  REQUIRE(piece.ok());
  CHECK(piece.value() == wire::FilePiece{"", true});
}

TEST_CASE("of a link its target is read") {
  ResultParts parts;
  parts.make_attempt(1);
  parts.folder.write(parts.in_files(1, "x"), "x");
  std::filesystem::create_symlink("/etc/passwd", parts.folder / parts.in_files(1, "link"));
  parts.add(1, job, task, {});
  const auto piece = parts.read(job, task, "link");
  REQUIRE(piece.ok());
  CHECK(piece.value() == wire::FilePiece{"/etc/passwd", true});
}

TEST_CASE("of the attempts at a task the newest that has a file gives it") {
  ResultParts parts;
  parts.add(1, job, task, {"both", "old"});
  parts.add(2, job, task, {"both"});
  parts.folder.write(parts.in_files(2, "both"), "newer");
  CHECK(parts.read(job, task, "both").value().data == "newer");
  CHECK(parts.read(job, task, "old").value().data == "of old");
}

TEST_CASE("what is not kept cannot be read") {
  ResultParts parts;
  parts.add(1, job, task, {"a"});
  parts.folder.write(parts.in_attempt(1, "exit"), "secret");
  for (const char* path : {"b", "../exit", "a/../../exit", "/etc/passwd", "", "."}) {
    const auto piece = parts.read(job, task, path);
    REQUIRE_FALSE(piece.ok());
    CHECK(piece.error().code == Code::not_found);
  }
  CHECK_FALSE(parts.read(job, TaskId{1}, "a").ok());
  CHECK_FALSE(parts.read(JobId{6}, task, "a").ok());
}

TEST_CASE("no path leads out of an attempt's files, even one that is listed") {
  ResultParts parts;
  parts.add(1, job, task, {"a", "dir/inner"});
  parts.folder.write(parts.in_attempt(1, "exit"), "secret");
  parts.folder.write("outside/inner", "secret");
  const std::string absolute = parts.folder / "outside/inner";
  std::filesystem::remove_all(parts.folder / parts.in_files(1, "dir"));
  std::filesystem::create_symlink(parts.folder / "outside",
                                  parts.folder / parts.in_files(1, "dir"));
  std::vector<wire::ResultFile> listed(5);
  const std::string paths[] = {"../exit", "dir/../../exit", absolute, "dir/inner", "a//b"};
  for (std::size_t i = 0; i < listed.size(); ++i) listed[i].path = paths[i];
  parts.results->add(job, task, parts.fence(1), listed, monday);
  for (const std::string& path : paths) CHECK_FALSE(parts.read(job, task, path).ok());
  CHECK_FALSE(parts.forget(job, task, {paths[0], paths[1], paths[2], paths[3]}).ok());
  CHECK(parts.exists(parts.in_attempt(1, "exit")));
  CHECK(parts.exists("outside/inner"));
}

TEST_CASE("a file that its command has closed to its user is read, and stays closed") {
  ResultParts parts;
  parts.add(1, job, task, {"a"});
  REQUIRE(::chmod((parts.folder / parts.in_files(1, "a")).c_str(), 0200) == 0);
  const auto piece = parts.read(job, task, "a");
  REQUIRE(piece.ok());
  CHECK(piece.value().data == "of a");
  struct stat status;
  REQUIRE(::stat((parts.folder / parts.in_files(1, "a")).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0200);
}

TEST_CASE("forgotten files go, with the folders that this leaves empty") {
  ResultParts parts;
  parts.add(1, job, task, {"a", "d/e/b", "d/c"});
  CHECK(parts.forget(job, task, {"d/e/b", "unknown"}).ok());
  CHECK_FALSE(parts.exists(parts.in_files(1, "d/e")));
  CHECK(parts.exists(parts.in_files(1, "d/c")));
  CHECK(paths_of(parts.results->find(job, task)[0].files) == std::vector<std::string>{"a", "d/c"});
  CHECK(parts.results->usage(job).bytes == 4 + 6);
  CHECK_FALSE(parts.read(job, task, "d/e/b").ok());
  CHECK(parts.emptied.empty());
}

TEST_CASE("an attempt whose last file is forgotten is told as emptied, once") {
  ResultParts parts;
  parts.add(1, job, task, {"a"});
  parts.add(2, job, task, {"a", "b"});
  CHECK(parts.forget(job, task, {"a"}).ok());
  CHECK(parts.emptied == std::vector<Fence>{parts.fence(1)});
  CHECK(parts.forget(job, task, {"a", "b"}).ok());
  CHECK(parts.emptied == std::vector<Fence>{parts.fence(1), parts.fence(2)});
  CHECK(parts.results->find(job, std::nullopt).empty());
}

TEST_CASE("a sweep keeps everything while there is space") {
  ResultParts parts;
  parts.add(1, job, task, {"a"});
  parts.sweep(monday + week + week);
  CHECK(parts.results->has(job, parts.fence(1)));
}

TEST_CASE("where space is short a sweep removes what is older than a week") {
  ResultParts parts;
  parts.short_of_space = true;
  parts.add(1, job, task, {"a"}, monday);
  parts.add(2, JobId{6}, task, {"b"}, monday + seconds(60));
  parts.sweep(monday + week);
  CHECK(parts.emptied == std::vector<Fence>{parts.fence(1)});
  CHECK_FALSE(parts.exists(parts.in_attempt(1, "files")));
  CHECK(parts.results->has(JobId{6}, parts.fence(2)));
  CHECK(parts.exists(parts.in_files(2, "b")));
}

TEST_CASE("a sweep takes the oldest first, and ends when there is space again") {
  ResultParts parts;
  parts.add(1, job, task, {"a"}, monday + seconds(60));
  parts.add(2, job, TaskId{1}, {"b"}, monday);
  parts.add(3, JobId{6}, task, {"c"}, monday + seconds(30));
  int left = 2;
  std::vector<Fence> gone;
  Results results(
      *parts.pool, parts.attempts, [&](const Fence& fence) { gone.push_back(fence); },
      [&] { return left-- > 0; });
  REQUIRE(results.restore().ok());
  results.sweep(monday + week + week);
  parts.until([&] { return gone.size() == 2; });
  CHECK(gone == std::vector<Fence>{parts.fence(2), parts.fence(3)});
  CHECK(results.has(job, parts.fence(1)));
}

TEST_CASE("results that end tell nothing more") {
  ResultParts parts;
  parts.add(1, job, task, {"a"});
  bool told = false;
  parts.results->read(job, task, "a", 0, 10, [&](const Result<wire::FilePiece>&) { told = true; });
  parts.results->forget(job, task, {"a"}, [&](const Status&) { told = true; });
  parts.results.reset();
  parts.pool.reset();
  run_ready(*parts.loop);
  CHECK_FALSE(told);
  CHECK(parts.emptied.empty());
}
