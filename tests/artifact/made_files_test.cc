#include "gpl/artifact/made_files.h"

#include <sys/stat.h>

#include <algorithm>

#include "../forked.h"
#include "../temporary_folder.h"

using namespace gpl;
using artifact::Entry;
using artifact::EntryType;
using artifact::made_files;

namespace {

struct stat status_of(const std::string& path) {
  struct stat status = {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

std::int64_t to_ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The mark as a run makes it: the change time of a file written after everything was staged.
std::int64_t mark_after(const TemporaryFolder& folder) {
  const TemporaryFolder beside;
  beside.write("spec", "");
  (void)folder;
  return to_ns(status_of(beside / "spec").st_ctim);
}

// Until a new change gets a later time than the mark: the kernel's clock for files ticks coarsely.
void pass_tick(const TemporaryFolder& folder, std::int64_t mark_ns) {
  do {
    folder.write("tick", "");
  } while (to_ns(status_of(folder / "tick").st_ctim) <= mark_ns);
  std::filesystem::remove(folder / "tick");
}

std::vector<std::string> paths(const TemporaryFolder& folder, std::int64_t mark_ns,
                               const std::vector<Entry>* staged = nullptr) {
  const Result<std::vector<Entry>> made = made_files(folder.path(), {mark_ns, staged});
  REQUIRE(made.ok());
  std::vector<std::string> names;
  for (const Entry& entry : made.value()) names.push_back(entry.path);
  return names;
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("new files and links are made, what lay there before is not") {
  const TemporaryFolder folder;
  folder.write("old", "old");
  folder.write("d/old", "old");
  const std::int64_t mark = mark_after(folder);
  pass_tick(folder, mark);
  folder.write("d/new", "new");
  std::filesystem::create_symlink("nowhere", folder / "link");
  CHECK(paths(folder, mark) == Paths{"d/new", "link"});
}

TEST_CASE("a change that keeps size and time is seen") {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.py", "v1");
  const struct stat before = status_of(file);
  const std::int64_t mark = mark_after(folder);
  pass_tick(folder, mark);
  folder.write("m.py", "v2");
  const timespec times[] = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  CHECK(paths(folder, mark) == Paths{"m.py"});
}

TEST_CASE("within one tick, size, time and mode against what was staged decide") {
  const TemporaryFolder folder;
  folder.write("same", "a");
  folder.write("other", "abc");
  const std::int64_t tick = to_ns(status_of(folder / "other").st_ctim);
  std::vector<Entry> staged(1);
  staged[0].path = "other";
  staged[0].mode = 0644;
  staged[0].size_bytes = 3;
  staged[0].mtime_ns = to_ns(status_of(folder / "other").st_mtim);
  const auto has_other = [&](const std::vector<Entry>* known) {
    const Paths found = paths(folder, tick, known);
    return std::find(found.begin(), found.end(), "other") != found.end();
  };
  CHECK_FALSE(has_other(&staged));
  CHECK(has_other(nullptr));
  staged[0].size_bytes = 2;
  CHECK(has_other(&staged));
}

TEST_CASE("within one tick and without a list, what has an older time was copied there") {
  const TemporaryFolder folder;
  const std::string copied = folder.write("copied", "a");
  const timespec times[] = {{1, 0}, {1'000'000'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, copied.c_str(), times, 0) == 0);
  CHECK(paths(folder, to_ns(status_of(copied).st_ctim)).empty());
  CHECK(paths(folder, to_ns(status_of(copied).st_ctim) - 1) == Paths{"copied"});
}

TEST_CASE("sockets, FIFOs and bytecode caches are no results") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  folder.write("pkg/__pycache__/m.pyc", "x");
  folder.write("pkg/m.py", "x");
  CHECK(paths(folder, 0) == Paths{"pkg/m.py"});
}

TEST_CASE("files in a folder that the command closed are found") {
  CHECK(forked([] {
          const TemporaryFolder folder;
          if (::chmod(folder.path().c_str(), 0777) != 0 || !become_ordinary_user()) return 1;
          folder.write("d/a", "a");
          if (::chmod((folder / "d").c_str(), 0) != 0) return 2;
          const auto made = made_files(folder.path(), {0, nullptr});
          return made.ok() && made.value().size() == 1 && made.value()[0].path == "d/a" ? 0 : 3;
        }) == 0);
}

TEST_CASE("a folder that is not there is an error") {
  CHECK_FALSE(made_files("/no/such/folder", {0, nullptr}).ok());
}
