#include "fetch_line.h"

#include <algorithm>
#include <cstdio>

#include "gpl/core/size.h"
#include "gpl/posix/clock.h"
#include "output.h"

namespace gpl::cmd {
namespace {

constexpr Duration first_after = milliseconds(500);
constexpr Duration pause = milliseconds(100);
constexpr std::size_t bar_width = 20;

}  // namespace

std::string fetch_words(const std::string& path, std::uint64_t here_bytes, std::uint64_t size_bytes,
                        Duration passed) {
  const std::uint64_t size = std::max(size_bytes, here_bytes);
  const double part = size == 0 ? 1.0 : static_cast<double>(here_bytes) / static_cast<double>(size);
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(bar_width));
  std::string bar(filled, '=');
  if (filled < bar_width) bar += '>';
  bar.resize(bar_width, ' ');
  const double seconds_passed =
      static_cast<double>(std::max<std::int64_t>(passed.count_ms, 1)) / 1000.0;
  const double rate = static_cast<double>(here_bytes) / seconds_passed;
  std::string words = printable(path) + "  " + format_file_size(size) + "  [" + bar + "] " +
                      std::to_string(static_cast<int>(part * 100.0)) + " %  " +
                      format_file_size(static_cast<std::uint64_t>(rate)) + "/s";
  if (rate > 0.0 && here_bytes < size) {
    const double left_ms = static_cast<double>(size - here_bytes) / rate * 1000.0;
    words += "  " + format_short(milliseconds(static_cast<std::int64_t>(left_ms))) + " left";
  }
  return words;
}

void FetchLine::show(const std::string& path, std::uint64_t here_bytes, std::uint64_t size_bytes) {
  if (!on_) return;
  const Instant now = posix::awake_clock();
  if (path != path_) {
    path_ = path;
    began_ = last_ = now;
  }
  if (now - began_ < first_after || now - last_ < pause) return;
  last_ = now;
  shown_ = true;
  const std::string words = fetch_words(path, here_bytes, size_bytes, now - began_);
  std::fprintf(stderr, "\r%s\x1b[K", words.c_str());
}

void FetchLine::clear() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

}  // namespace gpl::cmd
