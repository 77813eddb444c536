#include "gpl/artifact/delivery.h"

#include <sys/stat.h>

#include "../forked.h"
#include "../temporary_folder.h"
#include "gpl/artifact/made_files.h"

using namespace gpl;
using artifact::deliver;
using artifact::Delivered;
using artifact::Handover;

namespace {

Delivered deliver_all(const TemporaryFolder& from, const TemporaryFolder& to, Handover handover) {
  const auto made = artifact::made_files(from.path(), {0, nullptr});
  REQUIRE(made.ok());
  Result<Delivered> delivered = deliver(from.path(), made.value(), to.path(), handover);
  REQUIRE(delivered.ok());
  return delivered.value();
}

}  // namespace

TEST_CASE("moved files are there with mode and content, and gone where they were") {
  const TemporaryFolder from;
  const TemporaryFolder to;
  from.write("a/b/run", "x", 0755);
  std::filesystem::create_symlink("run", from / "a/b/link");
  const Delivered delivered = deliver_all(from, to, Handover::move);
  CHECK(delivered.done.size() == 2);
  CHECK(delivered.failed.empty());
  CHECK(to.read("a/b/run") == "x");
  CHECK(::access((to / "a/b/run").c_str(), X_OK) == 0);
  CHECK(std::filesystem::read_symlink(to / "a/b/link") == "run");
  CHECK_FALSE(std::filesystem::exists(from / "a/b/run"));
}

TEST_CASE("copied files stay, keep their time, and leave no part behind") {
  const TemporaryFolder from;
  const TemporaryFolder to;
  from.write("f", "content");
  to.write("f", "older and longer content");
  const timespec times[] = {{5, 0}, {1'000'000'000, 7}};
  REQUIRE(::utimensat(AT_FDCWD, (from / "f").c_str(), times, 0) == 0);
  CHECK(deliver_all(from, to, Handover::copy).failed.empty());
  CHECK(from.read("f") == "content");
  CHECK(to.read("f") == "content");
  struct stat status;
  REQUIRE(::stat((to / "f").c_str(), &status) == 0);
  CHECK(status.st_mtim.tv_sec == 1'000'000'000);
  CHECK(std::distance(std::filesystem::directory_iterator(to.path()), {}) == 1);
}

TEST_CASE("a link in the target that leads out is not followed") {
  for (const Handover handover : {Handover::copy, Handover::move}) {
    const TemporaryFolder from;
    const TemporaryFolder to;
    const TemporaryFolder outside;
    from.write("out/x", "x");
    std::filesystem::create_directory_symlink(outside.path(), to / "out");
    const Delivered delivered = deliver_all(from, to, handover);
    CHECK(delivered.done.empty());
    REQUIRE(delivered.failed.size() == 1);
    CHECK(delivered.failed[0].reason.find("leads out") != std::string::npos);
    CHECK(outside.empty());
    CHECK(from.read("out/x") == "x");
  }
}

TEST_CASE("a link in the target that stays inside is followed, to new folders too") {
  const TemporaryFolder from;
  const TemporaryFolder to;
  from.write("out/new/x", "x");
  std::filesystem::create_directory(to / "real");
  std::filesystem::create_directory_symlink("real", to / "out");
  CHECK(deliver_all(from, to, Handover::copy).failed.empty());
  CHECK(to.read("real/new/x") == "x");
}

TEST_CASE("a file that is a link in the target is replaced, and what it led to stays as it was") {
  const TemporaryFolder from;
  const TemporaryFolder to;
  const TemporaryFolder outside;
  from.write("f", "new");
  outside.write("f", "old");
  std::filesystem::create_symlink(outside / "f", to / "f");
  CHECK(deliver_all(from, to, Handover::copy).failed.empty());
  CHECK(to.read("f") == "new");
  CHECK(outside.read("f") == "old");
}

TEST_CASE("what cannot be written is reported, and the rest arrives") {
  const TemporaryFolder from;
  const TemporaryFolder to;
  from.write("a", "a");
  from.write("b", "b");
  std::filesystem::create_directories(to / "a/full");
  const Delivered delivered = deliver_all(from, to, Handover::move);
  REQUIRE(delivered.failed.size() == 1);
  CHECK(delivered.failed[0].entry.path == "a");
  CHECK(from.read("a") == "a");
  CHECK(to.read("b") == "b");
}

TEST_CASE("results in a folder that the command made read-only are moved too") {
  CHECK(forked([] {
          const TemporaryFolder from;
          const TemporaryFolder to;
          if (::chmod(from.path().c_str(), 0777) != 0 || ::chmod(to.path().c_str(), 0777) != 0 ||
              !become_ordinary_user()) {
            return 1;
          }
          from.write("d/a", "a");
          if (::chmod((from / "d").c_str(), 0555) != 0) return 2;
          const auto made = artifact::made_files(from.path(), {0, nullptr});
          const auto delivered = deliver(from.path(), made.value(), to.path(), Handover::move);
          (void)::chmod((from / "d").c_str(), 0755);
          return delivered.ok() && delivered.value().failed.empty() && to.read("d/a") == "a" ? 0
                                                                                             : 3;
        }) == 0);
}
