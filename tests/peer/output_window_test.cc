#include "gpl/peer/output_window.h"

#include <doctest/doctest.h>

#include <string>

using namespace gpl;
using namespace gpl::peer;
using wire::OutputStream;

namespace {

constexpr Fence first{1, AttemptId{7}};
constexpr Fence second{1, AttemptId{8}};

wire::Output piece(std::uint64_t offset, std::size_t bytes,
                   OutputStream stream = OutputStream::out) {
  return {{TaskId{0}, first.attempt, stream, offset}, std::string(bytes, 'x'), 0};
}

}  // namespace

TEST_CASE("what is on its way takes room, and what was handed on gives it back") {
  OutputWindow window;
  CHECK(window.room() == wire::follow_window_bytes);
  window.sent(first, piece(0, 1000));
  CHECK(window.room() == wire::follow_window_bytes - 1000);
  OutputWatch::Given given;
  window.taken(400, first, given);
  CHECK(window.room() == wire::follow_window_bytes - 600);
  window.taken(600, first, given);
  CHECK(window.room() == wire::follow_window_bytes);
}

TEST_CASE("a piece counts as given once all of it was handed on") {
  OutputWindow window;
  OutputWatch::Given given{100, 5};
  window.sent(first, piece(100, 50));
  window.sent(first, piece(5, 20, OutputStream::err));
  window.taken(49, first, given);
  CHECK(given.out_bytes == 100);
  window.taken(1, first, given);
  CHECK(given.out_bytes == 150);
  CHECK(given.err_bytes == 5);
  window.taken(20, first, given);
  CHECK(given.err_bytes == 25);
}

TEST_CASE("what was handed on of an earlier attempt says nothing of this one") {
  OutputWindow window;
  OutputWatch::Given given;
  window.sent(first, piece(0, 70));
  window.sent(second, piece(0, 30));
  window.taken(70, second, given);
  CHECK(given.out_bytes == 0);
  window.taken(30, second, given);
  CHECK(given.out_bytes == 30);
}

TEST_CASE("who claims to have handed on more than was sent gains nothing") {
  OutputWindow window;
  OutputWatch::Given given;
  window.taken(1'000'000, first, given);
  window.sent(first, piece(0, 10));
  CHECK(window.room() == wire::follow_window_bytes - 10);
  CHECK(given.out_bytes == 0);
}

TEST_CASE("an empty piece, of a stream that ends in what was dropped, tells where it ends") {
  OutputWindow window;
  OutputWatch::Given given;
  window.sent(first, piece(0, 10));
  window.sent(first, piece(500, 0));
  window.taken(10, first, given);
  CHECK(given.out_bytes == 500);
}
