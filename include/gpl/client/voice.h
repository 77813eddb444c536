#pragma once

#include <string_view>

namespace gpl::client {

/// What gpl says for itself: whole lines to standard error that begin "gpl: ".
class Voice {
 public:
  explicit Voice(bool quiet) : quiet_(quiet) {}
  /// What is good to know; nothing when quiet. `line` is without its newline. A control character
  /// in it (of a file's name, say) is shown as `?`.
  void say(std::string_view line) const;
  /// What went wrong: quiet or not.
  void complain(std::string_view line) const;

 private:
  bool quiet_;
};

}  // namespace gpl::client
