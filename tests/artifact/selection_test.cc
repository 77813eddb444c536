#include "selected.h"

using namespace gpl::artifact;
using namespace selection_tests;

TEST_CASE("files, folders and links are taken with mode, size, time and target, ordered by path") {
  const TemporaryFolder folder;
  folder.write("b/x", "12345", 0640);
  folder.write("b-c", "", 0755);
  link("b/x", folder / "a");
  make_folder(folder, "empty/in");
  const timespec times[2] = {{1, 0}, {1'600'000'000, 123'456'789}};
  REQUIRE(::utimensat(AT_FDCWD, (folder / "b/x").c_str(), times, 0) == 0);
  const auto selection = selected(folder.path());
  CHECK(paths(selection) == Paths{"a", "b/", "b-c", "b/x", "empty/", "empty/in/"});
  CHECK(selection.notes.empty());
  CHECK(selection.files == 3);
  CHECK(entry(selection, "b/x").size_bytes == 5);
  CHECK(entry(selection, "b/x").mode == 0640);
  CHECK(entry(selection, "b/x").mtime_ns == 1'600'000'000'123'456'789);
  CHECK(entry(selection, "b/x").source.empty());
  CHECK(entry(selection, "b-c").mode == 0755);
  CHECK(entry(selection, "a").link_target == "b/x");
}

TEST_CASE("any name arrives byte for byte") {
  const TemporaryFolder folder;
  const Paths names{" a", "\"q\"", "$HOME", "*", "-rf", "\\", "n\nl", "\xff\x01"};
  for (const auto& name : names) folder.write(name, "");
  CHECK(taken(folder.path()) == names);
}

TEST_CASE("holes of a sparse file do not count") {
  const TemporaryFolder folder;
  folder.write("hole", "");
  REQUIRE(::truncate((folder / "hole").c_str(), off_t{1} << 40) == 0);
  const auto selection = selected(folder.path());
  CHECK(entry(selection, "hole").size_bytes == std::uint64_t{1} << 40U);
  CHECK(selection.bytes < 1'000'000);
}

TEST_CASE(
    "outside of a work tree .gitignore files decide, deeper ones first, and .git is left out") {
  const TemporaryFolder folder;
  folder.write(".gitignore", "*.log\nbuild/\n/top\n");
  folder.write("a/.gitignore", "!keep.log\n");
  for (const auto* name :
       {"a/keep.log", "keep.log", "build/x", "a/build/x", "top", "a/top", "a/.git/x"})
    folder.write(name, "");
  CHECK(taken(folder.path()) == Paths{".gitignore", "a/", "a/.gitignore", "a/keep.log", "a/top"});
}

TEST_CASE("an ignore file has no say beside its folder, whichever is read first") {
  const TemporaryFolder folder;
  for (const auto* name : {"a/x", "a/y", "b/x", "b/y", "c/x", "c/y", "d/x", "d/y"})
    folder.write(name, "");
  folder.write("a/.gitignore", "x\n");
  folder.write("b/.gitignore", "y\n");
  folder.write("c/.gplignore", "x\n");
  folder.write("d/.gplignore", "y\n");
  CHECK(taken(folder.path()) == Paths{"a/", "a/.gitignore", "a/y", "b/", "b/.gitignore", "b/x",
                                      "c/", "c/.gplignore", "c/y", "d/", "d/.gplignore", "d/x"});
}

TEST_CASE("a folder that holds only ignored things is taken empty") {
  const TemporaryFolder folder;
  folder.write(".gitignore", "*.log\n");
  folder.write("logs/run1/x.log", "");
  CHECK(taken(folder.path()) == Paths{".gitignore", "logs/", "logs/run1/"});
}

TEST_CASE(
    "in a work tree tracked files are never ignored, and untracked ones are unless a rule "
    "matches") {
  const TemporaryFolder folder;
  make_repository(folder, "", {"build/in/tracked", "gone", "x.log"});
  folder.write(".gitignore", "*.log\nbuild/\n");
  for (const auto* name : {"x.log", "y.log", "build/in/tracked", "build/other", "new"})
    folder.write(name, "");
  CHECK(taken(folder.path()) ==
        Paths{".gitignore", "build/", "build/in/", "build/in/tracked", "new", "x.log"});
}

TEST_CASE("info/exclude comes after .gitignore, and the person's excludes file after that") {
  const TemporaryFolder folder;
  make_repository(folder, "r");
  folder.write("r/.git/info/exclude", "a\nb\n!c\n");
  folder.write("home/.config/git/ignore", "c\nd\n");
  folder.write("r/.gitignore", "!a\n");
  for (const auto* name : {"r/a", "r/b", "r/c", "r/d"}) folder.write(name, "");
  auto chosen = options();
  chosen.git.home = folder / "home";
  CHECK(taken(folder / "r", chosen) == Paths{".gitignore", "a", "c"});
}

TEST_CASE(
    "below a work tree's top its rules hold, and in an ignored folder only tracked files are "
    "taken") {
  const TemporaryFolder folder;
  make_repository(folder, "", {"build/in/tracked"});
  folder.write(".gitignore", "build/\na/*.log\n");
  for (const auto* name : {"build/in/tracked", "build/in/other", "a/x.log", "a/b/x.log"})
    folder.write(name, "");
  CHECK(taken(folder / "a") == Paths{"b/", "b/x.log"});
  const auto inside = selected(folder / "build/in");
  CHECK(paths(inside) == Paths{"tracked"});
  CHECK(note(inside, ".").find("ignored by git") != std::string::npos);
}

TEST_CASE("submodules and nested work trees follow rules of their own") {
  const TemporaryFolder folder;
  make_repository(folder, "", {}, {"build/sub", "empty"});
  make_repository(folder, "build/sub", {"t.log"});
  make_repository(folder, "build/other");
  make_repository(folder, "nested", {"t.log"});
  folder.write(".gitignore", "*.log\nbuild/\n");
  folder.write("nested/.gitignore", "t.log\nbin\n");
  for (const auto* name : {"build/sub/t.log", "build/sub/x.log", "build/other/x", "nested/t.log",
                           "nested/x.log", "nested/bin"})
    folder.write(name, "");
  folder.write("empty/left", "");
  const auto selection = selected(folder.path());
  CHECK(paths(selection) == Paths{".gitignore", "build/", "build/sub/", "build/sub/t.log",
                                  "build/sub/x.log", "empty/", "nested/", "nested/.gitignore",
                                  "nested/t.log", "nested/x.log"});
  CHECK(note(selection, "empty").find("not checked out") != std::string::npos);
}

TEST_CASE("a submodule whose .git leads nowhere is taken by its ignore files") {
  const TemporaryFolder folder;
  make_repository(folder, "", {}, {"sub"});
  folder.write("sub/.git", "gitdir: ../.git/modules/sub\n");
  folder.write("sub/.gitignore", "*.log\n");
  folder.write("sub/x.log", "");
  folder.write("sub/x", "");
  const auto selection = selected(folder.path());
  CHECK(paths(selection) == Paths{"sub/", "sub/.gitignore", "sub/x"});
  CHECK(note(selection, "sub").find("leads to") != std::string::npos);
}

TEST_CASE("a pattern for folders does not match a link to one") {
  const TemporaryFolder folder;
  make_repository(folder, "");
  folder.write(".gitignore", "out/\n");
  folder.write("real/x", "");
  link("real", folder / "out");
  CHECK(taken(folder.path()) == Paths{".gitignore", "out", "real/", "real/x"});
}

TEST_CASE("an ignore file that is a link is not followed, and this is said") {
  const TemporaryFolder folder;
  folder.write("rules", "x\n");
  folder.write("x", "");
  link("rules", folder / ".gitignore");
  const auto selection = selected(folder.path());
  CHECK(paths(selection) == Paths{".gitignore", "rules", "x"});
  CHECK(note(selection, ".gitignore").find("symbolic link") != std::string::npos);
}

TEST_CASE(".gplignore leaves out tracked files too, and brings ignored ones back") {
  const TemporaryFolder folder;
  make_repository(folder, "", {"data/big", "data/small"});
  folder.write(".gitignore", "build/\n*.bin\n");
  folder.write(".gplignore", "/data/*\n!small\n!build/\n");
  folder.write("a/.gplignore", "!model.bin\n");
  for (const auto* name :
       {"data/big", "data/small", "build/x", "build/x.bin", "a/model.bin", "a/y.bin"})
    folder.write(name, "");
  CHECK(taken(folder.path()) == Paths{".gitignore", ".gplignore", "a/", "a/.gplignore",
                                      "a/model.bin", "build/", "build/x", "data/", "data/small"});
}

TEST_CASE("nothing below a folder that .gplignore leaves out comes back") {
  const TemporaryFolder folder;
  folder.write(".gplignore", "d/\n!d/x\n");
  folder.write("d/x", "");
  CHECK(taken(folder.path()) == Paths{".gplignore"});
}

TEST_CASE(".gplignore reaches into nested work trees") {
  const TemporaryFolder folder;
  make_repository(folder, "nested", {"big"});
  folder.write(".gplignore", "big\n");
  folder.write("nested/big", "");
  CHECK(taken(folder.path()) == Paths{".gplignore", "nested/"});
}
