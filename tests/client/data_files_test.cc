#include "gpl/client/data_files.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "temporary_folder.h"

using gpl::Code;
using gpl::artifact::Entry;
using gpl::artifact::EntryType;
using gpl::artifact::Selection;
using gpl::client::add_data;
using gpl::client::DataWish;
using gpl::client::parse_data;

namespace {

std::vector<std::string> paths(const Selection& selection) {
  std::vector<std::string> all;
  for (const Entry& entry : selection.entries) all.push_back(entry.path);
  return all;
}

Entry file(const std::string& path) {
  Entry entry;
  entry.path = path;
  return entry;
}

}  // namespace

TEST_CASE("data is named by its path's last part unless it is told otherwise") {
  CHECK(parse_data("sets/cifar/").value() == DataWish{"", "sets/cifar", "cifar"});
  CHECK(parse_data("/data/cifar=in/train").value() == DataWish{"", "/data/cifar", "in/train"});
  CHECK(parse_data("12:out/model.pt").value() == DataWish{"12", "out/model.pt", "model.pt"});
  CHECK(parse_data("last:model.pt=m").value() == DataWish{"last", "model.pt", "m"});
  CHECK(parse_data("a:b").value() == DataWish{"", "a:b", "a:b"});
}

TEST_CASE("a name outside of the command's folder is refused") {
  for (const char* text : {"x=../y", "x=/y", "x=", "..", ".", "/", "", "12:", "x=a//b"}) {
    CAPTURE(text);
    CHECK(parse_data(text).error().code == Code::invalid);
  }
}

TEST_CASE("a file is taken from where it lies, in order, below folders of its own") {
  const TemporaryFolder folder;
  const std::string path = folder.write("big.bin", "12345");
  Selection selection;
  selection.entries = {file("a"), file("z")};
  REQUIRE(add_data(selection, path, "in/big.bin").ok());
  CHECK(paths(selection) == std::vector<std::string>{"a", "in", "in/big.bin", "z"});
  CHECK(selection.entries[1].type == EntryType::directory);
  CHECK(selection.entries[2].source == path);
  CHECK(selection.entries[2].size_bytes == 5);
}

TEST_CASE("a folder is taken whole, in place of what was selected there") {
  const TemporaryFolder folder;
  folder.write("set/.gitignore", "*.bin\n");
  folder.write("set/sub/x.bin", "x");
  Selection selection;
  selection.entries = {file("data"), file("data.txt"), file("data/old")};
  REQUIRE(add_data(selection, folder / "set", "data").ok());
  CHECK(paths(selection) == std::vector<std::string>{"data", "data.txt", "data/.gitignore",
                                                     "data/sub", "data/sub/x.bin"});
  CHECK(selection.entries[4].source == folder / "set/sub/x.bin");
}

TEST_CASE("data below what is a file is refused") {
  const TemporaryFolder folder;
  Selection selection;
  selection.entries = {file("in")};
  CHECK(add_data(selection, folder.write("x", "x"), "in/x").error().code == Code::invalid);
}

TEST_CASE("data that is not there is told with its path") {
  const TemporaryFolder folder;
  Selection selection;
  const auto missing = add_data(selection, folder / "none", "none");
  CHECK(missing.error().code == Code::not_found);
  CHECK(missing.error().message.find(folder / "none") != std::string::npos);
}
