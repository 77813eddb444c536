#pragma once

#include <functional>
#include <string>

namespace gpl::cmd {

/// How a service tells whoever started it that it serves, or why not.
class Announcement {
 public:
  /// To standard error, as a program in the foreground does.
  Announcement() = default;
  /// Through a pipe to the process that waits for it (`detach`).
  explicit Announcement(int pipe) : pipe_(pipe) {}

  /// `lines` without "gpl: "; told once.
  void serving(const std::string& lines);
  void failed(const std::string& words, int exit_code);

 private:
  int pipe_ = -1;
};

/// Runs `serve` in a process of its own, out of reach of the terminal, its stderr in `log_path`.
/// Returns, in this process, once it has announced itself: 0, or the exit code that it gave, its
/// words having been said.
int detach(const std::string& log_path, const std::function<int(Announcement&)>& serve);

/// As process 1 of a container, whose orphans nobody else would wait for: `serve` runs in a child,
/// this process passes signals on to it, waits for whoever ends, and leaves with its exit code.
int serve_as_init(const std::function<int()>& serve);

}  // namespace gpl::cmd
