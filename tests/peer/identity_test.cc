#include "gpl/peer/identity.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "gpl/host/machine.h"
#include "temporary_folder.h"

using gpl::Code;
using gpl::peer::Identity;

namespace {

Identity founded(const std::string& state) {
  const auto identity = gpl::peer::found_identity(state);
  REQUIRE_MESSAGE(identity.ok(), (identity.ok() ? "" : identity.error().message));
  return identity.value();
}

}  // namespace

TEST_CASE("a state folder begins without an identity") {
  const TemporaryFolder folder;
  const auto identity = gpl::peer::read_identity(folder / "state");
  REQUIRE(identity.ok());
  CHECK(!identity.value());
}

TEST_CASE("who founds a cluster is the same ever after") {
  const TemporaryFolder folder;
  const std::string state = folder / "deep/state";
  const Identity identity = founded(state);
  CHECK(identity.peer.value != 0);
  CHECK((identity.peer.value >> 63) == 0);
  CHECK(identity.node.value == identity.peer.value);
  CHECK(identity.cluster != 0);
  CHECK(identity.name == gpl::host::host_name());
  CHECK(identity.founded_at.since_epoch_ms > 0);
  const auto read = gpl::peer::read_identity(state);
  REQUIRE(read.ok());
  CHECK(read.value() == identity);
}

TEST_CASE("two founders are not alike") {
  const TemporaryFolder folder;
  const Identity one = founded(folder / "one");
  const Identity other = founded(folder / "other");
  CHECK(one.peer != other.peer);
  CHECK(one.cluster != other.cluster);
}

TEST_CASE("an identity is for its owner's eyes") {
  const TemporaryFolder folder;
  founded(folder / "state");
  struct stat status;
  REQUIRE(::stat((folder / "state/peer/identity").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(::stat((folder / "state/peer").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("a second cluster is not founded over the first") {
  const TemporaryFolder folder;
  const Identity identity = founded(folder.path());
  const auto again = gpl::peer::found_identity(folder.path());
  REQUIRE(!again.ok());
  CHECK(again.error().code == Code::busy);
  CHECK(again.error().message == folder / "peer/identity" +
                                     " is there already: this machine belongs to cluster " +
                                     gpl::peer::short_name(identity.cluster));
  CHECK(gpl::peer::read_identity(folder.path()).value() == identity);
}

TEST_CASE("who leaves may found anew, as somebody else") {
  const TemporaryFolder folder;
  const Identity before = founded(folder.path());
  REQUIRE(gpl::peer::set_draining(folder.path(), true).ok());
  REQUIRE(gpl::peer::remove_identity(folder.path()).ok());
  CHECK(!gpl::peer::read_identity(folder.path()).value());
  CHECK(!gpl::peer::is_draining(folder.path()));
  CHECK(gpl::peer::remove_identity(folder.path()).ok());
  CHECK(founded(folder.path()).peer != before.peer);
}

TEST_CASE("leaving without ever having been anybody is fine") {
  const TemporaryFolder folder;
  CHECK(gpl::peer::remove_identity(folder / "nothing").ok());
  CHECK(folder.empty());
}

TEST_CASE("a damaged identity is nobody") {
  const TemporaryFolder folder;
  founded(folder.path());
  const std::string whole = folder.read("peer/identity");
  const auto refusal = [&](const std::string& bytes) {
    folder.write("peer/identity", bytes);
    const auto read = gpl::peer::read_identity(folder.path());
    REQUIRE(!read.ok());
    CHECK(read.error().code == Code::invalid);
    CHECK(read.error().message.starts_with(folder / "peer/identity is damaged"));
  };
  refusal("");
  refusal(whole.substr(0, whole.size() - 1));
  const std::size_t cluster = whole.find("cluster=");
  refusal(whole.substr(0, cluster));
  refusal(whole.substr(0, cluster + 10) + whole.substr(cluster + 11));
  std::string negative = whole;
  negative.insert(negative.find("peer=") + 5, "-");
  refusal(negative);
}

TEST_CASE("an identity of a later gpl is left to that one") {
  const TemporaryFolder folder;
  folder.write("peer/identity", std::string("form=2\0", 7));
  const auto read = gpl::peer::read_identity(folder.path());
  REQUIRE(!read.ok());
  CHECK(read.error().code == Code::unsupported);
}

TEST_CASE("draining is said and taken back") {
  const TemporaryFolder folder;
  CHECK(!gpl::peer::is_draining(folder.path()));
  REQUIRE(gpl::peer::set_draining(folder.path(), true).ok());
  REQUIRE(gpl::peer::set_draining(folder.path(), true).ok());
  CHECK(gpl::peer::is_draining(folder.path()));
  REQUIRE(gpl::peer::set_draining(folder.path(), false).ok());
  REQUIRE(gpl::peer::set_draining(folder.path(), false).ok());
  CHECK(!gpl::peer::is_draining(folder.path()));
}

TEST_CASE("a cluster is told by four digits") {
  CHECK(gpl::peer::short_name(0x7f3a'0000'0000'0001) == "7f3a");
  CHECK(gpl::peer::short_name(1) == "0000");
}

TEST_CASE("who joins is of the cluster that it joins, and somebody of its own") {
  const TemporaryFolder folder;
  const Identity founder = founded(folder / "one");
  const auto joined = gpl::peer::join_identity(folder / "other", founder.cluster);
  REQUIRE(joined.ok());
  CHECK(joined.value().cluster == founder.cluster);
  CHECK(joined.value().peer != founder.peer);
  CHECK(joined.value().peer.value != 0);
  CHECK(joined.value().node.value == joined.value().peer.value);
  CHECK(gpl::peer::read_identity(folder / "other").value() == joined.value());
}

TEST_CASE("who belongs to a cluster does not join another") {
  const TemporaryFolder folder;
  const Identity identity = founded(folder.path());
  const auto again = gpl::peer::join_identity(folder.path(), identity.cluster + 1);
  REQUIRE(!again.ok());
  CHECK(again.error().code == Code::busy);
  CHECK(gpl::peer::read_identity(folder.path()).value() == identity);
}

TEST_CASE("the static key is made with the identity, for its owner's eyes, and stays") {
  const TemporaryFolder folder;
  founded(folder.path());
  struct stat status;
  REQUIRE(::stat((folder / "peer/static.key").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  const auto key = gpl::peer::static_key(folder.path());
  REQUIRE(key.ok());
  CHECK(key.value() == gpl::auth::key_pair_of(key.value().secret));
  CHECK(gpl::peer::static_key(folder.path()).value() == key.value());
}

TEST_CASE("two peers have different static keys") {
  const TemporaryFolder folder;
  founded(folder / "one");
  founded(folder / "other");
  CHECK(gpl::peer::static_key(folder / "one").value().secret !=
        gpl::peer::static_key(folder / "other").value().secret);
}

TEST_CASE("a folder of before static keys gets one") {
  const TemporaryFolder folder;
  founded(folder.path());
  std::filesystem::remove(folder / "peer/static.key");
  const auto key = gpl::peer::static_key(folder.path());
  REQUIRE(key.ok());
  CHECK(gpl::peer::static_key(folder.path()).value() == key.value());
}

TEST_CASE("a damaged static key is not replaced in silence") {
  const TemporaryFolder folder;
  founded(folder.path());
  const std::string whole = folder.read("peer/static.key");
  for (const std::string& bytes :
       {std::string(), whole.substr(0, whole.size() - 2), whole.substr(0, whole.size() - 2) + "g",
        std::string("form=1\0secret=\0", 15)}) {
    folder.write("peer/static.key", bytes);
    const auto key = gpl::peer::static_key(folder.path());
    REQUIRE(!key.ok());
    CHECK(key.error().code == Code::invalid);
    CHECK(key.error().message.starts_with(folder / "peer/static.key is damaged"));
  }
}

TEST_CASE("who leaves leaves no static key and no addresses behind") {
  const TemporaryFolder folder;
  founded(folder.path());
  folder.write("peer/peers", "hints");
  REQUIRE(gpl::peer::remove_identity(folder.path()).ok());
  CHECK(std::filesystem::is_empty(folder / "peer"));
}
