#include "gpl/host/spool.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "../forked.h"
#include "../temporary_folder.h"

using gpl::Code;
using gpl::JobId;
using gpl::host::Record;
using gpl::host::Spool;
using gpl::host::SpoolFolder;
using gpl::host::Stream;
using gpl::posix::Durability;

namespace {

namespace fs = std::filesystem;

SpoolFolder open_in(const TemporaryFolder& state) {
  auto folder = SpoolFolder::open(state.path());
  REQUIRE(folder.ok());
  return std::move(folder).value();
}

Spool create_in(SpoolFolder& spools) {
  auto spool = spools.create();
  REQUIRE_MESSAGE(spool.ok(), (spool.ok() ? "" : spool.error().message));
  return std::move(spool).value();
}

Record record_with(const std::string& key, const std::string& value) {
  Record record;
  record.add(key, value);
  return record;
}

mode_t mode_of(const std::string& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("the spools' folder is made with what is missing above it, for its owner alone") {
  const TemporaryFolder state;
  const auto spools = SpoolFolder::open(state / "a/b");
  REQUIRE(spools.ok());
  CHECK(spools.value().path() == state / "a/b/jobs");
  CHECK(mode_of(state / "a") == 0700);
  CHECK(mode_of(state / "a/b/jobs") == 0700);
  CHECK(SpoolFolder::open(state / "a/b").ok());
}

TEST_CASE("a state folder that cannot be made is told, with the way out") {
  const TemporaryFolder state;
  state.write("file", "");
  const auto spools = SpoolFolder::open(state / "file/state");
  REQUIRE_FALSE(spools.ok());
  CHECK(spools.error().message.find(state / "file/state") != std::string::npos);
  CHECK(spools.error().message.find("XDG_STATE_HOME") != std::string::npos);
}

TEST_CASE("spools are numbered from 1 on, each with an empty work folder") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  for (std::uint64_t number = 1; number <= 12; ++number) {
    const Spool spool = create_in(spools);
    CHECK(spool.job() == JobId{number});
    CHECK(spool.path() == state / ("jobs/" + std::to_string(number)));
    CHECK(fs::is_empty(spool.work_path()));
    CHECK(mode_of(spool.path()) == 0700);
  }
  const auto listed = spools.list();
  REQUIRE(listed.ok());
  CHECK(listed.value().size() == 12);
  CHECK(std::is_sorted(listed.value().begin(), listed.value().end()));
}

TEST_CASE("a number is not given again when its spool has been removed") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  Spool first = create_in(spools);
  REQUIRE(first.remove().ok());
  CHECK_FALSE(fs::exists(first.path()));
  CHECK(create_in(spools).job() == JobId{2});
}

TEST_CASE("a counter that was lost or damaged goes on above what is there") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  create_in(spools);
  create_in(spools);
  for (const std::string damage : {"", "garbage", "2\n", "1x", "-5", "99999999999999999999999999",
                                   "18446744073709551615", "\xff\xff"}) {
    CAPTURE(damage);
    state.write("jobs/last", damage, 0600);
    const auto jobs = spools.list();
    REQUIRE(jobs.ok());
    const JobId highest = jobs.value().back();
    CHECK(forked([&] {
            ::alarm(10);  // it must not try the same number again for ever
            const auto spool = spools.create();
            return spool.ok() && spool.value().job() == JobId{highest.value + 1} ? 0 : 1;
          }) == 0);
  }
  fs::remove(state / "jobs/last");
  const JobId highest = spools.list().value().back();
  CHECK(create_in(spools).job() == JobId{highest.value + 1});
}

TEST_CASE("8 processes that make and remove 50 spools each get 400 numbers") {
  const TemporaryFolder state;
  fs::create_directory(state / "taken");
  SpoolFolder spools = open_in(state);
  CHECK(forked([&] {
          for (int process = 0; process < 8; ++process) {
            if (::fork() == 0) {
              auto own = SpoolFolder::open(state.path());
              for (int i = 0; i < 50; ++i) {
                auto spool = own.value().create();
                if (!spool.ok()) ::_exit(1);
                const std::string number = std::to_string(spool.value().job().value);
                const std::string path = state / ("taken/" + number);
                const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (fd < 0 || !spool.value().remove().ok()) ::_exit(2);
                ::close(fd);
              }
              ::_exit(0);
            }
          }
          int bad = 0;
          for (int status = 0; ::wait(&status) > 0;) bad += status == 0 ? 0 : 1;
          return bad;
        }) == 0);
  CHECK(spools.list().value().empty());
  CHECK(state.read("jobs/last") == "400");
}

TEST_CASE("a spool can be made while others look through all of them") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  const pid_t looking = ::fork();
  if (looking == 0) {
    ::alarm(60);
    for (std::uint64_t number = 1;;) {
      const auto spool = spools.open_existing(JobId{number});
      if (spool.ok() || spool.error().code == Code::busy) ++number;
    }
  }
  int failed = 0;
  for (int i = 0; i < 500; ++i) {
    if (!spools.create().ok()) ++failed;
  }
  ::kill(looking, SIGKILL);
  ::waitpid(looking, nullptr, 0);
  CHECK(failed == 0);
}

TEST_CASE("a spool that somebody works with is busy, and free afterwards") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  {
    const Spool held = create_in(spools);
    const auto again = spools.open_existing(held.job());
    REQUIRE_FALSE(again.ok());
    CHECK(again.error().code == Code::busy);
    CHECK(again.error().message == "job 1 is still running");
    CHECK(forked([&] {
            auto own = SpoolFolder::open(state.path());
            const auto other = own.value().open_existing(JobId{1});
            return !other.ok() && other.error().code == Code::busy ? 0 : 1;
          }) == 0);
  }
  const auto spool = spools.open_existing(JobId{1});
  REQUIRE(spool.ok());
  CHECK(spool.value().job() == JobId{1});
  CHECK(spool.value().path() == state / "jobs/1");
  CHECK(spools.open_existing(JobId{1}).error().code == Code::busy);
}

TEST_CASE("the lock of a spool lives on in a process that was forked with it") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  pid_t holder = -1;
  {
    const Spool spool = create_in(spools);
    holder = ::fork();
    if (holder == 0) {
      while (true) ::pause();
    }
  }
  CHECK(spools.open_existing(JobId{1}).error().code == Code::busy);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  CHECK(spools.open_existing(JobId{1}).ok());
}

TEST_CASE("a spool that does not exist is not found") {
  const TemporaryFolder state;
  const SpoolFolder spools = open_in(state);
  const auto absent = spools.open_existing(JobId{7});
  REQUIRE_FALSE(absent.ok());
  CHECK(absent.error().code == Code::not_found);
}

TEST_CASE("a link in place of a spool is not followed") {
  const TemporaryFolder state;
  const SpoolFolder spools = open_in(state);
  fs::create_directory(state / "elsewhere");
  fs::create_directory_symlink(state / "elsewhere", state / "jobs/3");
  CHECK_FALSE(spools.open_existing(JobId{3}).ok());
}

TEST_CASE("only numbers are listed, in order of number") {
  const TemporaryFolder state;
  const SpoolFolder spools = open_in(state);
  CHECK(spools.list().value().empty());
  for (const std::string name : {"10", "9", "0", "x", "7.deep1", "-1", "8x", "1"}) {
    fs::create_directory(state / ("jobs/" + name));
  }
  CHECK(spools.list().value() == std::vector<JobId>{JobId{1}, JobId{9}, JobId{10}});
  CHECK(spools.list().value().size() == 3);
}

TEST_CASE("a spec reads back, and its time is that of the file") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  Spool spool = create_in(spools);
  CHECK_FALSE(spool.spec_changed_ns().ok());
  const std::int64_t before = std::int64_t{::time(nullptr)} - 2;
  REQUIRE(spool.write_spec(record_with("argv", "\xff a")).ok());
  const auto spec = spool.read_spec();
  REQUIRE(spec.ok());
  CHECK(spec.value().get("argv") == "\xff a");
  const auto changed = spool.spec_changed_ns();
  REQUIRE(changed.ok());
  CHECK(changed.value() > before * 1'000'000'000);
  CHECK(changed.value() < (before + 60) * 1'000'000'000);
}

TEST_CASE("a spec that is missing or damaged is told with its folder") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  const Spool spool = create_in(spools);
  const auto missing = spool.read_spec();
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == Code::not_found);
  CHECK(missing.error().message.starts_with(spool.path() + ": "));
  state.write("jobs/1/spec", "garbage");
  const auto damaged = spool.read_spec();
  REQUIRE_FALSE(damaged.ok());
  CHECK(damaged.error().code == Code::invalid);
  CHECK(damaged.error().message.starts_with(spool.path() + ": "));
}

TEST_CASE("an exit is absent until it is written, and damage is not absence") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  Spool spool = create_in(spools);
  auto exit = spool.read_exit();
  REQUIRE(exit.ok());
  CHECK_FALSE(exit.value().has_value());
  for (const Durability durability : {Durability::none, Durability::synced}) {
    REQUIRE(spool.write_exit(record_with("code", "3"), durability).ok());
    exit = spool.read_exit();
    REQUIRE(exit.ok());
    REQUIRE(exit.value().has_value());
    CHECK(exit.value()->number("code") == 3);
  }
  state.write("jobs/1/exit", "code=3");
  exit = spool.read_exit();
  REQUIRE_FALSE(exit.ok());
  CHECK(exit.error().code == Code::invalid);
  CHECK(exit.error().message.starts_with(spool.path() + ": "));
}

TEST_CASE("kept output is appended to what was kept before, each stream by itself") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  const Spool spool = create_in(spools);
  for (const std::string part : {"one", "two"}) {
    const auto out = spool.open_output(Stream::out);
    const auto err = spool.open_output(Stream::err);
    REQUIRE(out.ok());
    REQUIRE(err.ok());
    CHECK(gpl::posix::write_all(out.value().get(), part).ok());
    CHECK(gpl::posix::write_all(err.value().get(), "e").ok());
  }
  CHECK(state.read("jobs/1/stdout") == "onetwo");
  CHECK(state.read("jobs/1/stderr") == "ee");
  CHECK(mode_of(state / "jobs/1/stdout") == 0600);
}

TEST_CASE("remove takes the folder away with all that the job has left in it") {
  const TemporaryFolder state;
  SpoolFolder spools = open_in(state);
  Spool spool = create_in(spools);
  state.write("jobs/1/work/a/b", "x", 0400);
  REQUIRE(::chmod((state / "jobs/1/work/a").c_str(), 0500) == 0);
  REQUIRE(spool.write_spec(record_with("a", "b")).ok());
  CHECK(spool.remove().ok());
  CHECK_FALSE(fs::exists(state / "jobs/1"));
  CHECK(spools.list().value().empty());
  CHECK(spools.open_existing(JobId{1}).error().code == Code::not_found);
}
