#include "gpl/host/device_ledger.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "../forked.h"
#include "../temporary_folder.h"
#include "gpl/host/record.h"

using gpl::Accelerator;
using gpl::Code;
using gpl::DeviceHold;
using gpl::Instant;
using gpl::Placement;
using gpl::Result;
using gpl::host::DeviceLedger;
using gpl::posix::Fd;

namespace {

std::vector<Accelerator> cards(int count) {
  std::vector<Accelerator> all;
  for (int i = 0; i < count; ++i) {
    Accelerator card;
    card.index = i;
    card.id = "cuda:" + std::to_string(i);
    card.uuid = "GPU-" + std::to_string(i);
    card.usable = true;
    all.push_back(std::move(card));
  }
  return all;
}

Placement placement_on(std::vector<int> indices) {
  Placement placement;
  for (const int index : indices) {
    placement.devices.push_back({gpl::AcceleratorKind::cuda, index, ""});
  }
  return placement;
}

DeviceHold job(const std::string& holder) {
  DeviceHold who;
  who.holder = holder;
  who.since = Instant{1'750'000'000'000};
  who.ends_by = Instant{1'750'000'060'000};
  return who;
}

DeviceLedger open_ledger(const std::string& folder) {
  Result<DeviceLedger> ledger = DeviceLedger::open({folder});
  REQUIRE_MESSAGE(ledger.ok(), (ledger.ok() ? "" : ledger.error().message));
  return std::move(ledger).value();
}

std::vector<Fd> take(const DeviceLedger& ledger, const Placement& placement,
                     const std::string& holder) {
  Result<std::vector<Fd>> locks = ledger.take(placement, cards(4), job(holder));
  REQUIRE_MESSAGE(locks.ok(), (locks.ok() ? "" : locks.error().message));
  return std::move(locks).value();
}

// A folder as /run/lock is: open to all.
class LockFolder : public TemporaryFolder {
 public:
  LockFolder() { REQUIRE(::chmod(path().c_str(), 01777) == 0); }
  std::string device_folder(int index) const {
    return *this / ("gpl-devices/GPU-" + std::to_string(index) + ".d");
  }
};

std::size_t files_in(const std::string& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

// Runs until it is told to end, by a pipe, or killed; tells its parent when `body` is done.
class OtherProcess {
 public:
  template <class Body>
  explicit OtherProcess(Body body) {
    std::array<int, 2> told{};
    REQUIRE(::pipe(told.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::alarm(60);
      ::close(told[0]);
      const auto kept = body();
      if (::write(told[1], kept.empty() ? "-" : "+", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(told[1]);
    char answer = 0;
    REQUIRE(::read(told[0], &answer, 1) == 1);
    ::close(told[0]);
    succeeded_ = answer == '+';
  }
  ~OtherProcess() { kill_and_wait(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  bool succeeded() const { return succeeded_; }
  void kill_and_wait() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool succeeded_ = false;
};

std::vector<Fd> taken_or_none(const std::string& folder, const Placement& placement,
                              const std::string& holder) {
  Result<DeviceLedger> ledger = DeviceLedger::open({folder});
  if (!ledger.ok()) return {};
  Result<std::vector<Fd>> locks = ledger.value().take(placement, cards(4), job(holder));
  return locks.ok() ? std::move(locks).value() : std::vector<Fd>();
}

// A file in a device's folder that somebody has locked, with anything in it.
Fd locked_file(const std::string& path, const std::string& bytes) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(file.valid());
  REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(::flock(file.get(), LOCK_EX | LOCK_NB) == 0);
  return file;
}

}  // namespace

TEST_CASE("the account is made open to all users, and used again by the next") {
  const LockFolder folder;
  const mode_t before = ::umask(077);
  open_ledger(folder.path());
  const std::vector<Fd> locks = take(open_ledger(folder.path()), placement_on({0}), "job 1");
  ::umask(before);
  CHECK(mode_of(folder / "gpl-devices") == 01777);
  CHECK(mode_of(folder.device_folder(0)) == 01777);
  for (const auto& entry : std::filesystem::directory_iterator(folder.device_folder(0))) {
    CHECK(mode_of(entry.path().string()) == 0644);
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("nothing is held of devices that nobody took") {
  const LockFolder folder;
  CHECK(open_ledger(folder.path()).holds(cards(2)).empty());
}

TEST_CASE("a hold says who has what, and ends when its descriptor is closed") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  {
    const std::vector<Fd> locks = take(ledger, placement_on({1, 2}), "job 12 of ana");
    CHECK(locks.size() == 2);
    DeviceHold expected = job("job 12 of ana");
    expected.index = 1;
    const std::vector<DeviceHold> holds = open_ledger(folder.path()).holds(cards(4));
    REQUIRE(holds.size() == 2);
    CHECK(holds[0] == expected);
    CHECK(holds[1].index == 2);
  }
  CHECK(ledger.holds(cards(4)).empty());
  CHECK(files_in(folder.device_folder(1)) == 0);
}

TEST_CASE("shares of a card and its slices are told apart and add up") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  Placement part = placement_on({0});
  part.shared_memory_bytes = 10'000'000'000;
  const std::vector<Fd> one = take(ledger, part, "job 1");
  part.shared_memory_bytes = 4'000'000'000;
  const std::vector<Fd> two = take(ledger, part, "job 2");
  Placement slice = placement_on({3});
  slice.devices[0].slice = "MIG-a";
  const std::vector<Fd> three = take(ledger, slice, "job 3");
  const std::vector<DeviceHold> holds = ledger.holds(cards(4));
  REQUIRE(holds.size() == 3);
  CHECK(*holds[0].shared_memory_bytes + *holds[1].shared_memory_bytes == 14'000'000'000);
  CHECK(holds[2].slice == "MIG-a");
  CHECK_FALSE(holds[2].shared_memory_bytes);
}

TEST_CASE("another process's hold is seen, and is over when that process is killed") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  OtherProcess other([&] { return taken_or_none(folder.path(), placement_on({0}), "job 7"); });
  REQUIRE(other.succeeded());
  const std::vector<DeviceHold> holds = ledger.holds(cards(1));
  REQUIRE(holds.size() == 1);
  CHECK(holds[0].holder == "job 7");
  other.kill_and_wait();
  CHECK(files_in(folder.device_folder(0)) == 1);
  CHECK(ledger.holds(cards(1)).empty());
  CHECK(files_in(folder.device_folder(0)) == 0);
}

TEST_CASE("a hold lasts while a child keeps the descriptor") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  std::vector<Fd> locks = take(ledger, placement_on({0}), "job 1");
  OtherProcess guard([&] { return std::vector<int>{1}; });
  locks.clear();
  CHECK(ledger.holds(cards(1)).size() == 1);
  guard.kill_and_wait();
  CHECK(ledger.holds(cards(1)).empty());
}

TEST_CASE("holds of two users are seen by both, and neither ends the other's") {
  if (::geteuid() != 0) return;
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  const std::vector<Fd> own = take(ledger, placement_on({0}), "job 1 of root");
  OtherProcess other([&] {
    if (!become_ordinary_user()) return std::vector<Fd>();
    return taken_or_none(folder.path(), placement_on({0, 1}), "job 2 of nobody");
  });
  REQUIRE(other.succeeded());
  CHECK(ledger.holds(cards(2)).size() == 3);
  const int seen_by_nobody = forked([&] {
    if (!become_ordinary_user()) return 90;
    Result<DeviceLedger> theirs = DeviceLedger::open({folder.path()});
    return theirs.ok() ? static_cast<int>(theirs.value().holds(cards(2)).size()) : 91;
  });
  CHECK(seen_by_nobody == 3);
}

TEST_CASE("another user's leftover means nothing, though only its owner can take it away") {
  if (::geteuid() != 0) return;
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  { const std::vector<Fd> left = take(ledger, placement_on({0}), "job 1 of root"); }
  const int seen_by_nobody = forked([&] {
    if (!become_ordinary_user()) return 90;
    Result<DeviceLedger> theirs = DeviceLedger::open({folder.path()});
    if (!theirs.ok()) return 91;
    const bool nothing_held = theirs.value().holds(cards(1)).empty();
    const bool can_take = theirs.value().take(placement_on({0}), cards(1), job("job 2")).ok();
    return nothing_held && can_take ? 0 : 1;
  });
  CHECK(seen_by_nobody == 0);
  CHECK(files_in(folder.device_folder(0)) == 2);
  CHECK(ledger.holds(cards(1)).empty());
  CHECK(files_in(folder.device_folder(0)) == 0);
}

TEST_CASE("only one process places at a time") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  {
    const Result<Fd> turn = ledger.begin_placing();
    REQUIRE(turn.ok());
    const Result<Fd> second = open_ledger(folder.path()).begin_placing();
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().code == Code::busy);
    const int in_another = forked([&] {
      Result<DeviceLedger> theirs = DeviceLedger::open({folder.path()});
      return theirs.ok() && !theirs.value().begin_placing().ok() ? 0 : 1;
    });
    CHECK(in_another == 0);
  }
  CHECK(ledger.begin_placing().ok());
}

TEST_CASE("a placement of a device that is not there takes nothing") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  const Result<std::vector<Fd>> locks = ledger.take(placement_on({0, 9}), cards(1), job("job 1"));
  REQUIRE_FALSE(locks.ok());
  CHECK(locks.error().code == Code::invalid);
  CHECK(ledger.holds(cards(1)).empty());
}

TEST_CASE("a locked file of any content holds its device whole") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  { const std::vector<Fd> made = take(ledger, placement_on({0}), "job 1"); }
  const std::string path = folder.device_folder(0) + "/1-1-1";
  for (const std::string& bytes :
       {std::string(), std::string("no record"), std::string("slice=MIG-a\0", 12),
        std::string("holder=job 1\0shared_memory_bytes=1", 34), std::string(200'000, 'x'),
        std::string(10, '\0')}) {
    std::filesystem::remove(path);
    const Fd file = locked_file(path, bytes);
    const std::vector<DeviceHold> holds = ledger.holds(cards(1));
    REQUIRE(holds.size() == 1);
    CHECK(holds[0].holder == "another process");
    CHECK(holds[0].slice == "");
    CHECK_FALSE(holds[0].shared_memory_bytes);
  }
}

TEST_CASE("a hold's words are one line, however they were written") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  const std::vector<Fd> locks =
      take(ledger, placement_on({0}), "job\x1b[2J 1\nof ana " + std::string(500, 'x'));
  const std::vector<DeviceHold> holds = ledger.holds(cards(1));
  REQUIRE(holds.size() == 1);
  CHECK(holds[0].holder.starts_with("job?[2J 1?of ana xxx"));
  CHECK(holds[0].holder.size() <= 120);
}

TEST_CASE("numbers that cannot be are not believed") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  { const std::vector<Fd> made = take(ledger, placement_on({0}), "job 1"); }
  gpl::host::Record record;
  record.add("holder", "job 2");
  record.add("since_ms", "-5");
  record.add("ends_by_ms", "99999999999999999999999");
  record.add("shared_memory_bytes", "-1");
  const Fd file = locked_file(folder.device_folder(0) + "/1-1-1", record.encode());
  const std::vector<DeviceHold> holds = ledger.holds(cards(1));
  REQUIRE(holds.size() == 1);
  CHECK(holds[0].holder == "job 2");
  CHECK_FALSE(holds[0].since);
  CHECK_FALSE(holds[0].ends_by);
  CHECK_FALSE(holds[0].shared_memory_bytes);
}

TEST_CASE("pipes, links, folders and huge files in a device's folder neither hold it nor hang") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  { const std::vector<Fd> made = take(ledger, placement_on({0}), "job 1"); }
  const std::string there = folder.device_folder(0);
  REQUIRE(::mkfifo((there + "/fifo").c_str(), 0666) == 0);
  const Fd fifo(::open((there + "/fifo").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::flock(fifo.get(), LOCK_EX | LOCK_NB) == 0);
  const Fd target = locked_file(folder / "elsewhere", "holder=job 9");
  REQUIRE(::symlink((folder / "elsewhere").c_str(), (there + "/link").c_str()) == 0);
  REQUIRE(::symlink("/dev/zero", (there + "/zero").c_str()) == 0);
  REQUIRE(::mkdir((there + "/folder").c_str(), 0777) == 0);
  const Fd huge(::open((there + "/huge").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(::ftruncate(huge.get(), off_t{1} << 40) == 0);
  CHECK(ledger.holds(cards(1)).empty());
  CHECK(std::filesystem::exists(folder / "elsewhere"));
  const std::vector<Fd> locks = take(ledger, placement_on({0}), "job 2");
  CHECK(ledger.holds(cards(1)).size() == 1);
}

TEST_CASE("a folder that is not open to all users is refused, and says so") {
  const LockFolder folder;
  REQUIRE(::mkdir((folder / "gpl-devices").c_str(), 0700) == 0);
  for (const mode_t mode : {0700U, 0777U, 01755U}) {
    REQUIRE(::chmod((folder / "gpl-devices").c_str(), mode) == 0);
    const Result<DeviceLedger> ledger = DeviceLedger::open({folder.path()});
    REQUIRE_FALSE(ledger.ok());
    CHECK(ledger.error().code == Code::denied);
    CHECK(ledger.error().message.find("1777") != std::string::npos);
  }
}

TEST_CASE("a device's folder that is not open to all users is refused") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  REQUIRE(::mkdir(folder.device_folder(0).c_str(), 0755) == 0);
  CHECK_FALSE(ledger.take(placement_on({0}), cards(1), job("job 1")).ok());
}

TEST_CASE("links in the place of the folders are not followed") {
  const LockFolder folder;
  const LockFolder outside;
  REQUIRE(::symlink(outside.path().c_str(), (folder / "gpl-devices").c_str()) == 0);
  CHECK_FALSE(DeviceLedger::open({folder.path()}).ok());
  REQUIRE(::unlink((folder / "gpl-devices").c_str()) == 0);
  const DeviceLedger ledger = open_ledger(folder.path());
  REQUIRE(::symlink(outside.path().c_str(), folder.device_folder(0).c_str()) == 0);
  CHECK_FALSE(ledger.take(placement_on({0}), cards(1), job("job 1")).ok());
  CHECK(outside.empty());
}

TEST_CASE("the account goes where it can be made, and stays where it is") {
  const LockFolder closed;
  const LockFolder open;
  const std::string missing = closed / "missing";
  const DeviceLedger ledger = [&] {
    Result<DeviceLedger> made = DeviceLedger::open({missing, open.path()});
    REQUIRE(made.ok());
    return std::move(made).value();
  }();
  const std::vector<Fd> locks = take(ledger, placement_on({0}), "job 1");
  REQUIRE(::mkdir(missing.c_str(), 01777) == 0);
  const Result<DeviceLedger> later = DeviceLedger::open({missing, open.path()});
  REQUIRE(later.ok());
  CHECK(later.value().holds(cards(1)).size() == 1);
}

TEST_CASE("without a folder to use, both reasons are told") {
  const LockFolder folder;
  const Result<DeviceLedger> ledger = DeviceLedger::open({folder / "a", folder / "b"});
  REQUIRE_FALSE(ledger.ok());
  CHECK(ledger.error().message.find("/a/gpl-devices") != std::string::npos);
  CHECK(ledger.error().message.find("/b/gpl-devices") != std::string::npos);
}

TEST_CASE("a device without a UUID is known by its number, and a slash in a name stays in it") {
  const LockFolder folder;
  const DeviceLedger ledger = open_ledger(folder.path());
  std::vector<Accelerator> odd = cards(2);
  odd[0].uuid.clear();
  odd[1].uuid = "../../GPU";
  Result<std::vector<Fd>> locks = ledger.take(placement_on({0, 1}), odd, job("job 1"));
  REQUIRE(locks.ok());
  CHECK(ledger.holds(odd).size() == 2);
  CHECK(std::filesystem::exists(folder / "gpl-devices/cuda:0.d"));
  CHECK(std::filesystem::exists(folder / "gpl-devices/..-..-GPU.d"));
}
