#include "selected.h"

using namespace gpl::artifact;
using namespace selection_tests;

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
