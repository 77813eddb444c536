#include "gpl/auth/key_pair.h"

#include <doctest/doctest.h>

#include <string>

#include "hex.h"

using gpl::Code;
using gpl::auth::draw_key_pair;
using gpl::auth::key_pair_of;
using gpl::auth::KeyBytes;
using gpl::auth::KeyPair;
using gpl::auth::name_of;
using gpl::auth::seal;
using gpl::auth::unseal;

TEST_CASE("a secret half has the public half that another implementation gives it") {
  std::string secret;
  for (char c = 0; c < 32; ++c) secret += c;
  const KeyPair pair = key_pair_of(array_of<KeyBytes>(secret));
  CHECK(pair.public_half ==
        array_of<KeyBytes>(
            from_hex("8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f")));
}

TEST_CASE("pairs that are drawn differ, and are what their secret gives") {
  const KeyPair one = draw_key_pair();
  CHECK(key_pair_of(one.secret) == one);
  CHECK(!(draw_key_pair() == one));
}

TEST_CASE("the name of a public key is 16 hex digits of its own") {
  const KeyBytes key = draw_key_pair().public_half;
  CHECK(name_of(key).size() == 16);
  CHECK(name_of(key).find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(name_of(key) == name_of(KeyBytes(key)));
  CHECK(name_of(key) != name_of(draw_key_pair().public_half));
}

TEST_CASE("what is sealed is read by the holder of the pair alone") {
  const KeyPair pair = draw_key_pair();
  for (const std::string& text :
       {std::string(), std::string("a secret"), std::string(70000, 'x')}) {
    const std::string sealed = seal(text, pair.public_half);
    CHECK(unseal(sealed, pair).value() == text);
    CHECK(unseal(sealed, draw_key_pair()).error().code == Code::invalid);
    CHECK(seal(text, pair.public_half) != sealed);
  }
}

TEST_CASE("what was sealed and then changed or cut is invalid") {
  const KeyPair pair = draw_key_pair();
  const std::string sealed = seal("a secret", pair.public_half);
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK(unseal(changed, pair).error().code == Code::invalid);
    CHECK(unseal(sealed.substr(0, at), pair).error().code == Code::invalid);
  }
}

TEST_CASE("nothing is sealed to a key that everybody can open") {
  CHECK(seal("a secret", KeyBytes{}).empty());
}
