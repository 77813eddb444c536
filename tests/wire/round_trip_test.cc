#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "all_fields.h"
#include "arbitrary.h"
#include "same.h"

namespace gpl::wire {
namespace {

/// Encodes and decodes; the same must come out, and the same bytes from it.
template <class T>
bool comes_back(const T& value) {
  const std::string bytes = encode(value);
  const Result<T> decoded = decode<T>(bytes);
  if (!decoded.ok()) MESSAGE(decoded.error().message);
  return decoded.ok() && same(decoded.value(), value) && encode(decoded.value()) == bytes;
}

TEST_CASE_TEMPLATE("whatever a value holds comes back from its bytes", T, GPL_TOP_LEVEL_TYPES,
                   GPL_CONVERSATION_TYPES) {
  CHECK(rc::check([](std::uint64_t seed) {
    Prng random(seed);
    RC_ASSERT(comes_back(arbitrary<T>(random)));
  }));
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Prng random(seed);
    REQUIRE_MESSAGE(comes_back(arbitrary<T>(random)), "seed " << seed);
  }
}

TEST_CASE_TEMPLATE("every alternative comes back", T, Command, StatePart, WorkerToLeader,
                   LeaderToWorker, raft::Body, JobShape, Outcome, Question, Answer, PeerToKeeper,
                   KeeperToPeer, LinkMessage) {
  // Alternatives of what is within: by way of the top level.
  std::set<std::size_t> seen;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Prng random(seed);
    T value = arbitrary<T>(random);
    seen.insert(value.index());
    bool back = false;
    if constexpr (std::is_same_v<T, raft::Body>) {
      back = comes_back(raft::Message{raft::NodeId{1}, raft::NodeId{2}, 3, std::move(value)});
    } else if constexpr (std::is_same_v<T, JobShape>) {
      command::Submit submit;
      submit.job.shape = std::move(value);
      back = comes_back(Command(submit));
    } else if constexpr (std::is_same_v<T, Outcome>) {
      back = comes_back(Command(command::Report{{}, std::move(value), {}, false}));
    } else if constexpr (std::is_same_v<T, Question>) {
      back = comes_back(ClientMessage{7, std::move(value)});
    } else if constexpr (std::is_same_v<T, Answer>) {
      back = comes_back(PeerMessage{7, std::move(value)});
    } else {
      back = comes_back(value);
    }
    REQUIRE(back);
  }
  CHECK(seen.size() == std::variant_size_v<T>);
}

TEST_CASE("strings of every form's length come back") {
  for (const std::size_t size : {0u, 1u, 255u, 256u, 65535u, 65536u, 3000000u}) {
    command::AttemptsLost lost;
    lost.why = std::string(size, '\xc0');
    CHECK(comes_back(Command(lost)));
  }
}

TEST_CASE("lists of every form's length come back") {
  for (const std::size_t size : {0u, 1u, 15u, 16u, 65535u, 65536u}) {
    CHECK(comes_back(std::vector<Command>(size, command::Hold{})));
  }
}

TEST_CASE("numbers at the ends of their types come back") {
  for (const std::int64_t at :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    CHECK(comes_back(Command(command::Hold{JobId{~std::uint64_t{0}}, {at}})));
  }
}

}  // namespace
}  // namespace gpl::wire
