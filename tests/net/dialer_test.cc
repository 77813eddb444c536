#include "gpl/net/dialer.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "forked.h"
#include "run_until.h"
#include "serving.h"
#include "temporary_folder.h"

using namespace gpl;
using net::Dialer;
using net::Listener;

TEST_CASE("dialing where nobody is, or where one may not, is told apart") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  CHECK(dial(*loop, folder / "nothing").error().code == Code::not_found);
  Served served;
  const Listener listener = listen(*loop, folder / "socket", served);
  CHECK(forked([&] {
          if (!become_ordinary_user()) return 1;
          auto own = make_loop();
          const auto refused = dial(*own, folder / "socket");
          if (refused.ok()) return 2;
          return refused.error().code == Code::denied ? 0 : 3;
        }) == (::geteuid() == 0 ? 0 : 2));
}

TEST_CASE("a full queue of a Unix socket is waited for, and given up in the end") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  const posix::Fd owner = bound_socket(path);
  REQUIRE(::listen(owner.get(), 0) == 0);
  CHECK(dial(*loop, path).ok());
  Dialed waiting;
  waiting.dialer = Dialer::unix_socket(*loop, path, failure_stop, waiting.done());
  Dialed gives_up;
  gives_up.dialer = Dialer::unix_socket(*loop, path, milliseconds(30), gives_up.done());
  run_until(*loop, [&] { return gives_up.end.has_value(); });
  CHECK(gives_up.end->error().code == Code::busy);
  CHECK_FALSE(waiting.end.has_value());
  const posix::Fd first(::accept4(owner.get(), nullptr, nullptr, SOCK_CLOEXEC));
  run_until(*loop, [&] { return waiting.end.has_value(); });
  CHECK(waiting.end->ok());
}

TEST_CASE("a dropped dialer calls nothing, and one may be dropped by its own call") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  Served served;
  const Listener listener = listen(*loop, folder / "socket", served);
  Dialed dropped;
  dropped.dialer = Dialer::unix_socket(*loop, folder / "socket", failure_stop, dropped.done());
  dropped.dialer.reset();
  run_ready(*loop);
  CHECK_FALSE(dropped.end.has_value());

  std::optional<Dialer> own;
  bool called = false;
  own = Dialer::unix_socket(*loop, folder / "socket", failure_stop, [&](Result<posix::Fd> socket) {
    own.reset();
    called = socket.ok();
  });
  run_until(*loop, [&] { return called; });
}
