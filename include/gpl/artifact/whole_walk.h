#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gpl/artifact/always_path.h"
#include "gpl/artifact/collector.h"

namespace gpl::artifact {

/// The walk without ignore rules: takes one target of --stage, and the folders on the way to it.
class WholeWalk {
 public:
  /// `root` is real and absolute. The arguments must outlive the walk.
  WholeWalk(const std::string& root, Collector& collector) : root_(root), collector_(collector) {}

  Status take(const AlwaysTarget& target);

 private:
  void add_parents(const std::string& path);
  Status folder(Folder& folder, const std::string& path, const std::string& source);

  const std::string& root_;
  Collector& collector_;
  bool with_git_ = false;  ///< the target names a `.git`, or lies in one
  std::vector<std::pair<dev_t, ino_t>> ancestors_;
};

}  // namespace gpl::artifact
