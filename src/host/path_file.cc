#include "gpl/host/path_file.h"

#include "gpl/core/ascii.h"

namespace gpl::host {
namespace {

std::string_view without_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

// Takes the next line off `text`, without whitespace at its end: Python strips that alone.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find_first_of("\r\n");
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  while (!line.empty() && is_whitespace(line.back())) line.remove_suffix(1);
  return line;
}

}  // namespace

std::vector<std::string> pth_folders(std::string_view text) {
  std::vector<std::string> folders;
  text = without_mark(text);
  while (!text.empty() && folders.size() < max_path_file_lines) {
    const std::string_view line = next_line(text);
    const bool is_code = line.starts_with("import ") || line.starts_with("import\t");
    const bool is_path = !trimmed(line).empty() && line.front() != '#' && !is_code &&
                         line.find('\0') == std::string_view::npos;
    if (is_path) folders.emplace_back(line);
  }
  return folders;
}

std::string egg_link_folder(std::string_view text) {
  text = without_mark(text);
  const std::string_view line = trimmed(next_line(text));
  return line.find('\0') == std::string_view::npos ? std::string(line) : "";
}

}  // namespace gpl::host
