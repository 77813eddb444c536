#include "gpl/client/kept_files.h"

#include <sys/stat.h>

#include "../temporary_folder.h"

using namespace gpl;
using client::kept_runs;
using client::KeptRun;
using client::matches_any;

namespace {

host::SpoolFolder open_spools(const TemporaryFolder& state) {
  Result<host::SpoolFolder> spools = host::SpoolFolder::open(state.path());
  REQUIRE(spools.ok());
  return std::move(spools).value();
}

void write_spec(host::Spool& spool) {
  host::Record spec;
  spec.add("argv", "train");
  spec.add("started_ms", 5);
  REQUIRE(spool.write_spec(spec).ok());
}

std::size_t spool_count(const host::SpoolFolder& spools) { return spools.list().value().size(); }

}  // namespace

TEST_CASE("an output pattern is a shell's glob, and a folder takes what is in it") {
  CHECK(matches_any({"*.pt"}, "model.pt"));
  CHECK_FALSE(matches_any({"*.pt"}, "out/model.pt"));
  CHECK(matches_any({"**/*.pt"}, "out/a/model.pt"));
  CHECK(matches_any({"out"}, "out/a/model.pt"));
  CHECK(matches_any({"./out/"}, "out/a"));
  CHECK(matches_any({"o*"}, "out/a/b"));
  CHECK_FALSE(matches_any({"out"}, "output/a"));
  CHECK(matches_any({"."}, "any/thing"));
  CHECK(matches_any({"no", "any"}, "any/thing"));
  CHECK_FALSE(matches_any({}, "any/thing"));
}

TEST_CASE("kept files are all that stays of a workplace") {
  const TemporaryFolder state;
  host::SpoolFolder spools = open_spools(state);
  host::Spool spool = std::move(spools.create()).value();
  const TemporaryFolder& here = state;
  here.write("jobs/1/work/out/model.pt", "weights");
  here.write("jobs/1/work/staged.py", "code");
  artifact::Entry made;
  made.path = "out/model.pt";
  REQUIRE(client::keep_files(spool, {made}).ok());
  CHECK(here.read("jobs/1/files/out/model.pt") == "weights");
  CHECK_FALSE(std::filesystem::exists(here / "jobs/1/work"));
}

TEST_CASE("a run that is still locked is left alone") {
  const TemporaryFolder state;
  host::SpoolFolder spools = open_spools(state);
  host::Spool spool = std::move(spools.create()).value();
  write_spec(spool);
  state.write("jobs/1/work/model.pt", "weights");
  CHECK(kept_runs(spools).value().empty());
  CHECK(state.read("jobs/1/work/model.pt") == "weights");
}

TEST_CASE("what a killed run had made since its start is kept, and its temporary folder goes") {
  const TemporaryFolder state;
  const TemporaryFolder temp;
  std::filesystem::create_directory(temp / "gpl-abc123");
  host::SpoolFolder spools = open_spools(state);
  {
    host::Spool spool = std::move(spools.create()).value();
    host::Record spec;
    spec.add("argv", "train");
    spec.add("temp_folder", temp / "gpl-abc123");
    REQUIRE(spool.write_spec(spec).ok());
    state.write("jobs/1/work/model.pt", "weights");
  }
  const std::vector<KeptRun> runs = kept_runs(spools).value();
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].job == JobId{1});
  CHECK(runs[0].command == std::vector<std::string>{"train"});
  CHECK(runs[0].outcome == "lost");
  REQUIRE(runs[0].files.size() == 1);
  CHECK(runs[0].files[0].path == "model.pt");
  CHECK(state.read("jobs/1/files/model.pt") == "weights");
  CHECK(temp.empty());
  CHECK(kept_runs(spools).value().size() == 1);
}

TEST_CASE("a killed run that had made nothing is removed") {
  const TemporaryFolder state;
  host::SpoolFolder spools = open_spools(state);
  {
    host::Spool spool = std::move(spools.create()).value();
    write_spec(spool);
  }
  CHECK(kept_runs(spools).value().empty());
  CHECK(spool_count(spools) == 0);
}

TEST_CASE("a spool that was made a moment ago and is not locked yet is left alone") {
  const TemporaryFolder state;
  host::SpoolFolder spools = open_spools(state);
  { host::Spool spool = std::move(spools.create()).value(); }
  CHECK(kept_runs(spools).value().empty());
  CHECK(spool_count(spools) == 1);
  const timespec old[] = {{1, 0}, {1, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (state / "jobs/1").c_str(), old, 0) == 0);
  CHECK(kept_runs(spools).value().empty());
  CHECK(spool_count(spools) == 0);
}

TEST_CASE("a damaged record is no run to show, and hides no other") {
  const TemporaryFolder state;
  host::SpoolFolder spools = open_spools(state);
  for (int i = 0; i < 2; ++i) {
    host::Spool spool = std::move(spools.create()).value();
    write_spec(spool);
    state.write("jobs/" + std::to_string(i + 1) + "/work/model.pt", "weights");
  }
  REQUIRE(kept_runs(spools).value().size() == 2);
  state.write("jobs/1/exit", "garbage without an end");
  const std::vector<KeptRun> runs = kept_runs(spools).value();
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].job == JobId{2});
}
