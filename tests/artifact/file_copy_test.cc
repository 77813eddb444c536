#include "gpl/artifact/file_copy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "../temporary_folder.h"

using namespace gpl;
using artifact::FileCopy;
using posix::Fd;

namespace {

struct Files {
  TemporaryFolder folder;
  Fd from;
  Fd to;

  explicit Files(const std::string& content) {
    folder.write("from", content);
    from.reset(::open((folder / "from").c_str(), O_RDWR | O_CLOEXEC));
    to.reset(::open((folder / "to").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
};

std::string bytes(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 131 >> 3);
  return text;
}

}  // namespace

TEST_CASE("files of every size class are copied byte for byte") {
  for (const std::size_t size : {0UL, 1UL, 65536UL, 65537UL, 20UL << 20}) {
    CAPTURE(size);
    Files files(bytes(size));
    REQUIRE(FileCopy(nullptr)
                .copy(files.from.get(), files.to.get(), static_cast<std::int64_t>(size))
                .ok());
    CHECK(files.folder.read("to") == bytes(size));
  }
}

TEST_CASE("no more than asked for is copied of a file that has grown") {
  Files files(bytes(200'000));
  REQUIRE(FileCopy(nullptr).copy(files.from.get(), files.to.get(), 100'000).ok());
  CHECK(files.folder.read("to") == bytes(200'000).substr(0, 100'000));
}

TEST_CASE("a file that has shrunk gives a shorter copy and no invented bytes") {
  for (const std::int64_t asked : {5'000, 500'000}) {
    Files files(bytes(3'000));
    REQUIRE(FileCopy(nullptr).copy(files.from.get(), files.to.get(), asked).ok());
    CHECK(files.folder.read("to") == bytes(3'000));
  }
}

TEST_CASE("holes stay holes, and a sparse file keeps its length") {
  Files files("");
  constexpr off_t size = 64 << 20;
  REQUIRE(::ftruncate(files.from.get(), size) == 0);
  REQUIRE(::pwrite(files.from.get(), "middle", 6, size / 2) == 6);
  REQUIRE(FileCopy(nullptr).copy(files.from.get(), files.to.get(), size).ok());
  struct stat status;
  REQUIRE(::fstat(files.to.get(), &status) == 0);
  CHECK(status.st_size == size);
  CHECK(status.st_blocks * 512 < 1 << 20);
  char middle[6];
  REQUIRE(::pread(files.to.get(), middle, 6, size / 2) == 6);
  CHECK(std::string(middle, 6) == "middle");
}

TEST_CASE("an interrupted copy says so") {
  Files files(bytes(1 << 20));
  const Status copied =
      FileCopy([] { return true; }).copy(files.from.get(), files.to.get(), 1 << 20);
  REQUIRE_FALSE(copied.ok());
  CHECK(copied.error().code == Code::busy);
}

TEST_CASE("a full target is an error") {
  Files files(bytes(100));
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  CHECK_FALSE(FileCopy(nullptr).copy(files.from.get(), full.get(), 100).ok());
}
