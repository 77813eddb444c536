#include "gpl/artifact/git_index.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

using gpl::Code;
using gpl::artifact::GitIndex;
using gpl::artifact::GitIndexFile;
using FolderKind = GitIndex::FolderKind;

namespace {

constexpr std::uint32_t plain_file = 0100644;
constexpr std::uint32_t gitlink = 0160000;
constexpr std::uint32_t sparse_folder = 040000;

struct Row {
  std::string name;
  std::uint32_t mode = plain_file;
  bool sparse = false;
};

void put(std::string& to, std::uint64_t value, int bytes) {
  while (bytes-- > 0) to += static_cast<char>(value >> (8 * bytes) & 0xffU);
}

/// Writes an index as git does; version 4 shares each name's beginning with the one before.
std::string index_bytes(std::uint32_t version, const std::vector<Row>& rows,
                        std::size_t hash_bytes = 20, const std::string& extensions = {}) {
  std::string bytes = "DIRC";
  put(bytes, version, 4);
  put(bytes, rows.size(), 4);
  std::string before;
  for (const Row& row : rows) {
    const std::size_t begin = bytes.size();
    bytes.append(24, '\1');
    put(bytes, row.mode, 4);
    bytes.append(12 + hash_bytes, '\1');
    put(bytes, (row.sparse ? 0x4000U : 0U) | std::min<std::size_t>(row.name.size(), 0xfff), 2);
    if (row.sparse) put(bytes, 0x4000, 2);
    if (version == 4) {
      std::size_t shared = 0;
      while (shared < before.size() && shared < row.name.size() &&
             before[shared] == row.name[shared])
        ++shared;
      const std::size_t dropped = before.size() - shared;
      if (dropped >= 128) bytes += static_cast<char>(0x80U | ((dropped - 128) >> 7U));
      bytes += static_cast<char>(dropped & 0x7fU);
      bytes += row.name.substr(shared) + '\0';
    } else {
      bytes += row.name;
      do bytes += '\0';
      while ((bytes.size() - begin) % 8 != 0);
    }
    before = row.name;
  }
  return bytes + extensions + std::string(hash_bytes, '\2');
}

std::string extension(const std::string& name, const std::string& body) {
  std::string bytes = name;
  put(bytes, body.size(), 4);
  return bytes + body;
}

/// One bitmap of up to 64 bits, as one literal word.
std::string ewah(std::uint64_t bits) {
  std::string bytes;
  put(bytes, 64, 4);
  put(bytes, 2, 4);
  put(bytes, std::uint64_t{1} << 33U, 8);
  put(bytes, bits, 8);
  put(bytes, 0, 4);
  return bytes;
}

gpl::Result<GitIndex> read(const std::string& bytes, std::size_t hash_bytes = 20,
                           bool fold_case = false) {
  const auto file = GitIndexFile::parse(bytes, hash_bytes);
  if (!file) return file.error();
  return GitIndex::combine(file.value(), nullptr, fold_case);
}

std::string refusal(const std::string& bytes) {
  const auto index = read(bytes);
  return index ? "" : index.error().message;
}

}  // namespace

TEST_CASE("every version tells tracked files, folders and submodules apart") {
  for (const std::uint32_t version : {2U, 3U, 4U}) {
    CAPTURE(version);
    const auto index = read(index_bytes(
        version,
        {{"a"}, {"a-b"}, {"a.d/x"}, {"sub", gitlink}, {"z/y/x", plain_file, version > 2}}));
    REQUIRE(index);
    CHECK(index.value().size() == 5);
    CHECK(index.value().tracks("a"));
    CHECK(index.value().tracks("z/y/x"));
    CHECK_FALSE(index.value().tracks("z/y"));
    CHECK_FALSE(index.value().tracks("a."));
    CHECK(index.value().folder("z") == FolderKind::tracked);
    CHECK(index.value().folder("z/y") == FolderKind::tracked);
    CHECK(index.value().folder("sub") == FolderKind::submodule);
    CHECK(index.value().folder("a") == FolderKind::none);
    CHECK(index.value().is_sparse("z/y/x") == (version > 2));
    CHECK_FALSE(index.value().is_sparse("a"));
  }
}

TEST_CASE("hashes of SHA-256 take 32 bytes") {
  const auto bytes = index_bytes(4, {{"a"}, {"b/c"}}, 32);
  REQUIRE(read(bytes, 32));
  CHECK(read(bytes, 32).value().tracks("b/c"));
  CHECK_FALSE(read(bytes, 20));
}

TEST_CASE("version 4 drops long ends of names") {
  const std::string long_name = "d/" + std::string(300, 'x');
  const auto index = read(index_bytes(4, {{long_name}, {"e"}}));
  REQUIRE(index);
  CHECK(index.value().tracks(long_name));
  CHECK(index.value().tracks("e"));
}

TEST_CASE("names longer than the flags can tell are read to their end") {
  const std::string long_name(5000, 'x');
  for (const std::uint32_t version : {2U, 4U}) {
    const auto index = read(index_bytes(version, {{long_name}, {"y"}}));
    REQUIRE(index);
    CHECK(index.value().tracks(long_name));
    CHECK(index.value().tracks("y"));
  }
}

TEST_CASE("an unmerged path counts once") {
  const auto index = read(index_bytes(2, {{"a"}, {"b"}, {"b"}, {"b"}}));
  REQUIRE(index);
  CHECK(index.value().size() == 2);
}

TEST_CASE("with ignoreCase names differ in more than case") {
  const auto index = read(index_bytes(2, {{"B/Foo"}, {"a"}}), 20, true);
  REQUIRE(index);
  CHECK(index.value().tracks("b/fOO"));
  CHECK(index.value().folder("b") == FolderKind::tracked);
  CHECK(index.value().tracks("A"));
}

TEST_CASE("extensions with a capital are skipped, others are refused by name") {
  CHECK(read(index_bytes(2, {{"a"}}, 20, extension("TREE", "xyz") + extension("UNTR", ""))));
  const auto needed = read(index_bytes(2, {{"a"}}, 20, extension("abcd", "")));
  REQUIRE_FALSE(needed);
  CHECK(needed.error().code == Code::unsupported);
  CHECK(needed.error().message.find("'abcd'") != std::string::npos);
}

TEST_CASE("a sparse index names a folder as one entry") {
  const auto index =
      read(index_bytes(3, {{"a"}, {"far/", sparse_folder, true}}, 20, extension("sdir", "")));
  REQUIRE(index);
  CHECK(index.value().folder("far") == FolderKind::tracked);
  CHECK_FALSE(index.value().tracks("far/x"));
}

TEST_CASE("a split index deletes, replaces and adds to its shared one") {
  const auto shared = GitIndexFile::parse(index_bytes(2, {{"a"}, {"b"}, {"c"}, {"d"}}), 20);
  const std::string link = std::string(20, '\xab') + ewah(0b0010) + ewah(0b1000);
  // The first, nameless entry is the replacement of "d".
  const auto file = GitIndexFile::parse(
      index_bytes(2, {{"", gitlink}, {"bb"}, {"e"}}, 20, extension("link", link)), 20);
  REQUIRE(shared);
  REQUIRE(file);
  CHECK(file.value().link()->shared_name == "sharedindex.abababababababababababababababababababab");
  const auto index = GitIndex::combine(file.value(), &shared.value(), false);
  REQUIRE(index);
  CHECK(index.value().size() == 5);
  CHECK(index.value().tracks("a"));
  CHECK_FALSE(index.value().tracks("b"));
  CHECK(index.value().tracks("bb"));
  CHECK(index.value().folder("d") == FolderKind::submodule);
  CHECK(index.value().tracks("e"));
  CHECK_FALSE(GitIndex::combine(file.value(), nullptr, false));
}

TEST_CASE("a split index that does not fit its shared one is an error") {
  const auto shared = GitIndexFile::parse(index_bytes(2, {{"a"}}), 20);
  REQUIRE(shared);
  for (const auto& bitmaps : {ewah(0b10) + ewah(0), ewah(0) + ewah(0b10), ewah(0b1) + ewah(0b1),
                              ewah(0) + ewah(0b1), ewah(0)}) {
    const auto file = GitIndexFile::parse(
        index_bytes(2, {{"x"}}, 20, extension("link", std::string(20, 'h') + bitmaps)), 20);
    REQUIRE(file);
    CHECK_FALSE(GitIndex::combine(file.value(), &shared.value(), false));
  }
}

TEST_CASE("an empty link or one to no shared index is a whole index") {
  const auto index = read(
      index_bytes(2, {{"x"}}, 20, extension("link", std::string(20, '\0') + ewah(0) + ewah(0))));
  REQUIRE(index);
  CHECK(index.value().tracks("x"));
}

TEST_CASE("damage is told as what it is") {
  CHECK(refusal("") == "it is no git index");
  CHECK(refusal("DIRCxxxxxxxx") == "it is no git index");
  auto bytes = index_bytes(2, {{"a"}});
  bytes[7] = 9;
  CHECK(refusal(bytes) == "its version is 9, and gpl reads 2 to 4");
  bytes = index_bytes(2, {{"a"}});
  bytes[8] = '\x7f';
  CHECK(refusal(bytes).find("too short") != std::string::npos);
  CHECK(refusal(index_bytes(2, {{"a"}}, 20, "TREE\x7f\xff\xff\xff")) ==
        "it ends within an extension");
  CHECK(refusal(index_bytes(2, {{"a"}}, 20, "xy")) == "it ends within an extension");
  CHECK(refusal(index_bytes(2, {{""}})) == "entry 1 has no name");
}

TEST_CASE("names that unfold out of all proportion are refused") {
  std::vector<Row> rows;
  std::string name(60'000, 'x');
  for (int i = 0; i < 200; ++i) rows.push_back({name + std::to_string(1000 + i)});
  CHECK(refusal(index_bytes(4, rows)).find("unfold") != std::string::npos);
}

TEST_CASE("an index that is cut off or flipped anywhere is an index or an error") {
  const std::string whole =
      index_bytes(4, {{"a"}, {"b/c", plain_file, true}, {"sub", gitlink}}, 20,
                  extension("link", std::string(20, 'h') + ewah(1) + ewah(2)));
  for (std::size_t size = 0; size < whole.size(); ++size) (void)read(whole.substr(0, size));
  CHECK(rc::check("flips", [&](std::uint16_t at, char byte) {
    std::string bytes = whole;
    bytes[at % bytes.size()] = byte;
    (void)read(bytes);
  }));
}

TEST_CASE("every name of an index is found, and no other") {
  CHECK(rc::check("look-up", [](const std::vector<std::string>& names, const std::string& other) {
    std::vector<Row> rows;
    std::vector<std::string> known;
    for (std::string name : names) {
      std::replace(name.begin(), name.end(), '\0', '0');
      if (!name.empty()) known.push_back(name);
    }
    std::sort(known.begin(), known.end());
    for (const auto& name : known) rows.push_back({name});
    for (const std::uint32_t version : {2U, 4U}) {
      const auto index = read(index_bytes(version, rows));
      RC_ASSERT(index.ok());
      for (const auto& name : known) RC_ASSERT(index.value().tracks(name));
      RC_ASSERT(index.value().tracks(other) ==
                (std::find(known.begin(), known.end(), other) != known.end()));
    }
  }));
}
