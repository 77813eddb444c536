#include "gpl/client/client_key.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <string>

#include "temporary_folder.h"

using gpl::Code;
using gpl::client::client_key_pair;
using gpl::client::read_proof;
namespace auth = gpl::auth;

TEST_CASE("a user's pair is made once, for its owner alone, and is the same ever after") {
  const TemporaryFolder folder;
  const std::string state = folder / "state/gpl/machine";
  const auto first = client_key_pair(state);
  REQUIRE(first.ok());
  struct stat file;
  REQUIRE(::stat((state + "/client.key").c_str(), &file) == 0);
  CHECK((file.st_mode & 0777) == 0600);
  const auto second = client_key_pair(state);
  REQUIRE(second.ok());
  CHECK(first.value() == second.value());
  CHECK(auth::key_pair_of(first.value().secret) == first.value());
  const auto other = client_key_pair(folder / "other");
  REQUIRE(other.ok());
  CHECK_FALSE(other.value() == first.value());
  // Nothing else was left.
  CHECK(std::distance(std::filesystem::directory_iterator(state), {}) == 1);
}

TEST_CASE("where nothing can be kept a pair is drawn for now") {
  const TemporaryFolder folder;
  folder.write("file", "");
  const auto first = client_key_pair(folder / "file");
  const auto second = client_key_pair(folder / "file");
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK_FALSE(first.value() == second.value());
}

TEST_CASE("a file that holds no pair is told, and left as it is") {
  const TemporaryFolder folder;
  const std::string whole = "gpl-client-pair-1 " + std::string(64, '0');
  for (const std::string& text :
       {std::string(), std::string("x"), whole.substr(1), whole + "0",
        whole.substr(0, whole.size() - 1) + "g", std::string(1000, '0')}) {
    CAPTURE(text);
    folder.write("client.key", text, 0600);
    const auto pair = client_key_pair(folder.path());
    REQUIRE_FALSE(pair.ok());
    CHECK(pair.error().code == Code::denied);
    CHECK(pair.error().message.find(folder / "client.key") != std::string::npos);
    CHECK(folder.read("client.key") == text);
  }
}

TEST_CASE("a proof is the cluster's key and the user's pair") {
  const TemporaryFolder folder;
  const gpl::host::Folders folders{folder / "configuration", folder / "state"};
  const auto none = read_proof(folders);
  REQUIRE(none.ok());
  CHECK_FALSE(none.value().has_value());
  const auth::Key key = auth::Key::draw();
  folder.write("configuration/cluster.key", key.text() + "\n", 0600);
  const auto proof = read_proof(folders);
  REQUIRE(proof.ok());
  REQUIRE(proof.value().has_value());
  CHECK(proof.value()->key == key);
  CHECK(proof.value()->own == client_key_pair(folders.state).value());
}

TEST_CASE("a key file that holds no key is told with its path, and not what it holds") {
  const TemporaryFolder folder;
  const gpl::host::Folders folders{folder / "configuration", folder / "state"};
  const std::string path = folder.write("configuration/cluster.key", "swordfish\n", 0600);
  const auto proof = read_proof(folders);
  REQUIRE_FALSE(proof.ok());
  CHECK(proof.error().code == Code::denied);
  CHECK(proof.error().message.find(path) != std::string::npos);
  CHECK(proof.error().message.find("swordfish") == std::string::npos);
}
