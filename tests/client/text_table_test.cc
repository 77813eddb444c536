#include "gpl/client/text_table.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

using namespace gpl::client;

namespace {

TextTable jobs(std::vector<TextTable::Row> rows) {
  return {{"JOB", "STATE", "COMMAND"}, std::move(rows), true};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

}  // namespace

TEST_CASE("a character of several bytes is one column wide") {
  CHECK(shown_width("") == 0);
  CHECK(shown_width("abc") == 3);
  CHECK(shown_width("größe · 3") == 9);
}

TEST_CASE("what is too wide is cut between characters, and ends with an ellipsis") {
  CHECK(shortened("abcdef", 6) == "abcdef");
  CHECK(shortened("abcdef", 5) == "abcd…");
  CHECK(shortened("äöüäöü", 3) == "äö…");
  CHECK(shortened("abc", 1) == "…");
  CHECK(shortened("abc", 0) == "");
}

TEST_CASE("a shortened text is never wider than asked, and begins as the whole one") {
  CHECK(rc::check([](const std::string& any, std::uint8_t width) {
    std::string text;
    for (const char c : any) text += c % 3 == 0 ? "é" : "x";
    const std::string cut = shortened(text, width);
    RC_ASSERT(shown_width(cut) == std::min<std::size_t>(width, shown_width(text)));
    const std::string kept = cut.ends_with("…") ? cut.substr(0, cut.size() - 3) : cut;
    RC_ASSERT(text.starts_with(kept));
  }));
}

TEST_CASE("text is broken between words, and goes on below its beginning") {
  CHECK(wrapped("one two three", 4, 12) == "one two\n    three");
  CHECK(wrapped("one two three", 4, 80) == "one two three");
  CHECK(wrapped("averylongword x", 2, 8) == "averylongword\n  x");
  CHECK(wrapped("", 4, 12) == "");
}

TEST_CASE("columns are as wide as what is in them") {
  const TextTable table = jobs({{{"7", "running", "true"}, ""}, {{"1234567", "é", "false"}, ""}});
  CHECK(to_text(table, std::nullopt) ==
        "JOB      STATE    COMMAND\n"
        "7        running  true\n"
        "1234567  é        false\n");
}

TEST_CASE("a note follows its row, and a command gives way to it") {
  const TextTable table = jobs({{{"7", "queued", "python train.py --lr 0.1"}, "waits for 1 cuda"}});
  CHECK(lines_of(to_text(table, std::nullopt))[1] ==
        "7    queued  python train.py --lr 0.1  waits for 1 cuda");
  CHECK(lines_of(to_text(table, 50))[1] == "7    queued  python train.py --…  waits for 1 cuda");
}

TEST_CASE("a note that leaves no room for the command has a line for itself, uncut") {
  const TextTable table = jobs({{{"7", "queued", "python train.py --lr 0.1"}, "waits for 1 cuda"}});
  const std::vector<std::string> lines = lines_of(to_text(table, 40));
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == "7    queued  python train.py --lr 0.1");
  CHECK(lines[2] == "       waits for 1 cuda");
}

TEST_CASE("without a terminal nothing is cut") {
  const std::string command(500, 'x');
  const std::string text = to_text(jobs({{{"7", "queued", command}, "why"}}), std::nullopt);
  CHECK(text.find(command + "  why\n") != text.npos);
}

TEST_CASE("a last column that may not be cut is whole on any terminal") {
  TextTable table = jobs({{{"lab1", "up", "cuda 2/3 held, 1 unusable"}, ""}});
  table.last_may_be_cut = false;
  CHECK(lines_of(to_text(table, 20))[1] == "lab1  up     cuda 2/3 held, 1 unusable");
}

TEST_CASE("every row fits the terminal when notes do, and ids and notes are whole") {
  CHECK(rc::check([](std::vector<std::pair<std::uint16_t, std::uint8_t>> seeds) {
    constexpr std::size_t width = 60;
    TextTable table = jobs({});
    for (const auto& [number, length] : seeds)
      table.rows.push_back({{std::to_string(number), "running", std::string(length, 'c')},
                            std::string(length % 40, 'n')});
    const std::string text = to_text(table, width);
    for (const std::string& line : lines_of(text)) RC_ASSERT(shown_width(line) <= width);
    for (const TextTable::Row& row : table.rows) {
      RC_ASSERT(text.find("\n" + row.cells[0] + " ") != text.npos);
      RC_ASSERT(text.find(row.note) != text.npos);
    }
  }));
}
