#include "gpl/posix/fd.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "../forked.h"

using gpl::posix::Fd;
using gpl::posix::make_pipe;
using gpl::posix::open_missing_stdio;

namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

int open_null() { return ::open("/dev/null", O_RDWR | O_CLOEXEC); }

bool is_null_device(int fd) {
  struct stat here;
  struct stat null;
  return ::fstat(fd, &here) == 0 && ::stat("/dev/null", &null) == 0 && here.st_rdev == null.st_rdev;
}

}  // namespace

TEST_CASE("an Fd closes its descriptor at its end") {
  int number = -1;
  {
    const Fd fd(open_null());
    REQUIRE(fd.valid());
    number = fd.get();
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("an Fd that was moved from owns nothing") {
  Fd from(open_null());
  const int number = from.get();
  Fd to(std::move(from));
  CHECK(to.get() == number);
  CHECK(from.get() == -1);
  CHECK(is_open(number));
}

TEST_CASE("move assignment closes what was held before") {
  Fd one(open_null());
  Fd other(open_null());
  const int first = one.get();
  const int second = other.get();
  one = std::move(other);
  CHECK_FALSE(is_open(first));
  CHECK(one.get() == second);
  CHECK(is_open(second));
}

TEST_CASE("moving an Fd onto itself changes nothing") {
  Fd fd(open_null());
  const int number = fd.get();
  Fd& same = fd;
  fd = std::move(same);
  CHECK(fd.get() == number);
  CHECK(is_open(number));
}

TEST_CASE("release hands the descriptor over open") {
  Fd fd(open_null());
  const int number = fd.release();
  CHECK_FALSE(fd.valid());
  CHECK(is_open(number));
  ::close(number);
}

TEST_CASE("the ends of a pipe carry bytes and are closed on exec") {
  auto pipe = make_pipe();
  REQUIRE(pipe.ok());
  CHECK(::fcntl(pipe.value().read.get(), F_GETFD) == FD_CLOEXEC);
  CHECK(::fcntl(pipe.value().write.get(), F_GETFD) == FD_CLOEXEC);
  REQUIRE(::write(pipe.value().write.get(), "x", 1) == 1);
  char byte = 0;
  CHECK(::read(pipe.value().read.get(), &byte, 1) == 1);
  CHECK(byte == 'x');
}

TEST_CASE("open standard descriptors are left alone") {
  CHECK(forked([] {
          for (int fd = 0; fd <= 2; ++fd) ::dup2(open_null(), fd);
          const int next = open_null();
          ::close(next);
          if (open_missing_stdio() != 0) return 1;
          return open_null() == next ? 0 : 2;
        }) == 0);
}

TEST_CASE("closed standard descriptors become /dev/null and are named in the mask") {
  for (unsigned mask = 1; mask < 8; ++mask) {
    CAPTURE(mask);
    CHECK(forked([mask] {
            for (int fd = 0; fd <= 2; ++fd) {
              if ((mask >> fd & 1U) != 0) ::close(fd);
            }
            if (open_missing_stdio() != mask) return 1;
            for (int fd = 0; fd <= 2; ++fd) {
              if ((mask >> fd & 1U) != 0 && !is_null_device(fd)) return 2;
            }
            return open_null() > 2 ? 0 : 3;
          }) == 0);
  }
}
