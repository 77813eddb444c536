#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::artifact {

/// An open folder on disk. Everything below it is reached through its descriptor, so a folder that
/// is moved or replaced by a link meanwhile leads nowhere else.
class Folder {
 public:
  struct Name {
    std::string name;
    unsigned char type;  ///< DT_*, DT_UNKNOWN where the file system does not tell
  };

  /// `at`: a folder's descriptor or AT_FDCWD. Error not_found when there is no folder of that name
  /// (a link is none), denied, io.
  static Result<Folder> open(int at, const char* name);

  Folder(Folder&& other) noexcept : stream_(other.stream_), status_(other.status_) {
    other.stream_ = nullptr;
  }
  Folder& operator=(Folder&& other) noexcept {
    std::swap(stream_, other.stream_);
    status_ = other.status_;
    return *this;
  }
  ~Folder();

  int descriptor() const { return dirfd(stream_); }
  const struct stat& status() const { return status_; }
  /// Its names but "." and "..", in no order. To be called once.
  Result<std::vector<Name>> names();

 private:
  explicit Folder(DIR* stream) : stream_(stream) {}

  DIR* stream_;
  struct stat status_ {};
};

/// What a link holds; nothing when it is gone or no link any more.
std::optional<std::string> read_link(int at, const char* name);

}  // namespace gpl::artifact
