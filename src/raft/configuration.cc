#include "gpl/raft/configuration.h"

#include <algorithm>
#include <functional>

namespace gpl::raft {
namespace {

void put(std::string& bytes, std::uint64_t number, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(number >> (8 * i))));
  }
}

/// Requires that many bytes.
std::uint64_t take(std::string_view& bytes, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < width; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(width);
  return number;
}

std::vector<NodeId> take_ids(std::string_view& bytes, std::uint64_t count) {
  std::vector<NodeId> ids;
  ids.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) ids.push_back(NodeId{take(bytes, 8)});
  return ids;
}

bool ascends(const std::vector<NodeId>& ids) {
  return std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end() &&
         (ids.empty() || ids.front() != NodeId{});
}

}  // namespace

bool Configuration::is_voter(NodeId id) const {
  return std::binary_search(voters.begin(), voters.end(), id);
}

bool Configuration::is_learner(NodeId id) const {
  return std::binary_search(learners.begin(), learners.end(), id);
}

bool is_valid(const Configuration& configuration) {
  return ascends(configuration.voters) && ascends(configuration.learners) &&
         std::none_of(configuration.learners.begin(), configuration.learners.end(),
                      [&](NodeId id) { return configuration.is_voter(id); });
}

std::string encode(const Configuration& configuration) {
  std::string bytes;
  bytes.reserve(8 + 8 * (configuration.voters.size() + configuration.learners.size()));
  put(bytes, configuration.voters.size(), 4);
  put(bytes, configuration.learners.size(), 4);
  for (const NodeId id : configuration.voters) put(bytes, id.value, 8);
  for (const NodeId id : configuration.learners) put(bytes, id.value, 8);
  return bytes;
}

Result<Configuration> decode_configuration(std::string_view bytes) {
  if (bytes.size() < 8) return Error{Code::invalid, "a configuration has at least 8 bytes"};
  const std::uint64_t voters = take(bytes, 4);
  const std::uint64_t learners = take(bytes, 4);
  if (bytes.size() % 8 != 0 || bytes.size() / 8 != voters + learners) {
    return Error{Code::invalid, "a configuration's length does not fit its counts"};
  }
  Configuration configuration;
  configuration.voters = take_ids(bytes, voters);
  configuration.learners = take_ids(bytes, learners);
  if (!is_valid(configuration)) {
    return Error{Code::invalid, "a configuration's ids are not ascending, or one is there twice"};
  }
  return configuration;
}

}  // namespace gpl::raft
