#include "output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace gpl::cmd {

int print(std::string_view text, int failed) {
  ::signal(SIGPIPE, SIG_IGN);
  while (!text.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EPIPE) return 128 + SIGPIPE;
    if (put < 0) {
      std::fprintf(stderr, "gpl: cannot write to standard output: %s\n", std::strerror(errno));
      return failed;
    }
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

void complain(std::string_view words) {
  std::string text = "gpl: ";
  for (bool more = true; more;) {
    const std::size_t end = words.find('\n');
    text += printable(words.substr(0, end)) + "\n";
    more = end != std::string_view::npos;
    if (more) words.remove_prefix(end + 1);
  }
  std::fputs(text.c_str(), stderr);
}

}  // namespace gpl::cmd
