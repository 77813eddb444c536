#pragma once

#include <cstdint>
#include <string>

#include "gpl/core/time.h"

namespace gpl::cmd {

/// What `gpl get` shows on a terminal while a file takes more than a moment to come:
///
///   ckpt/epoch-3.pt  412 MB  [===========>        ] 61 %  98 MB/s  2s left
class FetchLine {
 public:
  explicit FetchLine(bool on) : on_(on) {}
  /// So many bytes of the file are here.
  void show(const std::string& path, std::uint64_t here_bytes, std::uint64_t size_bytes);
  void clear();

 private:
  bool on_;
  bool shown_ = false;
  std::string path_;
  Instant began_;
  Instant last_;
};

/// The line after `passed` of fetching.
std::string fetch_words(const std::string& path, std::uint64_t here_bytes, std::uint64_t size_bytes,
                        Duration passed);

}  // namespace gpl::cmd
