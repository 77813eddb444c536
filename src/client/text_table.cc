#include "gpl/client/text_table.h"

#include <algorithm>
#include <cassert>

namespace gpl::client {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t note_indent = 7;
constexpr std::size_t least_shown = 12;  // of a cell that is cut

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }

std::vector<std::size_t> widths_of(const TextTable& table) {
  std::vector<std::size_t> widths;
  const auto widen = [&](const std::vector<std::string>& cells) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], shown_width(cells[i]));
  };
  widen(table.header);
  for (const TextTable::Row& row : table.rows) widen(row.cells);
  return widths;
}

std::string all_but_last(const std::vector<std::string>& cells,
                         const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i + 1 < cells.size(); ++i)
    line += cells[i] + std::string(widths[i] - shown_width(cells[i]) + gap, ' ');
  return line;
}

std::string note_line(const std::string& note) {
  return "\n" + std::string(note_indent, ' ') + note;
}

/// The last cell, cut so that its note fits beside it, or else so that it fits alone.
std::string last_and_note(const std::string& last, const std::string& note, std::size_t room,
                          bool may_be_cut) {
  const std::size_t needed = note.empty() ? 0 : gap + shown_width(note);
  const std::size_t wanted = shown_width(last);
  const std::string beside = note.empty() ? "" : std::string(gap, ' ') + note;
  if (wanted + needed <= room) return last + beside;
  if (!may_be_cut) return note.empty() ? last : last + note_line(note);
  if (room >= needed + std::min(least_shown, wanted))
    return shortened(last, room - needed) + beside;
  return shortened(last, std::max(room, least_shown)) + (note.empty() ? "" : note_line(note));
}

}  // namespace

std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string shortened(std::string_view text, std::size_t width) {
  if (shown_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::size_t characters = 0;
  std::size_t end = 0;
  while (characters < width || !begins_character(text[end])) {
    if (begins_character(text[end]) && ++characters == width) break;
    ++end;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > indent && column + 1 + shown_width(word) > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += shown_width(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string to_text(const TextTable& table, std::optional<std::size_t> width) {
  const std::vector<std::size_t> widths = widths_of(table);
  std::string text = all_but_last(table.header, widths);
  if (!table.header.empty()) text += table.header.back() + "\n";
  for (const TextTable::Row& row : table.rows) {
    assert(!row.cells.empty());
    const std::string line = all_but_last(row.cells, widths);
    const std::size_t taken = shown_width(line);
    std::size_t room = std::string::npos / 2;
    if (width) room = *width > taken ? *width - taken : 0;
    text += line + last_and_note(row.cells.back(), row.note, room, table.last_may_be_cut) + "\n";
  }
  return text;
}

}  // namespace gpl::client
