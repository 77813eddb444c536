#include "gpl/auth/key.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "gpl/auth/key_pair.h"
#include "hex.h"

using gpl::Code;
using gpl::Result;
using gpl::auth::draw_key_pair;
using gpl::auth::Key;
using gpl::auth::KeyBytes;
using gpl::auth::Role;
using gpl::auth::Signature;

namespace {

// Of the key whose bytes are 0 to 31; computed with Python's hashlib and cryptography from
// gpl-protocol(7), not by gpl.
constexpr const char* known_line =
    "gpl-cluster-key-1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh__9ZWO";

Key key_of(const std::string& line) {
  const Result<Key> key = Key::parse(line);
  REQUIRE(key.ok());
  return key.value();
}

/// What is wrong with a line, having looked that it repeats nothing of what follows its first word.
std::string fault_of(const std::string& line) {
  const Result<Key> key = Key::parse(line);
  REQUIRE(!key.ok());
  CHECK(key.error().code == Code::invalid);
  const std::string& message = key.error().message;
  const std::size_t blank = line.find(' ');
  if (blank != std::string::npos) {
    for (std::size_t i = blank + 1; i + 6 <= line.size(); ++i)
      CHECK(message.find(line.substr(i, 6)) == std::string::npos);
  }
  return message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a key is the same after its line was read, whatever the role") {
  const Key cluster = Key::draw();
  for (const Key& key :
       {cluster, cluster.derive(Role::client).value(), cluster.derive(Role::observer).value()}) {
    const Key again = key_of("  " + key.text() + " \r\n");
    CHECK(again == key);
    CHECK(again.text() == key.text());
    CHECK(again.role() == key.role());
  }
}

TEST_CASE("keys that are drawn differ") { CHECK(!(Key::draw() == Key::draw())); }

TEST_CASE("a known key has the known line, derivations, name and signature") {
  const Key key = key_of(known_line);
  CHECK(key.text() == known_line);
  CHECK(to_hex({reinterpret_cast<const char*>(key.psk(Role::peer).value().data()), 32}) ==
        "07bbf3fe73c703247602ec459522a7554db172932d4e38605c9504b3fdfb6b50");
  CHECK(to_hex({reinterpret_cast<const char*>(key.psk(Role::client).value().data()), 32}) ==
        "51aa54cbeedc44faae4655e5046cd8183648f772e1b4b8bbf957e27334fe0afd");
  CHECK(to_hex({reinterpret_cast<const char*>(key.psk(Role::observer).value().data()), 32}) ==
        "0f9942bcf0afce838a605d01f8cff9e9a1ea759fa21aa6e1383a58f1beb324ce");
  CHECK(key.fingerprint() == "13dca22cf6a2af0d");
  KeyBytes static_public{};
  static_public.fill(9);
  const Signature signature = key.sign(static_public).value();
  CHECK(to_hex({reinterpret_cast<const char*>(signature.data()), signature.size()}) ==
        "5f84d43cc3e816795eea5a51ae5a7e6d76d5afcc9c2c3dee9138240fd9911d65e5aa519261915bbff24b2b1817"
        "f3f365fa2d2417520eb19eae1fd2b272dad209");
  CHECK(key.derive(Role::client).value().text() ==
        "gpl-client-key-1 "
        "UapUy-7cRPquRlXlBGzYGDZI93LhtLi7-VficzT-Cv2EOQ4ERGtBLfQxNs0A8rNTD2P0qk-"
        "FfBLySQr4rdcUnsFVy20");
  CHECK(key.derive(Role::observer).value().text() ==
        "gpl-observer-key-1 "
        "D5lCvPCvzoOKYF0B-M_56aHqdZ-iGqbhODpY8b6zJM6EOQ4ERGtBLfQxNs0A8rNTD2P0qk-"
        "FfBLySQr4rdcUnuxacZU");
}

TEST_CASE("a derived key has its own role's pre-shared key and no other") {
  const Key cluster = Key::draw();
  for (const Role role : {Role::client, Role::observer}) {
    const Key derived = cluster.derive(role).value();
    CHECK(derived.psk(role).value() == cluster.psk(role).value());
    for (const Role other : {Role::peer, Role::client, Role::observer}) {
      if (other == role) continue;
      CHECK(derived.psk(other).error().code == Code::denied);
      CHECK(derived.derive(other).error().code ==
            (other == Role::peer ? Code::invalid : Code::denied));
    }
  }
  CHECK(cluster.derive(Role::peer).error().code == Code::invalid);
  CHECK(cluster.psk(Role::peer).value() != cluster.psk(Role::client).value());
  CHECK(cluster.psk(Role::observer).value() != cluster.psk(Role::client).value());
}

TEST_CASE("the cluster key signs, and every key of the cluster checks") {
  const Key cluster = Key::draw();
  const Key client = cluster.derive(Role::client).value();
  const KeyBytes static_public = draw_key_pair().public_half;
  const Signature signature = cluster.sign(static_public).value();
  CHECK(cluster.verify(static_public, signature));
  CHECK(client.verify(static_public, signature));
  CHECK(client.sign(static_public).error().code == Code::denied);
  CHECK(!cluster.verify(draw_key_pair().public_half, signature));
  CHECK(!Key::draw().verify(static_public, signature));
  for (std::size_t at = 0; at < signature.size(); ++at) {
    Signature changed = signature;
    changed[at] ^= 1;
    CHECK(!cluster.verify(static_public, changed));
  }
}

TEST_CASE("the keys of a cluster have one fingerprint, of 16 hex digits") {
  const Key cluster = Key::draw();
  CHECK(cluster.fingerprint().size() == 16);
  CHECK(cluster.fingerprint().find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(cluster.derive(Role::observer).value().fingerprint() == cluster.fingerprint());
  CHECK(Key::draw().fingerprint() != cluster.fingerprint());
}

TEST_CASE("a line that was changed or cut is told without what it contains") {
  const std::string line = Key::draw().text();
  const std::size_t start = line.find(' ') + 1;
  for (std::size_t at = start; at < line.size(); ++at) {
    std::string changed = line;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    CHECK(contains(fault_of(changed), "changed"));
    CHECK(contains(fault_of(line.substr(0, at)), "characters follow"));
  }
  CHECK(contains(fault_of(line + "A"), "49 characters follow"));
  std::string foreign = line;
  foreign[start + 5] = '+';
  CHECK(contains(fault_of(foreign), "character that no key has"));
  foreign[start + 5] = ' ';
  CHECK(contains(fault_of(foreign), "character that no key has"));
  foreign[start + 5] = '\0';
  CHECK(contains(fault_of(foreign), "character that no key has"));
}

TEST_CASE("a line with another word says which there are") {
  CHECK(contains(fault_of(""), "empty"));
  CHECK(contains(fault_of(" \n"), "empty"));
  const std::string secret = Key::draw().text().substr(18);
  for (const std::string& word :
       {std::string("gpl-cluster-key"), std::string("GPL-CLUSTER-KEY-1"),
        std::string("ssh-ed25519"), secret, std::string("gpl-cluster-key-")})
    CHECK(contains(fault_of(word + " " + secret), "gpl-cluster-key-1, gpl-client-key-1"));
  CHECK(!contains(fault_of(secret), secret.substr(0, 6)));
}

TEST_CASE("a key of one role does not pass for one of another") {
  const std::string client = Key::draw().derive(Role::client).value().text();
  CHECK(contains(fault_of("gpl-observer-key-1" + client.substr(client.find(' '))), "changed"));
  CHECK(contains(fault_of("gpl-cluster-key-1" + client.substr(client.find(' '))),
                 "characters follow"));
}

TEST_CASE("a key of a later form says to install a newer gpl") {
  CHECK(contains(fault_of("gpl-cluster-key-2 xyz"), "gpl-cluster-key-2"));
  CHECK(contains(fault_of("gpl-client-key-12 xyz"), "newer"));
}

TEST_CASE("roles have names") {
  CHECK(gpl::auth::name_of(Role::peer) == "peer");
  CHECK(gpl::auth::name_of(Role::client) == "client");
  CHECK(gpl::auth::name_of(Role::observer) == "observer");
}
