#pragma once

#include <string>
#include <utility>

#include "gpl/core/result.h"

namespace gpl::host {

/// An attempt's private TMPDIR, mode 0700, in the caller's own TMPDIR or /tmp: not in the state
/// folder, whose path is too long for the sockets that programs make in it (sun_path, unix(7)).
class TempFolder {
 public:
  static Result<TempFolder> make();
  /// A path for `make_at`, which nobody has: to be written down before it is made, so that whoever
  /// finds the note can remove it whatever happens in between.
  static std::string plan();
  /// Code::busy when something is there already.
  static Result<TempFolder> make_at(const std::string& path);
  TempFolder(TempFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempFolder& operator=(TempFolder&&) = delete;
  ~TempFolder() { (void)remove(path_); }

  const std::string& path() const { return path_; }
  /// Gives the folder up to the caller, who removes it.
  std::string release() { return std::exchange(path_, {}); }
  /// Removes such a folder with all that is in it, if `path` can be one. No error when it is gone.
  static Status remove(const std::string& path);

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace gpl::host
