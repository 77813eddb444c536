#include "gpl/host/keeper_journal.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "temporary_folder.h"

using namespace gpl;
using host::KeeperJournal;
using Exit = KeeperJournal::Exit;

namespace {

Fence fence(std::uint64_t number) { return {1, AttemptId{number}}; }

Exit exit_of(std::uint64_t number, Outcome outcome = Exited{3}) {
  Exit exit;
  exit.job = JobId{number + 100};
  exit.task = TaskId{number + 200};
  exit.ended = {fence(number), Instant{5}, std::move(outcome), Instant{7}, false};
  return exit;
}

KeeperJournal open_in(const TemporaryFolder& folder) {
  Result<KeeperJournal> journal = KeeperJournal::open(folder.fd());
  REQUIRE(journal.ok());
  return std::move(journal).value();
}

std::vector<std::uint64_t> numbers_in(const TemporaryFolder& folder) {
  const auto content = KeeperJournal::read(folder.fd());
  REQUIRE(content.ok());
  std::vector<std::uint64_t> numbers;
  for (const auto& [fence, exit] : content.value().exits) numbers.push_back(fence.attempt.value);
  return numbers;
}

ino_t inode_of(const std::string& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

/// Ends after three exits, of which one is acknowledged and one discarded, and a fourth.
std::string some_bytes(const TemporaryFolder& folder) {
  KeeperJournal journal = open_in(folder);
  REQUIRE(journal.keep({exit_of(1)}).ok());
  REQUIRE(journal.keep({exit_of(2), exit_of(3, Lost{"why"})}).ok());
  journal.acknowledged(fence(2));
  journal.discarded(fence(1));
  REQUIRE(journal.keep({exit_of(4, Signalled{9, false})}).ok());
  return folder.read("exits");
}

}  // namespace

TEST_CASE("what was kept is there for the next keeper, with what was said of it since") {
  TemporaryFolder folder;
  const std::string bytes = some_bytes(folder);
  KeeperJournal journal = open_in(folder);
  const KeeperJournal::Content content = journal.take_content();
  REQUIRE(content.exits.size() == 3);
  Exit second = exit_of(2);
  second.acknowledged = true;
  CHECK(content.exits.at(fence(2)) == second);
  CHECK(content.exits.at(fence(3)) == exit_of(3, Lost{"why"}));
  CHECK(content.exits.at(fence(4)) == exit_of(4, Signalled{9, false}));
  CHECK(content.discarded == std::set<Fence>{fence(1)});
  REQUIRE(journal.keep({exit_of(5)}).ok());
  CHECK(numbers_in(folder) == std::vector<std::uint64_t>{2, 3, 4, 5});
}

TEST_CASE(
    "a journal that is cut at any byte has what came before the cut, and goes on from there") {
  TemporaryFolder whole;
  const std::string bytes = some_bytes(whole);
  const std::string used = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
  REQUIRE(used.size() > 200);
  std::size_t most = 0;
  for (std::size_t length = 0; length <= used.size(); ++length) {
    TemporaryFolder folder;
    // As after a power failure: the rest of the file is as it was written ahead.
    std::string cut = used.substr(0, length);
    cut.resize(bytes.size());
    folder.write("exits", cut);
    const auto before = KeeperJournal::read(folder.fd());
    REQUIRE(before.ok());
    // What is told is what was kept, or nothing: never another outcome.
    for (const auto& [attempt, exit] : before.value().exits) {
      if (attempt == fence(3)) CHECK(exit.ended == exit_of(3, Lost{"why"}).ended);
      if (attempt == fence(1)) CHECK(exit.ended == exit_of(1).ended);
    }
    most = std::max(most, before.value().exits.size());
    KeeperJournal journal = open_in(folder);
    CHECK(journal.take_content() == before.value());
    REQUIRE(journal.keep({exit_of(9)}).ok());
    auto expected = before.value();
    expected.exits[fence(9)] = exit_of(9);
    const auto after = KeeperJournal::read(folder.fd());
    CHECK((after.ok() && after.value() == expected));
  }
  CHECK(most == 3);
}

TEST_CASE("a byte that changed ends the journal before its frame") {
  TemporaryFolder whole;
  const std::string bytes = some_bytes(whole);
  const std::size_t used = bytes.find_last_not_of('\0') + 1;
  for (std::size_t at = 16; at < used; ++at) {
    TemporaryFolder folder;
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    folder.write("exits", changed);
    const std::vector<std::uint64_t> numbers = numbers_in(folder);
    CHECK((numbers.empty() || numbers.back() < 4));
  }
}

TEST_CASE("a frame that was lost takes those after it along, also when another takes its place") {
  TemporaryFolder folder;
  {
    KeeperJournal journal = open_in(folder);
    REQUIRE(journal.keep({exit_of(1)}).ok());
  }
  const std::string synced = folder.read("exits");
  const std::size_t end = synced.find_last_not_of('\0') + 1;
  {
    KeeperJournal journal = open_in(folder);
    journal.acknowledged(fence(1));  // 29 bytes
    REQUIRE(journal.keep({exit_of(2)}).ok());
  }
  // Of what came after the sync only the later part has reached the disk.
  std::string lost = folder.read("exits");
  const std::size_t frame = 4 + 8 + 17;
  lost.replace(end, frame, frame, '\0');
  folder.write("exits", lost);
  CHECK(numbers_in(folder) == std::vector<std::uint64_t>{1});
  KeeperJournal journal = open_in(folder);
  journal.discarded(fence(1));  // as long
  CHECK(numbers_in(folder).empty());
  CHECK(folder.read("exits").substr(end + frame) == lost.substr(end + frame));
}

TEST_CASE("what is no journal is as none, and is replaced") {
  TemporaryFolder folder;
  for (const std::string& bytes :
       {std::string(), std::string("gplexit1"), std::string(4096, 'x')}) {
    folder.write("exits", bytes);
    KeeperJournal journal = open_in(folder);
    CHECK(journal.take_content().exits.empty());
    REQUIRE(journal.keep({exit_of(1)}).ok());
    CHECK(numbers_in(folder) == std::vector<std::uint64_t>{1});
  }
}

TEST_CASE("a journal that is full is written anew, without what was discarded") {
  TemporaryFolder folder;
  KeeperJournal journal = open_in(folder);
  REQUIRE(journal.keep({exit_of(1)}).ok());
  const ino_t first = inode_of(folder / "exits");
  const auto size = std::filesystem::file_size(folder / "exits");
  for (std::uint64_t i = 2; inode_of(folder / "exits") == first; ++i) {
    REQUIRE(i < 20'000);
    REQUIRE(journal.reserve(1).ok());
    REQUIRE(journal.keep({exit_of(i)}).ok());
    journal.acknowledged(fence(i));
    journal.discarded(fence(i));
  }
  CHECK(std::filesystem::file_size(folder / "exits") == size);
  CHECK(::access((folder / "exits.part").c_str(), F_OK) != 0);
  const auto numbers = numbers_in(folder);
  REQUIRE_FALSE(numbers.empty());
  CHECK(numbers.front() == 1);
  CHECK(numbers.size() <= 2);
}

TEST_CASE("a journal is tidied while nobody waits, before it is full") {
  TemporaryFolder folder;
  KeeperJournal journal = open_in(folder);
  const ino_t first = inode_of(folder / "exits");
  journal.tidy();
  CHECK(inode_of(folder / "exits") == first);
  const std::string words(1000, 'w');
  for (std::uint64_t i = 1; inode_of(folder / "exits") == first; ++i) {
    REQUIRE(i < 230);
    REQUIRE(journal.keep({exit_of(i, Lost{words})}).ok());
    journal.discarded(fence(i));
    journal.tidy();
  }
  CHECK(numbers_in(folder).empty());
}

TEST_CASE("what is reserved stays free for exits, whatever else is noted") {
  TemporaryFolder folder;
  KeeperJournal journal = open_in(folder);
  std::vector<Exit> many;
  for (std::uint64_t i = 1; i <= 3000; ++i) many.push_back(exit_of(i));
  REQUIRE(journal.keep(many).ok());
  REQUIRE(journal.reserve(8).ok());
  const ino_t inode = inode_of(folder / "exits");
  for (std::uint64_t i = 1; i <= 3000; ++i) journal.acknowledged(fence(i));
  std::vector<Exit> last;
  for (std::uint64_t i = 1; i <= 8; ++i)
    last.push_back(exit_of(5000 + i, Lost{std::string(4000, 'w')}));
  REQUIRE(journal.keep(last).ok());
  CHECK(inode_of(folder / "exits") == inode);
  CHECK(numbers_in(folder).size() == 3008);
}

TEST_CASE("after an error the journal is written anew by the next") {
  TemporaryFolder folder;
  KeeperJournal journal = open_in(folder);
  REQUIRE(journal.keep({exit_of(1)}).ok());
  const std::string limit_path = folder / "exits.part";
  REQUIRE(::mkdir(limit_path.c_str(), 0700) == 0);  // where it would be written anew
  const Exit huge = exit_of(2, Lost{std::string(300'000, 'w')});
  CHECK_FALSE(journal.keep({huge}).ok());
  CHECK(numbers_in(folder) == std::vector<std::uint64_t>{1});
  REQUIRE(journal.keep({exit_of(3)}).ok());
  REQUIRE(::rmdir(limit_path.c_str()) == 0);
  REQUIRE(journal.keep({huge}).ok());
  CHECK(numbers_in(folder) == std::vector<std::uint64_t>{1, 2, 3});
}
