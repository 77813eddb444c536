#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::host {

/// A small file of KEY=VALUE pairs, each ended by a NUL byte: the form of /proc/PID/environ. Words
/// of a command, names and paths are bytes without NUL, so they go in exactly as they are. A key
/// may come again: a list. `tr '\0' '\n'` shows one to a person.
class Record {
 public:
  /// Requires a key without '=' and NUL. A value is cut at its first NUL.
  void add(std::string_view key, std::string_view value);
  void add(std::string_view key, std::int64_t value);

  /// The first value of `key`, "" when there is none.
  std::string_view get(std::string_view key) const;
  /// `get` as a decimal number; `otherwise` when it is none.
  std::int64_t number(std::string_view key, std::int64_t otherwise = 0) const;
  std::vector<std::string> all(std::string_view key) const;
  /// In the order in which they were added.
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

  std::string encode() const;
  /// Code::invalid for bytes that `encode` cannot have made.
  static Result<Record> decode(std::string_view bytes);

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace gpl::host
