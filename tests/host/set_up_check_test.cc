#include "gpl/host/set_up_check.h"

#include <doctest/doctest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <vector>

#include "../temporary_folder.h"

using gpl::Instant;
using gpl::host::Finding;
using gpl::host::User;
using Level = Finding::Level;

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
const User ana{1000, "ana", "/home/ana", "/bin/sh"};
const User root{0, "root", "/root", "/bin/sh"};

}  // namespace

TEST_CASE("a configuration is fine when it is missing or right, and tells what is wrong") {
  const TemporaryFolder folder;
  const std::string path = folder / "gpl.toml";
  CHECK(gpl::host::check_configuration(path) ==
        Finding{Level::ok, "configuration", path + " is not there: the defaults hold"});
  folder.write("gpl.toml", "cpus = 2\n");
  CHECK(gpl::host::check_configuration(path) == Finding{Level::ok, "configuration", path});
  folder.write("gpl.toml", "cpu = 2\n");
  CHECK(
      gpl::host::check_configuration(path) ==
      Finding{Level::fail, "configuration", path + ":1: unknown key 'cpu'; did you mean 'cpus'?"});
}

TEST_CASE("a key must be for its owner alone") {
  const TemporaryFolder folder;
  const std::string path = folder / "cluster.key";
  CHECK(gpl::host::check_key(path).level == Level::ok);
  folder.write("cluster.key", "k", 0600);
  CHECK(gpl::host::check_key(path) == Finding{Level::ok, "key", path + ", mode 600"});
  folder.write("cluster.key", "k", 0400);
  CHECK(gpl::host::check_key(path).level == Level::ok);
  folder.write("cluster.key", "k", 0640);
  const Finding open = gpl::host::check_key(path);
  CHECK(open.level == Level::fail);
  CHECK(open.text.starts_with(path + " has mode 640: others may use the key"));
}

TEST_CASE("a key that is a folder is a failure") {
  const TemporaryFolder folder;
  CHECK(gpl::host::check_key(folder.path()).level == Level::fail);
}

TEST_CASE("a state folder is left as it was found") {
  const TemporaryFolder folder;
  CHECK(gpl::host::check_state_folder(folder.path()) == Finding{Level::ok, "state", folder.path()});
  CHECK(folder.empty());
  CHECK(gpl::host::check_state_folder(folder / "a/b") ==
        Finding{Level::ok, "state", folder / "a/b is not there yet"});
  CHECK(folder.empty());
}

TEST_CASE("a state folder that cannot be written in is a failure") {
  // Not even root writes there.
  CHECK(gpl::host::check_state_folder("/proc").level == Level::fail);
}

TEST_CASE("a state folder that cannot be made is a failure") {
  if (::geteuid() == 0) return;
  const TemporaryFolder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0500) == 0);
  const Finding finding = gpl::host::check_state_folder(folder / "gpl");
  CHECK(finding.level == Level::fail);
  CHECK(finding.text ==
        "cannot make " + folder / "gpl: " + folder.path() + " is not writable for this user");
}

TEST_CASE("file systems over a network are known") {
  CHECK(gpl::host::is_network_file_system(NFS_SUPER_MAGIC));
  CHECK(gpl::host::is_network_file_system(0xFF534D42));
  CHECK(!gpl::host::is_network_file_system(EXT4_SUPER_MAGIC));
  CHECK(!gpl::host::is_network_file_system(TMPFS_MAGIC));
  CHECK(!gpl::host::is_network_file_system(OVERLAYFS_SUPER_MAGIC));
}

TEST_CASE("a disk is judged by a share, and at the end by bytes") {
  const auto level = [](std::uint64_t free_bytes, std::uint64_t total_bytes) {
    return gpl::host::judge_disk("/s", free_bytes, total_bytes).level;
  };
  CHECK(level(50 * mib * 20, 1000 * mib * 20) == Level::ok);
  CHECK(level(50 * mib * 20 - 1, 1000 * mib * 20) == Level::warn);
  CHECK(level(100 * mib, 200 * mib) == Level::ok);
  CHECK(level(100 * mib - 1, 200 * mib) == Level::fail);
  CHECK(level(0, 0) == Level::fail);
  CHECK(gpl::host::judge_disk("/s", 1024 * mib, 2048 * mib).text ==
        "1.0 GiB of 2.0 GiB free at /s");
}

TEST_CASE("the disk of a folder that is not there yet is that of the one above") {
  const TemporaryFolder folder;
  const Finding there = gpl::host::check_disk(folder.path());
  const Finding missing = gpl::host::check_disk(folder / "a/b/c");
  CHECK(there.subject == "disk");
  CHECK(there.text.find(folder.path()) != std::string::npos);
  CHECK(missing.text.find(folder.path()) != std::string::npos);
  CHECK(missing.text.find(folder / "a") == std::string::npos);
}

TEST_CASE("a clock that was never set is a failure") {
  CHECK(gpl::host::judge_clock(Instant{1'704'067'200'000}) ==
        Finding{Level::ok, "clock", "2024-01-01 00:00 UTC"});
  const Finding past = gpl::host::judge_clock(Instant{0});
  CHECK(past.level == Level::fail);
  CHECK(past.text.starts_with("it says 1970-01-01 00:00 UTC"));
}

TEST_CASE("few open files are warned of") {
  CHECK(gpl::host::judge_open_files(1023).level == Level::warn);
  CHECK(gpl::host::judge_open_files(1024) == Finding{Level::ok, "open files", "at most 1024"});
  CHECK(gpl::host::judge_open_files(std::numeric_limits<std::uint64_t>::max()) ==
        Finding{Level::ok, "open files", "no limit"});
}

TEST_CASE("running as root is said") {
  CHECK(gpl::host::judge_user(root).level == Level::warn);
  CHECK(gpl::host::judge_user(ana) == Finding{Level::ok, "user", "ana"});
}

TEST_CASE("lingering is advised where systemd would end what a user started") {
  const TemporaryFolder folder;
  CHECK(gpl::host::check_lingering(ana, folder.path()).level == Level::ok);
  folder.write("run/systemd/system/x", "");
  const Finding off = gpl::host::check_lingering(ana, folder.path());
  CHECK(off.level == Level::warn);
  CHECK(off.text.ends_with("loginctl enable-linger ana"));
  CHECK(gpl::host::check_lingering(root, folder.path()).level == Level::ok);
  folder.write("var/lib/systemd/linger/bob", "");
  CHECK(gpl::host::check_lingering(ana, folder.path()).level == Level::warn);
  folder.write("var/lib/systemd/linger/ana", "");
  CHECK(gpl::host::check_lingering(ana, folder.path()) ==
        Finding{Level::ok, "lingering", "on: a logout ends nothing"});
}

TEST_CASE("a set-up without a peer is fine, and says so") {
  const TemporaryFolder folder;
  const auto findings =
      gpl::host::check_set_up({folder / "configuration", folder / "state"}, false);
  std::vector<std::string> subjects;
  for (const Finding& finding : findings) {
    CHECK_MESSAGE(finding.level == Level::ok, finding.text);
    subjects.push_back(finding.subject);
  }
  CHECK(subjects == std::vector<std::string>{"configuration", "key", "state", "peer"});
  CHECK(findings.back().text.starts_with("none answers on this machine"));
  CHECK(gpl::host::check_set_up({folder / "c", folder / "s"}, true).back().text ==
        "one answers on this machine");
}

TEST_CASE("the process is looked at with its machine") {
  const TemporaryFolder folder;
  const auto findings = gpl::host::check_process(ana, Instant{0}, folder.path());
  REQUIRE(findings.size() == 4);
  CHECK(findings[0].level == Level::fail);
  CHECK(findings[1].subject == "open files");
  CHECK(findings[2].text == "ana");
  CHECK(findings[3].text == "no systemd here: a logout ends nothing");
}
