#pragma once

#include <string_view>

namespace gpl::client {

/// What gpl says for itself: whole lines to standard error that begin "gpl: ", and none when quiet.
class Voice {
 public:
  explicit Voice(bool quiet) : quiet_(quiet) {}
  /// `line` without its newline. A control character in it (of a file's name, say) is shown as `?`.
  void say(std::string_view line) const;

 private:
  bool quiet_;
};

}  // namespace gpl::client
