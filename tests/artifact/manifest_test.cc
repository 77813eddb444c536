#include "gpl/artifact/manifest.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "gpl/artifact/big_endian.h"
#include "gpl/artifact/chunk.h"
#include "gpl/core/prng.h"

using namespace gpl;
using artifact::check_manifest;
using artifact::decode_manifest;
using artifact::Digest;
using artifact::digest_of;
using artifact::encode_manifest;
using artifact::EntryType;
using artifact::Manifest;
using artifact::TreeEntry;

namespace {

TreeEntry a_file(std::string path, std::uint64_t size = 0) {
  TreeEntry entry;
  entry.path = std::move(path);
  entry.mode = 0644;
  entry.mtime_ns = 1'500'000'000'123'456'789;
  entry.size_bytes = size;
  for (std::uint64_t i = 0; i < artifact::chunk_count(size); ++i)
    entry.chunks.push_back(digest_of(entry.path + std::to_string(i)));
  return entry;
}

TreeEntry a_folder(std::string path) {
  TreeEntry entry;
  entry.path = std::move(path);
  entry.type = EntryType::directory;
  entry.mode = 0755;
  return entry;
}

TreeEntry a_link(std::string path, std::string target) {
  TreeEntry entry;
  entry.path = std::move(path);
  entry.type = EntryType::symlink;
  entry.link_target = std::move(target);
  return entry;
}

std::string encoded(const Manifest& manifest) {
  Result<std::string> bytes = encode_manifest(manifest);
  REQUIRE_MESSAGE(bytes.ok(), (bytes.ok() ? "" : bytes.error().message));
  return std::move(bytes).value();
}

std::string refusal(const Manifest& manifest) {
  const Status checked = check_manifest(manifest);
  const Result<std::string> bytes = encode_manifest(manifest);
  CHECK(checked.ok() == bytes.ok());
  return checked.ok() ? "" : checked.error().message;
}

/// Bytes as nobody but an attacker would write them.
std::string raw(const std::vector<std::string>& entries) {
  std::string bytes("gpltree\1");
  for (const std::string& entry : entries) bytes += entry;
  return bytes;
}
std::string raw_folder(const std::string& path, std::uint16_t mode = 0755) {
  std::string bytes("\2");
  artifact::append_big_endian(bytes, static_cast<std::uint16_t>(path.size()));
  bytes += path;
  artifact::append_big_endian(bytes, mode);
  return bytes;
}
std::string raw_link(const std::string& path, const std::string& target) {
  std::string bytes("\3");
  artifact::append_big_endian(bytes, static_cast<std::uint16_t>(path.size()));
  bytes += path;
  artifact::append_big_endian(bytes, static_cast<std::uint16_t>(target.size()));
  return bytes + target;
}
std::string raw_file(const std::string& path, std::uint64_t size, std::size_t ids) {
  std::string bytes("\1");
  artifact::append_big_endian(bytes, static_cast<std::uint16_t>(path.size()));
  bytes += path;
  artifact::append_big_endian(bytes, std::uint16_t{0644});
  artifact::append_big_endian(bytes, std::uint64_t{0});
  artifact::append_big_endian(bytes, size);
  return bytes + std::string(ids * Digest::size_bytes, 'i');
}

std::string wrong(const std::string& bytes) {
  const Result<Manifest> manifest = decode_manifest(bytes);
  return manifest.ok() ? "" : manifest.error().message;
}

/// A tree drawn at random: names of any bytes, nested, of every type.
Manifest any_tree(std::uint64_t seed) {
  Prng prng(seed);
  std::set<std::string> taken;
  std::vector<std::string> folders{""};
  Manifest manifest;
  for (std::uint64_t left = prng.below(30); left > 0; --left) {
    std::string name;
    for (std::uint64_t bytes = prng.between(1, 4); bytes > 0; --bytes)
      name += "ab-.\xff\n/"[prng.below(6)];
    if (name == "." || name == "..") name = "c";
    const std::string path = folders[prng.below(folders.size())] + name;
    if (!taken.insert(path).second) continue;
    const std::uint64_t type = prng.below(3);
    if (type == 0) folders.push_back(path + "/");
    manifest.entries.push_back(type == 0   ? a_folder(path)
                               : type == 1 ? a_file(path, prng.below(10'000'000))
                                           : a_link(path, "to" + path));
  }
  std::sort(manifest.entries.begin(), manifest.entries.end(),
            [](const TreeEntry& one, const TreeEntry& other) { return one.path < other.path; });
  return manifest;
}

}  // namespace

TEST_CASE("a tree comes back from its encoding as it was") {
  CHECK(rc::check([](std::uint64_t seed) {
    const Manifest manifest = any_tree(seed);
    const auto bytes = encode_manifest(manifest);
    RC_ASSERT(bytes.ok());
    const auto back = decode_manifest(bytes.value());
    RC_ASSERT(back.ok());
    RC_ASSERT(back.value() == manifest);
  }));
}

TEST_CASE("trees have the same encoding exactly when they are equal") {
  CHECK(rc::check([](std::uint64_t seed, std::uint64_t where) {
    const Manifest one = any_tree(seed);
    Manifest other = any_tree(seed);
    RC_ASSERT(encode_manifest(one).value() == encode_manifest(other).value());
    RC_PRE(!other.entries.empty());
    TreeEntry& entry = other.entries[where % other.entries.size()];
    const std::uint64_t change = where / 64 % 4;
    if (entry.type == EntryType::symlink)
      entry.link_target += "x";
    else if (change == 0 || entry.type == EntryType::directory)
      entry.mode ^= 0100U;
    else if (change == 1)
      entry.mtime_ns ^= 1;
    else if (change == 2 && !entry.chunks.empty())
      entry.chunks[0] = digest_of("other");
    else if (change == 3 && entry.size_bytes % artifact::chunk_size_bytes > 1)
      entry.size_bytes -= 1;
    else
      entry.mtime_ns += 1;
    RC_ASSERT(encode_manifest(one).value() != encode_manifest(other).value());
  }));
}

TEST_CASE("whatever bytes are taken are the encoding of what they are taken for") {
  CHECK(rc::check([](std::uint64_t seed, std::uint64_t where, unsigned char to) {
    std::string bytes = encode_manifest(any_tree(seed)).value();
    bytes[where % bytes.size()] = static_cast<char>(to);
    const auto manifest = decode_manifest(bytes);
    if (manifest.ok()) RC_ASSERT(encode_manifest(manifest.value()).value() == bytes);
  }));
}

TEST_CASE("the encoding is fixed: ids must not change with a new version") {
  const Manifest manifest{{a_folder("a"), a_file("a/b", 5'000'000), a_link("c", "a/b")}};
  CHECK(digest_of(encoded(manifest)).hex() ==
        "650fc59cd94920f447e62a58d8936254fde80473a771844d25de230c8bbba862");
  CHECK(encoded({}) == "gpltree\1");
}

TEST_CASE("no prefix of an encoding is taken for the tree, unless it is a smaller tree") {
  const Manifest manifest{{a_folder("a"), a_file("a/b", 5'000'000), a_link("c", "a/b")}};
  const std::string bytes = encoded(manifest);
  std::size_t taken = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    taken += decode_manifest(bytes.substr(0, size)).ok() ? 1U : 0U;
  CHECK(taken == 3);
}

TEST_CASE("paths that lead out of the tree are refused, with the place") {
  CHECK(wrong(raw({raw_folder("a"), raw_folder("/etc")})) ==
        "the manifest is damaged at byte 14: a path has an empty part");
  CHECK(wrong(raw({raw_link("..", "x")})) ==
        "the manifest is damaged at byte 8: a path has a part \".\" or \"..\"");
  CHECK(wrong(raw({raw_folder("a"), raw_link("a/../b", "x")})) ==
        "the manifest is damaged at byte 14: a path has a part \".\" or \"..\"");
  CHECK(wrong(raw({raw_folder("a"), raw_folder("a/.")})) != "");
  CHECK(wrong(raw({raw_folder("a"), raw_folder("a//b")})) != "");
  CHECK(wrong(raw({raw_folder("a"), raw_folder("a/")})) != "");
  CHECK(wrong(raw({raw_folder("")})) != "");
  CHECK(wrong(raw({raw_folder(std::string("a\0b", 3))})) != "");
  CHECK(wrong(raw({raw_folder("..."), raw_folder("...a"), raw_folder("..a")})) == "");
}

TEST_CASE("nothing lies below a file, a link or nothing") {
  const std::string no_folder = "a path's folder is not there as a folder";
  CHECK(wrong(raw({raw_link("a", "/etc"), raw_link("a/b", "x")})).find(no_folder) !=
        std::string::npos);
  CHECK(wrong(raw({raw_file("a", 0, 0), raw_link("a/b", "x")})).find(no_folder) !=
        std::string::npos);
  CHECK(wrong(raw({raw_link("a/b", "x")})).find(no_folder) != std::string::npos);
  CHECK(wrong(raw({raw_folder("a"), raw_folder("a-b"), raw_link("a/b", "x")})) == "");
}

TEST_CASE("paths out of order and paths that are there twice are refused") {
  CHECK(wrong(raw({raw_folder("b"), raw_folder("a")})) ==
        "the manifest is damaged at byte 14: the paths are not in order, or one is there twice");
  CHECK(wrong(raw({raw_folder("a"), raw_link("a", "x")})) != "");
}

TEST_CASE("sizes that no bytes stand behind are refused without memory for them") {
  CHECK(wrong(raw({raw_file("a", ~std::uint64_t{0}, 1)})) ==
        "the manifest is damaged at byte 8: it ends in the middle of an entry");
  CHECK(wrong(raw({raw_file("a", std::uint64_t{1} << 62U, 0)})) != "");
  CHECK(wrong(raw({raw_file("a", 5'000'000, 1)})) != "");
  CHECK(wrong(raw({raw_file("a", 5'000'000, 3)})) != "");
  CHECK(wrong(raw({raw_file("a", 5'000'000, 2)})) == "");
}

TEST_CASE("modes beyond 0777, long names and links to nowhere are refused") {
  CHECK(wrong(raw({raw_folder("a", 04755)})) != "");
  CHECK(wrong(raw({raw_link("a", "")})) != "");
  CHECK(wrong(raw({raw_link("a", std::string("b\0", 2))})) != "");
  CHECK(wrong(raw({raw_link("a", std::string(4095, 'b'))})) == "");
  CHECK(wrong(raw({raw_link("a", std::string(4096, 'b'))})) != "");
  CHECK(wrong(raw({raw_folder(std::string(255, 'n'))})) == "");
  CHECK(wrong(raw({raw_folder(std::string(256, 'n'))})) != "");
}

TEST_CASE("other beginnings, types and versions are told apart") {
  CHECK(wrong("") == "the manifest is damaged at byte 0: it does not begin as a manifest does");
  CHECK(wrong("gpltrex\1") != "");
  CHECK(wrong(raw({"\4"})) == "the manifest is damaged at byte 8: an entry is of no known type");
  const Result<Manifest> later = decode_manifest("gpltree\2whatever");
  REQUIRE_FALSE(later.ok());
  CHECK(later.error().code == Code::unsupported);
}

TEST_CASE("what cannot be a tree is not encoded, and the path is named") {
  CHECK(refusal({{a_file("b"), a_file("a")}}) ==
        "'a' cannot be part of a tree: the paths are not in order, or one is there twice");
  Manifest manifest{{a_file("a", 5)}};
  manifest.entries[0].chunks.clear();
  CHECK(refusal(manifest) != "");
  manifest = {{a_folder("a")}};
  manifest.entries[0].mtime_ns = 1;
  CHECK(refusal(manifest) != "");
  manifest = {{a_link("a", "b")}};
  manifest.entries[0].mode = 0777;
  CHECK(refusal(manifest) != "");
  manifest = {{a_file("a")}};
  manifest.entries[0].link_target = "b";
  CHECK(refusal(manifest) != "");
}
