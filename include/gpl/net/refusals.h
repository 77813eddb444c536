#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "gpl/core/time.h"
#include "gpl/net/loop.h"

namespace gpl::net {

/// Who was turned away, as notes for a log: the first at once, then those that came since, together
/// and not before `pause` has passed, however many come.
class Refusals {
 public:
  /// `note` may be empty.
  Refusals(Loop& loop, std::function<void(const std::string&)> note, Duration pause = seconds(60));
  void add(const std::string& host, const std::string& why);

 private:
  void tell();

  Loop& loop_;
  std::function<void(const std::string&)> note_;
  Duration pause_;
  Timer quiet_;  ///< pending: too soon for another note
  std::uint64_t count_ = 0;
  std::set<std::string> hosts_;  ///< not all of many
  bool more_hosts_ = false;
  std::string why_;  ///< of the last
};

}  // namespace gpl::net
