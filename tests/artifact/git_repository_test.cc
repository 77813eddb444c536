#include "gpl/artifact/git_repository.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "../temporary_folder.h"
#include "gpl/artifact/git_config.h"

using namespace gpl::artifact;

namespace {

/// Nobody's home, so that the tester's own configuration has no say.
GitHome no_home() { return {"", "", "", ""}; }

void make_git_dir(const TemporaryFolder& folder, const std::string& path,
                  const std::string& config = "") {
  folder.write(path + "/HEAD", "ref: refs/heads/main\n");
  folder.write(path + "/config", config);
  std::filesystem::create_directories(folder / (path + "/objects"));
  std::filesystem::create_directories(folder / (path + "/refs"));
}

std::string real(const std::string& path) { return std::filesystem::canonical(path).string(); }

GitFinding find(const std::string& folder, const GitHome& home = no_home()) {
  auto finding = find_repository(real(folder), home);
  REQUIRE(finding);
  return std::move(finding).value();
}

GitRepository found(const std::string& folder, const GitHome& home = no_home()) {
  auto finding = find(folder, home);
  REQUIRE(std::holds_alternative<GitRepository>(finding));
  return std::get<GitRepository>(finding);
}

std::string variables(std::string_view text) {
  std::string all;
  const auto read = parse_git_config(text, [&](const GitConfigVariable& variable) {
    all += variable.name + "=" + variable.value.value_or("(none)") + ";";
    return gpl::success();
  });
  return read ? all : read.error().message;
}

}  // namespace

TEST_CASE("a repository is found from its top and from below") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git");
  folder.write("r/a/b/file", "");
  for (const auto* at : {"r", "r/a", "r/a/b"}) {
    const auto repository = found(folder / at);
    CHECK(repository.top == real(folder / "r"));
    CHECK(repository.index_file() == real(folder / "r") + "/.git/index");
    CHECK(repository.info_exclude_file() == real(folder / "r") + "/.git/info/exclude");
    CHECK(repository.hash_bytes == 20);
    CHECK_FALSE(repository.ignore_case);
  }
}

TEST_CASE("a .git that is no repository is passed over") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git");
  std::filesystem::create_directories(folder / "r/a/.git");
  CHECK(found(folder / "r/a").top == real(folder / "r"));
  auto finding = open_repository(real(folder / "r/a"), no_home());
  REQUIRE(finding);
  CHECK(std::holds_alternative<NoRepository>(finding.value()));
}

TEST_CASE("inside of a repository's own folder there is no work tree") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git");
  CHECK(std::holds_alternative<NoRepository>(find(folder / "r/.git")));
  CHECK(std::holds_alternative<NoRepository>(find(folder / "r/.git/refs")));
}

TEST_CASE("a bare repository has no work tree") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git", "[core]\n\tbare = true\n");
  CHECK(std::holds_alternative<NoWorkTree>(find(folder / "r")));
}

TEST_CASE("a .git file leads to the git folder, relative to where it stands") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git/modules/sub", "[core]\n\tworktree = ../../../sub\n");
  folder.write("r/sub/.git", "gitdir: ../.git/modules/sub\n");
  const auto repository = found(folder / "r/sub");
  CHECK(repository.top == real(folder / "r/sub"));
  CHECK(repository.git_dir == real(folder / "r/.git/modules/sub"));
}

TEST_CASE("a linked work tree has its own index and shares configuration and excludes") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git", "[core]\n\tbare = true\n\tignorecase = yes\n");
  make_git_dir(folder, "r/.git/worktrees/w");
  folder.write("r/.git/worktrees/w/commondir", "../..\n");
  folder.write("w/.git", "gitdir: " + folder / "r/.git/worktrees/w" + "\n");
  const auto repository = found(folder / "w");
  CHECK(repository.top == real(folder / "w"));
  CHECK(repository.index_file() == real(folder / "r/.git/worktrees/w") + "/index");
  CHECK(repository.info_exclude_file() == real(folder / "r/.git") + "/info/exclude");
  CHECK(repository.ignore_case);
}

TEST_CASE("a .git file that leads nowhere is told with its path") {
  const TemporaryFolder folder;
  folder.write("w/.git", "gitdir: ../gone\n");
  auto finding = find(folder / "w");
  REQUIRE(std::holds_alternative<BrokenGitFile>(finding));
  CHECK(std::get<BrokenGitFile>(finding).message.find(real(folder / "w") + "/.git leads to ") == 0);
  folder.write("w/.git", "nonsense");
  CHECK(std::holds_alternative<BrokenGitFile>(find(folder / "w")));
}

TEST_CASE("core.worktree puts the work tree elsewhere") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git", "[core]\n\tworktree = ../../tree\n");
  folder.write("tree/a", "");
  CHECK(std::holds_alternative<NoWorkTree>(find(folder / "r")));
  make_git_dir(folder, "s/.git", "[core]\n\tworktree = ../..\n");
  CHECK(found(folder / "s").top == real(folder.path()));
}

TEST_CASE("the object format decides the hash's size; an unknown one is refused") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git", "[extensions]\n\tobjectFormat = sha256\n");
  CHECK(found(folder / "r").hash_bytes == 32);
  make_git_dir(folder, "s/.git", "[extensions]\n\tobjectFormat = md5\n");
  const auto finding = find_repository(real(folder / "s"), no_home());
  REQUIRE_FALSE(finding);
  CHECK(finding.error().code == gpl::Code::unsupported);
  CHECK(finding.error().message.find("'md5'") != std::string::npos);
}

TEST_CASE("the person's excludes file is the configured one, else the default") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git");
  GitHome home = no_home();
  CHECK(found(folder / "r", home).excludes_file.empty());
  home.home = folder / "home";
  CHECK(found(folder / "r", home).excludes_file == folder / "home/.config/git/ignore");
  home.xdg_config_home = folder / "xdg";
  CHECK(found(folder / "r", home).excludes_file == folder / "xdg/git/ignore");
  folder.write("xdg/git/config", "[core] excludesFile = ~/from-xdg\n");
  CHECK(found(folder / "r", home).excludes_file == folder / "home/from-xdg");
  folder.write("home/.gitconfig", "[core] excludesFile = /from-home\n");
  CHECK(found(folder / "r", home).excludes_file == "/from-home");
  home.global_config = folder.write("instead", "[core]\n");
  CHECK(found(folder / "r", home).excludes_file == folder / "xdg/git/ignore");
  folder.write("r/.git/config", "[core] excludesfile = rules\n");
  CHECK(found(folder / "r", home).excludes_file == real(folder / "r") + "/rules");
}

TEST_CASE("configuration files include others, by condition too") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git");
  GitHome home = no_home();
  home.home = real(folder.path());
  folder.write("more", "[core]\n\texcludesFile = /more\n");
  for (const std::string& section :
       {std::string("include"), "includeIf \"gitdir:" + home.home + "/\"",
        std::string("includeIf \"gitdir:r/.git\""), std::string("includeIf \"gitdir/i:~/R/**\""),
        std::string("includeIf \"gitdir:./r/\"")}) {
    CAPTURE(section);
    folder.write(".gitconfig", "[" + section + "]\n\tpath = more\n");
    CHECK(found(folder / "r", home).excludes_file == "/more");
  }
  for (const auto* section : {"includeIf \"gitdir:/else/\"", "includeIf \"onbranch:main\"",
                              "includeIf \"gitdir:R/.git\""}) {
    CAPTURE(section);
    folder.write(".gitconfig", "[" + std::string(section) + "]\n\tpath = more\n");
    CHECK(found(folder / "r", home).excludes_file == home.home + "/.config/git/ignore");
  }
}

TEST_CASE("an include in a circle is an error that names the file") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git", "[include]\n\tpath = config\n");
  const auto finding = find_repository(real(folder / "r"), no_home());
  REQUIRE_FALSE(finding);
  CHECK(finding.error().message.find(real(folder / "r") +
                                     "/.git/config: includes go more than 10 files deep") !=
        std::string::npos);
}

TEST_CASE("configuration that cannot be read names file and line") {
  const TemporaryFolder folder;
  make_git_dir(folder, "r/.git", "[core]\n\tignorecase = perhaps\n");
  auto finding = find_repository(real(folder / "r"), no_home());
  REQUIRE_FALSE(finding);
  CHECK(finding.error().message.find("core.ignorecase is 'perhaps'") != std::string::npos);
  folder.write("r/.git/config", "[core]\n\n\t=\n");
  finding = find_repository(real(folder / "r"), no_home());
  REQUIRE_FALSE(finding);
  CHECK(finding.error().message.find("/config: line 3 cannot be read") != std::string::npos);
}

TEST_CASE("git's configuration syntax") {
  CHECK(variables("") == "");
  CHECK(variables("# x\n; y\n[Core]\n\tIgnoreCase\n") == "core.ignorecase=(none);");
  CHECK(variables("[a] x = 1 ; comment\n y=2#z") == "a.x=1;a.y=2;");
  CHECK(variables("[a \"B\\\"c\\\\\"]\nx=\n") == "a.B\"c\\.x=;");
  CHECK(variables("[a.B]\nx=y\n") == "a.b.x=y;");
  CHECK(variables("[a]\nx = \" ; y \" z\t w  \n") == "a.x= ; y  z  w;");
  CHECK(variables("[a]\nx = one \\\n two\n") == "a.x=one  two;");
  CHECK(variables("[a]\r\nx = \\t\\n\\b\\\\\\\"\r\n") == "a.x=\t\n\b\\\";");
  CHECK(variables("\xef\xbb\xbf[a]\nx=y") == "a.x=y;");
  for (const auto* text : {"x=y", "[a", "[]\n", "[a]\n1=x", "[a]\nx=\"y", "[a]\nx=\\q", "[a \"b]\n",
                           "[a]\nx y", "[a \"b\"\n"}) {
    CAPTURE(text);
    CHECK(variables(text).find("cannot be read") != std::string::npos);
  }
}
