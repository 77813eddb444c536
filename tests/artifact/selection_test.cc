#include "gpl/artifact/selection.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "../temporary_folder.h"

using namespace gpl::artifact;
namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

namespace {

SelectionOptions options(std::vector<std::string> always = {}) {
  SelectionOptions chosen;
  chosen.git = {"", "", "", ""};
  chosen.always = std::move(always);
  return chosen;
}

Selection selected(const std::string& root, const SelectionOptions& chosen = options()) {
  auto selection = select(root, chosen);
  REQUIRE_MESSAGE(selection.ok(), (selection ? "" : selection.error().message));
  return std::move(selection).value();
}

/// Folders with a slash at the end.
Paths paths(const Selection& selection) {
  Paths all;
  for (const Entry& entry : selection.entries)
    all.push_back(entry.path + (entry.type == EntryType::directory ? "/" : ""));
  return all;
}

Paths taken(const std::string& root, const SelectionOptions& chosen = options()) {
  return paths(selected(root, chosen));
}

const Entry& entry(const Selection& selection, const std::string& path) {
  const auto at = std::find_if(selection.entries.begin(), selection.entries.end(),
                               [&](const Entry& e) { return e.path == path; });
  REQUIRE(at != selection.entries.end());
  return *at;
}

std::string note(const Selection& selection, const std::string& path) {
  for (const Note& each : selection.notes)
    if (each.path == path) return each.reason;
  return {};
}

void link(const std::string& target, const std::string& path) {
  REQUIRE(::symlink(target.c_str(), path.c_str()) == 0);
}

void make_folder(const TemporaryFolder& folder, const std::string& path) {
  fs::create_directories(folder / path);
}

/// A repository without commits; `tracked` are index entries of version 2, in order.
void make_repository(const TemporaryFolder& folder, const std::string& top,
                     const Paths& tracked = {}, const Paths& submodules = {}) {
  const std::string git = top.empty() ? ".git" : top + "/.git";
  folder.write(git + "/HEAD", "ref: refs/heads/main\n");
  make_folder(folder, git + "/objects");
  make_folder(folder, git + "/refs");
  std::vector<std::pair<std::string, unsigned>> rows;
  for (const auto& path : tracked) rows.emplace_back(path, 0100644U);
  for (const auto& path : submodules) rows.emplace_back(path, 0160000U);
  std::sort(rows.begin(), rows.end());
  std::string bytes = std::string("DIRC\0\0\0\2\0\0\0", 11) + static_cast<char>(rows.size());
  for (const auto& [path, mode] : rows) {
    const std::size_t begin = bytes.size();
    bytes.append(26, '\0');
    bytes += static_cast<char>(mode >> 8U);
    bytes += static_cast<char>(mode & 0xffU);
    bytes.append(12 + 20 + 1, '\0');
    bytes += static_cast<char>(path.size());
    bytes += path;
    do bytes += '\0';
    while ((bytes.size() - begin) % 8 != 0);
  }
  folder.write(git + "/index", bytes + std::string(20, '\0'));
}

}  // namespace

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

TEST_CASE("a path that is always taken overrides every rule below it, but not for .git") {
  const TemporaryFolder folder;
  make_repository(folder, "");
  folder.write(".gitignore", "build/\n*.log\n");
  folder.write(".gplignore", "x\n");
  make_repository(folder, "build/in/repository");
  for (const auto* name : {"build/x", "build/in/y.log", "other.log", "build2/x"})
    folder.write(name, "");
  CHECK(taken(folder.path(), options({"build/in/"})) == Paths{".gitignore", ".gplignore", "build/",
                                                              "build/in/", "build/in/repository/",
                                                              "build/in/y.log", "build2/"});
  CHECK(taken(folder.path(), options({"./build/../other.log", folder / "build/x"})) ==
        Paths{".gitignore", ".gplignore", "build/", "build/x", "build2/", "other.log"});
  CHECK(taken(folder.path(), options({"."})) ==
        Paths{".gitignore", ".gplignore", "build/", "build/in/", "build/in/repository/",
              "build/in/y.log", "build/x", "build2/", "build2/x", "other.log"});
}

TEST_CASE("a .git is taken when its path says so") {
  const TemporaryFolder folder;
  make_repository(folder, "");
  auto chosen = options({".git/HEAD"});
  CHECK(taken(folder.path(), chosen) == Paths{".git/", ".git/HEAD"});
  chosen.always = {".git"};
  CHECK(taken(folder.path(), chosen) ==
        Paths{".git/", ".git/HEAD", ".git/index", ".git/objects/", ".git/refs/"});
}

TEST_CASE("with only_always nothing else is taken") {
  const TemporaryFolder folder;
  folder.write("a/x", "");
  folder.write("b", "");
  auto chosen = options({"a"});
  chosen.only_always = true;
  CHECK(taken(folder.path(), chosen) == Paths{"a/", "a/x"});
  chosen.always.clear();
  CHECK(taken(folder.path(), chosen).empty());
}

TEST_CASE("a link that is always taken brings what it leads to") {
  const TemporaryFolder folder;
  folder.write("r/.gitignore", "data*\nvia\nhop\n");
  folder.write("r/data1/x", "");
  folder.write("outside/in/y", "yy");
  link("hop", folder / "r/via");
  link("data1", folder / "r/hop");
  link("../outside", folder / "r/data2");
  CHECK(taken(folder / "r", options({"via"})) ==
        Paths{".gitignore", "data1/", "data1/x", "hop", "via"});
  const auto selection = selected(folder / "r", options({"data2"}));
  CHECK(paths(selection) == Paths{".gitignore", "data2/", "data2/in/", "data2/in/y"});
  CHECK(entry(selection, "data2/in/y").source == fs::canonical(folder / "outside/in/y").string());
  CHECK(entry(selection, "data2/in/y").size_bytes == 2);
  CHECK(selection.notes.empty());
  CHECK(entry(selected(folder / "r", options({".", "data2"})), "data2").type ==
        EntryType::directory);
  CHECK(entry(selected(folder / "r", options({"data2", "."})), "data2").type ==
        EntryType::directory);
  CHECK(taken(folder / "r", options({"via/x"})) ==
        Paths{".gitignore", "data1/", "data1/x", "hop", "via"});
  link("via/x", folder / "r/data3");
  CHECK(taken(folder / "r", options({"data3"})) ==
        Paths{".gitignore", "data1/", "data1/x", "data3", "hop", "via"});
}

TEST_CASE("links in a circle, to the folder itself and to above it end") {
  const TemporaryFolder folder;
  link("b", folder / "a");
  link("a", folder / "b");
  link(".", folder / "self");
  folder.write("f", "");
  const auto selection = selected(folder.path());
  CHECK(paths(selection) == Paths{"a", "b", "f", "self"});
  CHECK(note(selection, "a").find("not there") != std::string::npos);
  CHECK(note(selection, "self").empty());
  CHECK(taken(folder.path(), options({"a", "self"})) == Paths{"a", "b", "f", "self"});
  make_folder(folder, "r");
  link("..", folder / "r/up");
  const auto up = taken(folder / "r", options({"up"}));
  CHECK(up == Paths{"up/", "up/a", "up/b", "up/f", "up/r/", "up/r/up", "up/self"});
}

TEST_CASE("a path that is not there, or not in the folder, is refused with its name") {
  const TemporaryFolder folder;
  folder.write("r/x", "");
  folder.write("outside", "");
  link("../..", folder / "r/up");
  const auto refusal = [&](const std::string& path) {
    const auto selection = select(folder / "r", options({path}));
    REQUIRE_FALSE(selection);
    CHECK(selection.error().message.find("--stage") == 0);
    return selection.error().code;
  };
  CHECK(refusal("none") == gpl::Code::not_found);
  CHECK(refusal("x/y") == gpl::Code::not_found);
  CHECK(refusal("../outside") == gpl::Code::invalid);
  CHECK(refusal(folder / "outside") == gpl::Code::invalid);
  CHECK(refusal("") == gpl::Code::invalid);
}

TEST_CASE("the root may be named through a link") {
  const TemporaryFolder folder;
  folder.write("r/.gitignore", "*\n");
  folder.write("r/d/x", "");
  link("r", folder / "here");
  CHECK(taken(folder / "here", options({folder / "here/d"})) == Paths{"d/", "d/x"});
  CHECK(taken(folder / "r", options({folder / "here"})) == Paths{".gitignore", "d/", "d/x"});
  CHECK(taken(folder / "here", options({folder / "here/"})) == Paths{".gitignore", "d/", "d/x"});
}

TEST_CASE("sockets and FIFOs are left out and named, without being opened") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0644) == 0);
  REQUIRE(::mkfifo((folder / ".gitignore").c_str(), 0644) == 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder / "socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const int end = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(end, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  ::close(end);
  const auto selection = selected(folder.path());
  CHECK(selection.entries.empty());
  CHECK(note(selection, "socket") == "is a socket");
  CHECK(note(selection, "fifo") == "is a FIFO");
}

TEST_CASE("links that will not lead where they lead here are noted, and kept") {
  const TemporaryFolder folder;
  folder.write("r/.gitignore", "data\n");
  folder.write("r/data", "");
  folder.write("s", "");
  link("../s", folder / "r/out");
  link("data", folder / "r/left");
  link("none", folder / "r/gone");
  link(folder / "r/data", folder / "r/absolute");
  const auto selection = selected(folder / "r");
  CHECK(paths(selection) == Paths{".gitignore", "absolute", "gone", "left", "out"});
  CHECK(note(selection, "out").find("outside of what is taken along") != std::string::npos);
  CHECK(note(selection, "left").find("which is left out") != std::string::npos);
  CHECK(note(selection, "gone").find("which is not there") != std::string::npos);
  CHECK(note(selection, "absolute").find("outside") != std::string::npos);
}

TEST_CASE("what may not be read is left out and named") {
  const TemporaryFolder folder;
  folder.write("closed/x", "");
  folder.write("secret", "", 0);
  folder.write("open", "");
  REQUIRE(::chmod((folder / "closed").c_str(), 0) == 0);
  // The superuser may read all: ask as somebody else.
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(2);
    const auto selection = select(folder.path(), options());
    const bool right = selection && paths(selection.value()) == Paths{"open"} &&
                       note(selection.value(), "closed") == "may not be read" &&
                       note(selection.value(), "secret") == "may not be read";
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::chmod((folder / "closed").c_str(), 0755);
  CHECK(status == 0);
}

TEST_CASE("too much is refused with the largest folders, unless a path insists") {
  const TemporaryFolder folder;
  const std::string block(100'000, 'x');
  for (int i = 0; i < 5; ++i) folder.write("deep/in/data/" + std::to_string(i), block);
  folder.write("deep/other", "x");
  folder.write("small/x", block);
  auto chosen = options();
  chosen.max_bytes = 300'000;
  auto selection = select(folder.path(), chosen);
  REQUIRE_FALSE(selection);
  CHECK(selection.error().code == gpl::Code::too_large);
  const std::string& message = selection.error().message;
  CHECK(message.find("'deep/in/data'") < message.find("'small'"));
  CHECK(message.find("'small'") != std::string::npos);
  CHECK(message.find("'deep'") == std::string::npos);
  CHECK(message.find("--stage .") != std::string::npos);
  chosen.always = {"deep"};
  CHECK(selected(folder.path(), chosen).files == 7);
  chosen.always = {"."};
  CHECK(selected(folder.path(), chosen).files == 7);
  chosen = options();
  chosen.max_files = 6;
  CHECK_FALSE(select(folder.path(), chosen));
  chosen.max_files = 7;
  CHECK(select(folder.path(), chosen));
}

TEST_CASE("the walk stops at ten times the limit") {
  const TemporaryFolder folder;
  for (int i = 0; i < 50; ++i) folder.write(std::to_string(i), "");
  auto chosen = options();
  chosen.max_files = 2;
  const auto selection = select(folder.path(), chosen);
  REQUIRE_FALSE(selection);
  CHECK(selection.error().message.find("more than ") != std::string::npos);
  CHECK(selection.error().message.find("in 21 files") != std::string::npos);
}

TEST_CASE("a damaged index is an error that names it and the way out") {
  const TemporaryFolder folder;
  make_repository(folder, "");
  folder.write(".git/index", "nonsense");
  const auto selection = select(folder.path(), options());
  REQUIRE_FALSE(selection);
  CHECK(selection.error().message.find("/.git/index is damaged: it is no git index") !=
        std::string::npos);
  CHECK(selection.error().message.find("git reset") != std::string::npos);
  CHECK(selected(folder.path(), options({"."})).files == 0);
}

TEST_CASE("a root that is no folder is refused") {
  const TemporaryFolder folder;
  folder.write("x", "");
  CHECK(select(folder / "none", options()).error().code == gpl::Code::not_found);
  CHECK(select(folder / "x", options()).error().code == gpl::Code::invalid);
}

TEST_CASE("folders nested without end are a clean error") {
  const TemporaryFolder folder;
  int at = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 1200; ++i) {
    REQUIRE(::mkdirat(at, "dddddddd", 0755) == 0);
    const int next = ::openat(at, "dddddddd", O_RDONLY | O_DIRECTORY);
    ::close(at);
    at = next;
  }
  ::close(at);
  const auto selection = select(folder.path(), options());
  REQUIRE_FALSE(selection);
  CHECK(selection.error().message.size() < 500);
}

TEST_CASE("2,000 small files take milliseconds") {
  const TemporaryFolder folder;
  make_repository(folder, "");
  folder.write(".gitignore", "*.log\nbuild/\n**/x/y\n");
  for (int i = 0; i < 2000; ++i) folder.write("t/" + std::to_string(i), "");
  const auto begin = std::chrono::steady_clock::now();
  CHECK(selected(folder.path()).files == 2001);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500));
}
