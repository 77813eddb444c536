#include "gpl/artifact/digest.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "gpl/artifact/chunk.h"

using namespace gpl;
using artifact::Chunk;
using artifact::Digest;
using artifact::digest_of;
using artifact::Hasher;

TEST_CASE("a digest is what b2sum -l 256 says") {
  CHECK(digest_of("").hex() == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  CHECK(digest_of("abc").hex() ==
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST_CASE("content in pieces has the digest of the whole") {
  CHECK(rc::check([](const std::string& one, const std::string& two, const std::string& three) {
    Hasher hasher;
    for (const std::string* piece : {&one, &two, &three}) hasher.add(*piece);
    RC_ASSERT(hasher.finish() == digest_of(one + two + three));
  }));
}

TEST_CASE("a digest is read back from its digits and from its bytes") {
  const Digest digest = digest_of("abc");
  CHECK(Digest::from_hex(digest.hex()) == digest);
  CHECK(Digest::from_bytes(digest.bytes()) == digest);
}

TEST_CASE("what is no digest is not read as one") {
  const std::string hex = digest_of("abc").hex();
  CHECK_FALSE(Digest::from_hex(hex.substr(1)));
  CHECK_FALSE(Digest::from_hex(hex + "0"));
  CHECK_FALSE(Digest::from_hex("B" + hex.substr(1)));
  CHECK_FALSE(Digest::from_hex("g" + hex.substr(1)));
  CHECK_FALSE(Digest::from_bytes(digest_of("abc").bytes().substr(1)));
}

TEST_CASE("digests are ordered as their digits are") {
  CHECK(rc::check([](const std::string& one, const std::string& two) {
    const Digest a = digest_of(one);
    const Digest b = digest_of(two);
    RC_ASSERT((a < b) == (a.hex() < b.hex()));
  }));
}

TEST_CASE("a chunk is named by its content, and under no other name is it one") {
  const Chunk chunk = Chunk::of("abc");
  CHECK(chunk.id() == digest_of("abc"));
  CHECK(Chunk::verified(chunk.id(), "abc").ok());
  const auto wrong = Chunk::verified(chunk.id(), "abd");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().code == Code::invalid);
}

TEST_CASE("a chunk is neither empty nor larger than 4 MiB") {
  const std::string large(artifact::chunk_size_bytes + 1, 'x');
  CHECK_FALSE(Chunk::verified(digest_of(""), "").ok());
  CHECK_FALSE(Chunk::verified(digest_of(large), large).ok());
}

TEST_CASE("a file has as many chunks as it takes") {
  using artifact::chunk_count;
  using artifact::chunk_size_bytes;
  CHECK(chunk_count(0) == 0);
  CHECK(chunk_count(1) == 1);
  CHECK(chunk_count(chunk_size_bytes) == 1);
  CHECK(chunk_count(chunk_size_bytes + 1) == 2);
  CHECK(chunk_count(~std::uint64_t{0}) == std::uint64_t{1} << 42U);
}

TEST_CASE("the chunk of zeros has the name of a full chunk of zeros") {
  CHECK(Chunk::zeros().id() == digest_of(std::string(artifact::chunk_size_bytes, '\0')));
  CHECK(Chunk::verified(artifact::zero_chunk_id(), Chunk::zeros().bytes()).ok());
}
