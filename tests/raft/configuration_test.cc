#include "gpl/raft/configuration.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

namespace gpl::raft {
namespace {

Configuration members(std::vector<std::uint64_t> voters, std::vector<std::uint64_t> learners) {
  Configuration configuration;
  for (const std::uint64_t id : voters) configuration.voters.push_back(NodeId{id});
  for (const std::uint64_t id : learners) configuration.learners.push_back(NodeId{id});
  return configuration;
}

bool is_refused(std::string_view bytes) {
  const Result<Configuration> decoded = decode_configuration(bytes);
  return !decoded && decoded.error().code == Code::invalid;
}

}  // namespace

TEST_CASE("a configuration's bytes are two counts and the ids, little-endian") {
  CHECK(encode(members({}, {})) == std::string(8, '\0'));
  CHECK(encode(members({1, 0x0203}, {4})) == std::string("\2\0\0\0\1\0\0\0"
                                                         "\1\0\0\0\0\0\0\0"
                                                         "\3\2\0\0\0\0\0\0"
                                                         "\4\0\0\0\0\0\0\0",
                                                         32));
}

TEST_CASE("any valid configuration is read back as it was") {
  CHECK(rc::check([](const std::set<std::uint64_t>& ids, const std::set<std::uint64_t>& some) {
    std::vector<std::uint64_t> voters;
    std::vector<std::uint64_t> learners;
    for (const std::uint64_t id : ids) {
      if (id != 0) (some.contains(id % 7) ? voters : learners).push_back(id);
    }
    const Configuration configuration = members(voters, learners);
    const Result<Configuration> decoded = decode_configuration(encode(configuration));
    RC_ASSERT(decoded.ok());
    RC_ASSERT(decoded.value() == configuration);
  }));
}

TEST_CASE("a configuration cut short at any byte, or with bytes after it, is refused") {
  const std::string bytes = encode(members({1, 2}, {3}));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK(is_refused(std::string_view(bytes).substr(0, length)));
  }
  CHECK(is_refused(bytes + std::string(8, '\7')));
}

TEST_CASE("unsorted, doubled, shared and zero ids are refused") {
  CHECK(is_refused(encode(members({2, 1}, {}))));
  CHECK(is_refused(encode(members({1, 1}, {}))));
  CHECK(is_refused(encode(members({}, {5, 4}))));
  CHECK(is_refused(encode(members({1, 2}, {2, 3}))));
  CHECK(is_refused(encode(members({0, 1}, {}))));
}

TEST_CASE("counts that promise more than there is do not make it read or reserve") {
  CHECK(is_refused(std::string(8, '\xff')));
  CHECK(is_refused(std::string(16, '\xff')));
}

TEST_CASE("a majority is more than half of the voters; learners do not count") {
  CHECK(members({1}, {2, 3, 4}).quorum() == 1);
  CHECK(members({1, 2}, {}).quorum() == 2);
  CHECK(members({1, 2, 3}, {}).quorum() == 2);
  CHECK(members({1, 2, 3, 4}, {}).quorum() == 3);
  CHECK(members({1, 2, 3, 4, 5}, {}).quorum() == 3);
}

}  // namespace gpl::raft
