#include "gpl/host/package_metadata.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include <filesystem>

#include "temporary_folder.h"

namespace gpl::host {
namespace {

std::string name_and_version(std::string_view text) {
  const Result<PackageMetadata> metadata = package_metadata(parse_metadata_headers(text));
  if (!metadata.ok()) return metadata.error().message;
  return metadata.value().name + "|" + metadata.value().version;
}

TEST_CASE("name and version are read from the headers, in any case and order") {
  CHECK(name_and_version("Metadata-Version: 2.1\nName: torch\nVersion: 2.4.0\n\n") ==
        "torch|2.4.0");
  CHECK(name_and_version("VERSION:2.4.0\nnAmE :torch\n") == "has no Name");
  CHECK(name_and_version("VERSION:2.4.0  \nnAmE:\ttorch") == "torch|2.4.0");
}

TEST_CASE("line ends of every kind, and a byte order mark, are no part of a value") {
  CHECK(name_and_version("Name: vllm\r\nVersion: 0.6.3\r\n\r\n") == "vllm|0.6.3");
  CHECK(name_and_version("Name: vllm\rVersion: 0.6.3\r\r") == "vllm|0.6.3");
  CHECK(name_and_version("\xEF\xBB\xBFName: vllm\nVersion: 0.6.3\n") == "vllm|0.6.3");
}

TEST_CASE("the description holds no headers") {
  CHECK(name_and_version("Name: a\nVersion: 1\n\nVersion: 9\nName: evil\n") == "a|1");
  CHECK(name_and_version("Name: a\n\nVersion: 9\n") == "has no Version");
  CHECK(name_and_version("Name: a\r\n\r\nVersion: 9\r\n") == "has no Version");
}

TEST_CASE("the first of a repeated header counts") {
  CHECK(name_and_version("Name: a\nName: b\nVersion: 1\nVersion: 2\n") == "a|1");
}

TEST_CASE("a folded value is one value, and a folded line is no header") {
  CHECK(name_and_version("License: x\n Name: evil\n\tVersion: 9\nName:\n a\nVersion: 1\n") ==
        "a|1");
}

TEST_CASE("a line that is no header ends the headers") {
  CHECK(name_and_version("Name: a\n<<<<<<< HEAD\nVersion: 1\n") == "has no Version");
}

TEST_CASE("bytes that are not UTF-8 in other headers do no harm") {
  CHECK(name_and_version("Author: Andr\xE9\nName: a\nVersion: 1\n") == "a|1");
}

TEST_CASE("what is no name or no version text is refused") {
  CHECK(name_and_version("Name: a b\nVersion: 1\n") ==
        "has the Name 'a b', which no package can have");
  CHECK(name_and_version("Name: t\xC3\xB6rch\nVersion: 1\n").starts_with("has the Name "));
  CHECK(name_and_version("Name: a\nVersion: 1\x01\n").starts_with("has the Version "));
  CHECK(name_and_version("Name: a\nVersion:\n") == "has no Version");
  CHECK(name_and_version("") == "has no Name");
}

TEST_CASE("a last line that was cut off is no field, unless the file ends there") {
  CHECK(parse_metadata_headers("Name: a\nVersion: 1.2", false).first("version") == nullptr);
  CHECK(*parse_metadata_headers("Name: a\nVersion: 1.2", true).first("version") == "1.2");
}

TEST_CASE("headers are complete at the empty line") {
  CHECK(parse_metadata_headers("Name: a\n\n", false).complete);
  CHECK_FALSE(parse_metadata_headers("Name: a\n", false).complete);
}

TEST_CASE("parsing in two steps gives what parsing at once gives") {
  CHECK(rc::check("a prefix never gives a field that the whole does not", [](std::string text) {
    text = "Name: a\n" + text;
    const std::size_t cut = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const auto part = parse_metadata_headers(std::string_view(text).substr(0, cut), false);
    const auto whole = parse_metadata_headers(text);
    RC_ASSERT(part.fields.size() <= whole.fields.size());
    for (std::size_t i = 0; i + 1 < part.fields.size(); ++i) {
      RC_ASSERT(part.fields[i] == whole.fields[i]);
    }
  }));
}

TEST_CASE("only the first blocks of a large file are read") {
  const TemporaryFolder folder;
  folder.write("METADATA", "Name: a\nVersion: 1\n\n" + std::string(10 << 20, 'x'));
  const auto headers = read_metadata_headers(folder.fd(), "METADATA");
  REQUIRE(headers.ok());
  CHECK(headers.value().fields.size() == 2);
}

TEST_CASE("headers that go on past the cap are read up to it") {
  const TemporaryFolder folder;
  std::string lines;
  while (lines.size() < 2 * max_metadata_bytes) lines += "Classifier: one of very many\n";
  folder.write("METADATA", "Name: a\n" + lines + "Version: 1\n");
  const auto headers = read_metadata_headers(folder.fd(), "METADATA");
  REQUIRE(headers.ok());
  CHECK(headers.value().first("version") == nullptr);
  CHECK(*headers.value().first("name") == "a");
}

TEST_CASE("a version across a block's edge is read whole") {
  const TemporaryFolder folder;
  for (std::size_t pad = 4070; pad < 4100; ++pad) {
    folder.write("METADATA",
                 "X: " + std::string(pad, 'x') + "\nName: a\nVersion: 12.34.56\nY: z\n");
    const auto headers = read_metadata_headers(folder.fd(), "METADATA");
    REQUIRE(headers.ok());
    REQUIRE(headers.value().first("version") != nullptr);
    CHECK(*headers.value().first("version") == "12.34.56");
  }
}

TEST_CASE("a folder, a pipe, a looping link and a missing file are told apart and never block") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "folder");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0644) == 0);
  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK(read_metadata_headers(folder.fd(), "folder").error().message == "Is a directory");
  CHECK(read_metadata_headers(folder.fd(), "pipe").value().fields.empty());
  CHECK(read_metadata_headers(folder.fd(), "loop").error().code == Code::io);
  CHECK(read_metadata_headers(folder.fd(), "missing").error().code == Code::not_found);
}

}  // namespace
}  // namespace gpl::host
