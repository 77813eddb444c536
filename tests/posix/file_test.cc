#include "gpl/posix/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "../forked.h"
#include "../temporary_folder.h"
#include "gpl/posix/error.h"

using gpl::Code;
using gpl::posix::Durability;
using gpl::posix::io_error;
using gpl::posix::make_folders;
using gpl::posix::make_pipe;
using gpl::posix::open_folder;
using gpl::posix::read_file_at;
using gpl::posix::replace_file_at;
using gpl::posix::write_all;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::string many_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

}  // namespace

TEST_CASE("an error of a call says what failed and why, and is classed by its errno") {
  CHECK(io_error("cannot open x", ENOENT).message == "cannot open x: No such file or directory");
  CHECK(io_error("x", ENOENT).code == Code::not_found);
  CHECK(io_error("x", ENOTDIR).code == Code::not_found);
  CHECK(io_error("x", EACCES).code == Code::denied);
  CHECK(io_error("x", EPERM).code == Code::denied);
  CHECK(io_error("x", EROFS).code == Code::denied);
  CHECK(io_error("x", EAGAIN).code == Code::busy);
  CHECK(io_error("x", ENOSPC).code == Code::io);
  CHECK(io_error("x", 99999).message == "x: error 99999");
}

TEST_CASE("a file is read whole, byte for byte") {
  const TemporaryFolder folder;
  for (const std::size_t size : {0U, 1U, 16383U, 16384U, 16385U, 300000U}) {
    const std::string bytes = many_bytes(size);
    folder.write("f", bytes);
    const auto read = read_file_at(folder.fd(), "f", size);
    REQUIRE(read.ok());
    CHECK(read.value() == bytes);
  }
}

TEST_CASE("a file that is one byte too large is refused") {
  const TemporaryFolder folder;
  folder.write("f", many_bytes(20001));
  const auto read = read_file_at(folder.fd(), "f", 20000);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == Code::too_large);
}

TEST_CASE("a missing file is not found, and the message names it") {
  const TemporaryFolder folder;
  const auto read = read_file_at(folder.fd(), "absent", 10);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == Code::not_found);
  CHECK(read.error().message == "cannot open absent: No such file or directory");
}

TEST_CASE("a folder read as a file is an error") {
  const TemporaryFolder folder;
  CHECK_FALSE(read_file_at(AT_FDCWD, folder.path(), 10).ok());
}

TEST_CASE("a replaced file has the new bytes, mode 0600, and nothing is left beside it") {
  const TemporaryFolder folder;
  folder.write("f", "old and longer", 0644);
  for (const Durability durability : {Durability::none, Durability::synced}) {
    REQUIRE(replace_file_at(folder.fd(), "f", std::string("n\0w", 3), durability).ok());
    CHECK(folder.read("f") == std::string("n\0w", 3));
    CHECK(mode_of(folder / "f") == 0600);
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a file that cannot be written whole keeps its old content") {
  const TemporaryFolder folder;
  folder.write("f", "old");
  CHECK(forked([&] {
          const rlimit limit{1000, 1000};
          ::signal(SIGXFSZ, SIG_IGN);
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
          const gpl::Status status = replace_file_at(folder.fd(), "f", many_bytes(5000));
          return !status.ok() && status.error().message.starts_with("f: ") ? 0 : 2;
        }) == 0);
  CHECK(folder.read("f") == "old");
  CHECK_FALSE(std::filesystem::exists(folder / "f.part"));
}

TEST_CASE("replacing never writes through a link of the temporary name") {
  const TemporaryFolder folder;
  folder.write("victim", "safe");
  REQUIRE(::symlink("victim", (folder / "f.part").c_str()) == 0);
  CHECK_FALSE(replace_file_at(folder.fd(), "f", "bad").ok());
  CHECK(folder.read("victim") == "safe");
}

TEST_CASE("all bytes are written, through short writes") {
  auto pipe = make_pipe();
  REQUIRE(pipe.ok());
  const std::string bytes = many_bytes(1'000'000);
  std::string got;
  std::thread reader([&] {
    char chunk[1000];
    for (ssize_t n = 0; (n = ::read(pipe.value().read.get(), chunk, sizeof chunk)) > 0;) {
      got.append(chunk, static_cast<std::size_t>(n));
    }
  });
  const bool ok = write_all(pipe.value().write.get(), bytes).ok();
  pipe.value().write.reset();
  reader.join();
  CHECK(ok);
  CHECK(got == bytes);
}

TEST_CASE("a failed write is told") {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  const gpl::Status status = write_all(full, "x");
  ::close(full);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message == "cannot write: No space left on device");
}

TEST_CASE("folders are made with all that is missing above them") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(022);
  for (const std::string path : {"a/b/c", "a/b/c", "d//e/", "a/b/f/"}) {
    CAPTURE(path);
    CHECK(make_folders(folder / path, 0700).ok());
    CHECK(std::filesystem::is_directory(folder / path));
  }
  ::umask(before);
  CHECK(mode_of(folder / "a") == 0700);
  CHECK(mode_of(folder / "a/b/c") == 0700);
}

TEST_CASE("a folder cannot be made below a file") {
  const TemporaryFolder folder;
  folder.write("file", "");
  const gpl::Status status = make_folders(folder / "file/sub", 0700);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message.find(folder / "file/sub") != std::string::npos);
}

TEST_CASE("a folder cannot be made where a file is") {
  const TemporaryFolder folder;
  folder.write("file", "");
  CHECK_FALSE(make_folders(folder / "file", 0700).ok());
}

TEST_CASE("only a folder can be opened as one") {
  const TemporaryFolder folder;
  folder.write("file", "");
  CHECK(open_folder(folder.path()).ok());
  CHECK(open_folder(folder / "absent").error().code == Code::not_found);
  CHECK_FALSE(open_folder(folder / "file").ok());
}
