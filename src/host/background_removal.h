#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "gpl/host/guard_family.h"

namespace gpl::host {

/// Removes trees in a forked process, one after the other, since a large one takes its time. What
/// is empty goes at once.
class BackgroundRemoval {
 public:
  explicit BackgroundRemoval(GuardFamily& family) : family_(family) {}

  /// `name` in the open folder `at`.
  void remove_tree(int at, std::string name) { trees_.push_back({at, std::move(name)}); }
  /// See TempFolder::remove.
  void remove_temp_folder(std::string path);

  /// Begins with what is to be removed, unless it is still at what came before.
  void step();

 private:
  struct Tree {
    int at = -1;
    std::string name;
  };
  [[noreturn]] void remove_all() const;

  GuardFamily& family_;
  std::vector<Tree> trees_;
  std::vector<std::string> temp_folders_;
  GuardFamily::Child at_work_;
};

}  // namespace gpl::host
