#include "gpl/host/attempt_folder.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "temporary_folder.h"

using namespace gpl;
using host::AttemptFolder;
using host::AttemptFolders;
using host::AttemptTrace;

namespace {

Fence fence(std::uint64_t number) { return {1, AttemptId{number}}; }

AttemptFolders open_in(const TemporaryFolder& state) {
  Result<AttemptFolders> folders = AttemptFolders::open(state.path());
  REQUIRE(folders.ok());
  return std::move(folders).value();
}

to_worker::Start some_order() {
  to_worker::Start order;
  order.fence = fence(1);
  order.job = JobId{7};
  order.description.spec.command = {"true"};
  return order;
}

ino_t inode_of(const std::string& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

/// Makes the attempt, and what a run without output leaves in its folder.
std::string make_one(AttemptFolders& folders, std::uint64_t number) {
  Result<AttemptFolder> made = folders.make(fence(number));
  REQUIRE(made.ok());
  REQUIRE(made.value().write_order(some_order(), {"/tmp/gpl-a", std::nullopt, 0}).ok());
  return made.value().path();
}

bool use_again(AttemptFolders& folders, std::uint64_t number) {
  const Result<std::string> gone = folders.discard(fence(number));
  REQUIRE(gone.ok());
  return folders.use_again(gone.value());
}

}  // namespace

TEST_CASE("an order and its last trace are read back") {
  TemporaryFolder state;
  AttemptFolders folders = open_in(state);
  Result<AttemptFolder> made = folders.make(fence(1));
  REQUIRE(made.ok());
  CHECK(made.value().read_order().error().code == Code::not_found);
  REQUIRE(made.value().write_order(some_order(), {"/tmp/gpl-a", std::nullopt, 0}).ok());
  CHECK(made.value().read_trace().temp_folder == "/tmp/gpl-a");
  CHECK_FALSE(made.value().read_trace().started_at);
  REQUIRE(made.value().write_trace({"/tmp/gpl-a", Instant{99}, 42}).ok());
  const Result<AttemptFolder> again = folders.open_existing(fence(1));
  REQUIRE(again.ok());
  CHECK((again.value().read_order().ok() && again.value().read_order().value() == some_order()));
  CHECK(again.value().read_trace().started_at == Instant{99});
  CHECK(again.value().read_trace().pid == 42);
}

TEST_CASE("an order that is cut at any byte is none, and a trace is as it was before the cut") {
  TemporaryFolder state;
  AttemptFolders folders = open_in(state);
  std::size_t order_bytes = 0;
  std::size_t first_bytes = 0;
  {
    Result<AttemptFolder> made = folders.make(fence(1));
    REQUIRE(made.ok());
    const std::string path = made.value().path() + "/order";
    REQUIRE(made.value().write_order(some_order(), {"/tmp/gpl-a", std::nullopt, 0}).ok());
    first_bytes = std::filesystem::file_size(path);
    order_bytes = first_bytes - 12 - std::string("path=/tmp/gpl-a\0").size() - 1;
    REQUIRE(made.value().write_trace({"/tmp/gpl-a", Instant{99}, 42}).ok());
  }
  const std::string bytes = state.read("attempts/1.1/order");
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    state.write("attempts/1.1/order", bytes.substr(0, length));
    const Result<AttemptFolder> cut = folders.open_existing(fence(1));
    REQUIRE(cut.ok());
    CHECK(cut.value().read_order().ok() == (length >= order_bytes));
    CHECK(cut.value().read_trace().temp_folder == (length >= first_bytes ? "/tmp/gpl-a" : ""));
    CHECK(cut.value().read_trace().started_at.has_value() == (length == bytes.size()));
  }
}

TEST_CASE("a folder that was made ahead is the next attempt's") {
  TemporaryFolder state;
  AttemptFolders folders = open_in(state);
  folders.make_ahead();
  folders.make_ahead();
  REQUIRE(folders.leftovers().size() == 1);
  CHECK(folders.list().value().empty());
  const ino_t ahead = inode_of(state / ("attempts/" + folders.leftovers().front()));
  const Result<AttemptFolder> made = folders.make(fence(1));
  REQUIRE(made.ok());
  CHECK(made.value().path() == state / "attempts/1.1");
  CHECK(inode_of(made.value().path()) == ahead);
  CHECK(std::filesystem::is_empty(made.value().work_path()));
  CHECK(folders.leftovers().empty());
  // Locked, as a new one: for whoever opens it anew.
  CHECK_FALSE(folders.open_existing(fence(1)).value().try_lock());
}

TEST_CASE("a folder made ahead takes the place of what an attempt of that name has left") {
  TemporaryFolder state;
  AttemptFolders folders = open_in(state);
  const std::string path = make_one(folders, 1);
  state.write("attempts/1.1/work/file", "of before");
  folders.make_ahead();
  const Result<AttemptFolder> made = folders.make(fence(1));
  REQUIRE(made.ok());
  CHECK(std::filesystem::is_empty(made.value().work_path()));
  CHECK(folders.leftovers().size() == 1);
}

TEST_CASE("a discarded folder that is as new is used again, with nothing of before in it") {
  TemporaryFolder state;
  AttemptFolders folders = open_in(state);
  const std::string path = make_one(folders, 1);
  state.write("attempts/1.1/stdout", "what it said");
  const ino_t inode = inode_of(path);
  CHECK(use_again(folders, 1));
  CHECK(folders.list().value().empty());
  const Result<AttemptFolder> made = folders.make(fence(2));
  REQUIRE(made.ok());
  CHECK(inode_of(made.value().path()) == inode);
  CHECK(std::filesystem::is_empty(made.value().work_path()));
  CHECK(std::filesystem::is_empty(state / "attempts/1.2/stdout"));
  CHECK_FALSE(made.value().read_order().ok());
}

TEST_CASE("a folder with anything else in it is not used again") {
  TemporaryFolder state;
  AttemptFolders folders = open_in(state);
  make_one(folders, 1);
  state.write("attempts/1.1/work/made", "by the job");
  CHECK_FALSE(use_again(folders, 1));
  make_one(folders, 2);
  state.write("attempts/1.2/collected", "");
  CHECK_FALSE(use_again(folders, 2));
  make_one(folders, 3);
  state.write("attempts/1.3/stdout", "kept by the job");
  REQUIRE(::link((state / "attempts/1.3/stdout").c_str(), (state / "mine").c_str()) == 0);
  CHECK_FALSE(use_again(folders, 3));
  CHECK(state.read("mine") == "kept by the job");
  make_one(folders, 4);
  state.write("target", "elsewhere");
  REQUIRE(::symlink((state / "target").c_str(), (state / "attempts/1.4/stderr").c_str()) == 0);
  CHECK_FALSE(use_again(folders, 4));
  CHECK(state.read("target") == "elsewhere");
  make_one(folders, 5);
  REQUIRE(::chmod((state / "attempts/1.5/work").c_str(), 0755) == 0);
  CHECK_FALSE(use_again(folders, 5));
  make_one(folders, 6);
  const Result<AttemptFolder> locked = folders.open_existing(fence(6));
  REQUIRE(locked.value().try_lock());  // as by a guard that still lives
  CHECK_FALSE(use_again(folders, 6));
  CHECK(folders.make(fence(7)).ok());
}

TEST_CASE("no more than a few folders are kept for later") {
  TemporaryFolder state;
  AttemptFolders folders = open_in(state);
  int again = 0;
  for (std::uint64_t i = 1; i <= 40; ++i) make_one(folders, i);
  for (std::uint64_t i = 1; i <= 40; ++i) again += use_again(folders, i) ? 1 : 0;
  CHECK(again == 16);
}
