#include "gpl/host/toml_table.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using gpl::Code;
using gpl::host::TomlTable;

namespace {

TomlTable table_of(const std::string& text) {
  auto parsed = TomlTable::parse(text, "gpl.toml");
  REQUIRE_MESSAGE(parsed.ok(), text);
  return std::move(parsed.value());
}

/// The message of a status or of a parse, or "ok".
template <class T>
std::string message_of(const gpl::Result<T>& result) {
  return result.ok() ? "ok" : result.error().message;
}

std::string repeated(const std::string& part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

using Strings = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("values of every kind are read") {
  auto table = table_of(
      "s = \"text\"\nb = true\ni = -3\nl = ['a', \"b\"]\nempty = []\n[t]\nz = '1'\na = '2'\n");
  CHECK(table.string("s") == "text");
  CHECK(table.boolean("b") == true);
  CHECK(table.integer("i") == -3);
  CHECK(table.strings("l") == Strings{"a", "b"});
  CHECK(table.strings("empty") == Strings{});
  CHECK(table.string_table("t") == Pairs{{"z", "1"}, {"a", "2"}});
  CHECK(message_of(table.finish()) == "ok");
}

TEST_CASE("an absent key gives nothing and is no error") {
  auto table = table_of("");
  CHECK(table.string("s") == std::nullopt);
  CHECK(table.boolean("b") == std::nullopt);
  CHECK(table.integer("i") == std::nullopt);
  CHECK(table.strings("l") == std::nullopt);
  CHECK(table.string_table("t") == std::nullopt);
  CHECK(!table.holds_table("t"));
  CHECK(message_of(table.finish()) == "ok");
}

TEST_CASE("a table is the same whether inline, under a header or dotted") {
  for (const char* text :
       {"t = { z = '1', a = '2' }\n", "[t]\nz = '1'\na = '2'\n", "t.z = '1'\nt.a = '2'\n"}) {
    CAPTURE(text);
    auto table = table_of(text);
    CHECK(table.holds_table("t"));
    CHECK(table.string_table("t") == Pairs{{"z", "1"}, {"a", "2"}});
    CHECK(message_of(table.finish()) == "ok");
  }
}

TEST_CASE("an unknown key is named with its line and the nearest known one") {
  auto table = table_of("\n# a comment\nforwad_env = []\n");
  table.strings("forward_env");
  const auto status = table.finish();
  CHECK(message_of(status) == "gpl.toml:3: unknown key 'forwad_env'; did you mean 'forward_env'?");
  CHECK(status.error().code == Code::invalid);
}

TEST_CASE("an unknown key that is like none is named alone, and the first of the file first") {
  auto table = table_of("zebra = 1\n[ant]\nx = 1\n");
  table.string("name");
  CHECK(message_of(table.finish()) == "gpl.toml:1: unknown key 'zebra'");
}

TEST_CASE("an unknown table is named at its header") {
  auto table = table_of("name = 'x'\n\n[other.inner]\nx = 1\n");
  table.string("name");
  CHECK(message_of(table.finish()) == "gpl.toml:3: unknown key 'other'");
}

TEST_CASE("a wrong type is named with what was wanted, what is there, and the hint") {
  const std::string text =
      "a = 1\nb = 'x'\nc = [\n 'x',\n 2 ]\nd = { k = 1.5 }\ne = 1979-05-27\nf = [[1]]\n";
  const auto message_after = [&](auto ask) {
    auto table = table_of(text);
    ask(table);
    return message_of(table.finish());
  };
  CHECK(message_after([](auto& t) { CHECK(!t.string("a", "write \"1\"")); }) ==
        "gpl.toml:1: 'a' must be a string, but is an integer; write \"1\"");
  CHECK(message_after([](auto& t) { CHECK(!t.boolean("b")); }) ==
        "gpl.toml:2: 'b' must be true or false, but is a string");
  CHECK(message_after([](auto& t) { CHECK(!t.integer("c")); }) ==
        "gpl.toml:3: 'c' must be an integer, but is a list");
  CHECK(message_after([](auto& t) { CHECK(!t.strings("c")); }) ==
        "gpl.toml:5: an element of 'c' must be a string, but is an integer");
  CHECK(message_after([](auto& t) { CHECK(!t.strings("b", "write ['x']")); }) ==
        "gpl.toml:2: 'b' must be a list of strings, but is a string; write ['x']");
  CHECK(message_after([](auto& t) { CHECK(!t.string_table("d")); }) ==
        "gpl.toml:6: 'd.k' must be a string, but is a float");
  CHECK(message_after([](auto& t) { CHECK(!t.string_table("e")); }) ==
        "gpl.toml:7: 'e' must be a table of strings, but is a date");
  CHECK(message_after([](auto& t) { CHECK(!t.strings("f")); }) ==
        "gpl.toml:8: an element of 'f' must be a string, but is a list");
}

TEST_CASE("the first thing wrong is the one that is told") {
  auto table = table_of("a = 1\nb = 2\n");
  table.string("b");
  table.string("a");
  CHECK(message_of(table.finish()) == "gpl.toml:2: 'b' must be a string, but is an integer");
}

TEST_CASE("a key of a later version is told apart from an unknown one") {
  auto table = table_of("x = 1\npeers = []\n");
  table.refuse_later({"devices", "peers"});
  const auto status = table.finish();
  CHECK(message_of(status) ==
        "gpl.toml:2: 'peers' comes with a later version of gpl: leave it out for now");
  CHECK(status.error().code == Code::unsupported);
}

TEST_CASE("a value that its reader refuses is told with its line") {
  auto table = table_of("a = 1\nb = 'x'\n");
  table.integer("a");
  table.string("b");
  table.refuse("b", Code::invalid, "b: not a duration");
  CHECK(message_of(table.finish()) == "gpl.toml:2: b: not a duration");
}

TEST_CASE("what is not TOML is told with line and column") {
  CHECK(message_of(TomlTable::parse("a = 1\nb = = 2\n", "gpl.toml"))
            .rfind("gpl.toml:2:5: not valid TOML: ", 0) == 0);
  const auto duplicate = message_of(TomlTable::parse("a = 1\na = 2\n", "gpl.toml"));
  CHECK(duplicate.rfind("gpl.toml:2:", 0) == 0);
  CHECK(duplicate.find("cannot redefine existing integer 'a'") != std::string::npos);
  CHECK(message_of(TomlTable::parse("a = '\xff'\n", "gpl.toml")).rfind("gpl.toml:1:", 0) == 0);
}

TEST_CASE("brackets without a key are an error of the text, not the end of the process") {
  CHECK(message_of(TomlTable::parse("[[[", "gpl.toml")).rfind("gpl.toml:1:3: ", 0) == 0);
  CHECK(message_of(TomlTable::parse("[=]", "gpl.toml")).rfind("gpl.toml:1:2: ", 0) == 0);
}

TEST_CASE("letters beyond ASCII are read in strings, and refused outside") {
  auto table = table_of("a = \"\"\"\\\n   \xc3\x9c\"\"\"  # \xc3\x9c\n\"\xc3\x9c\" = '\xc3\x97'\n");
  CHECK(table.string("a") == "\xc3\x9c");
  CHECK(table.string("\xc3\x9c") == "\xc3\x97");
  CHECK(message_of(table.finish()) == "ok");
  CHECK(message_of(TomlTable::parse("d = \xc3\x97m\n", "gpl.toml")).rfind("gpl.toml:1:", 0) == 0);
}

TEST_CASE("hostile depth is refused and does not take the stack") {
  const int many = 100'000;
  for (const std::string& text :
       {repeated("[", many), "x = " + repeated("[", many), "x = " + repeated("{a = ", many),
        "x" + repeated(".a", many) + " = 1", "[x" + repeated(".a", many) + "]\n",
        "[[x" + repeated(" . \"a\"", many) + "]]\n", "\"\"\"\"\"\"" + repeated(".a", many),
        "x = {b = \"\"\"a\"\"\"\", y" + repeated(".a", many) + " = 1}",
        "x = '\\'\ny" + repeated(".a", many), "x = \"\\\\\"\ny" + repeated(".a", many),
        "x = {a" + repeated(".a", many) + " = 1}"}) {
    CAPTURE(text.substr(0, 20));
    CHECK(message_of(TomlTable::parse(text, "gpl.toml")).rfind("gpl.toml:", 0) == 0);
  }
}

TEST_CASE("a key with many dots is named with its line, and dots elsewhere are free") {
  const auto deep = TomlTable::parse("a = 1\n[x" + repeated(".a", 33) + "]\n", "gpl.toml");
  CHECK(message_of(deep) == "gpl.toml:2: a key has more than 32 dots");
  const std::string dots = repeated(".", 100);
  auto table = table_of("a = \"" + dots + "\\\"" + dots + "\" # " + dots + "\nb = '" + dots +
                        "'\nc = \"\"\"\n" + dots + "\"" + dots + "\"\"\"\"\"\nd = '''" + dots +
                        "\n'" + dots + "'''''\ne = [" + repeated("1.5, ", 100) + "]\n");
  CHECK(table.string("a") == dots + "\"" + dots);
  CHECK(table.string("b") == dots);
  CHECK(table.string("c") == dots + "\"" + dots + "\"\"");
  CHECK(table.string("d") == dots + "\n'" + dots + "''");
}

TEST_CASE("a text of more than 1 MiB is refused") {
  const std::string largest = "#" + std::string(gpl::host::max_toml_bytes - 1, 'x');
  CHECK(message_of(TomlTable::parse(largest, "gpl.toml")) == "ok");
  const auto larger = TomlTable::parse(largest + "x", "gpl.toml");
  CHECK(message_of(larger) == "gpl.toml: larger than 1 MiB: not a file of settings");
  CHECK(larger.error().code == Code::too_large);
}

TEST_CASE("a file is read whole, and a missing, large or odd one is told apart") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("gpl_toml_table_test." + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string text = "a = 1\n" + std::string(100'000, '#');
  std::ofstream(folder / "good") << text;
  std::ofstream(folder / "large") << std::string(gpl::host::max_toml_bytes + 1, '#');

  const auto good = gpl::host::read_toml_file(folder / "good");
  CHECK((good.ok() && good.value() == text));
  CHECK(gpl::host::read_toml_file(folder / "none").error().code == Code::not_found);
  CHECK(gpl::host::read_toml_file(folder / "good" / "none").error().code == Code::not_found);
  CHECK(gpl::host::read_toml_file(folder / "large").error().code == Code::too_large);
  CHECK(gpl::host::read_toml_file("/dev/zero").error().code == Code::too_large);
  const auto directory = gpl::host::read_toml_file(folder);
  CHECK(directory.error().code == Code::io);
  CHECK(message_of(directory) == "cannot read " + folder.string() + ": Is a directory");
  fs::remove_all(folder);
}
