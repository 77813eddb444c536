#include "gpl/artifact/compression.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "gpl/core/prng.h"
#include "stored.h"

using namespace gpl;
using artifact::Compressor;
using artifact::decompress;
using store_tests::noise;

TEST_CASE("what was compressed comes back") {
  CHECK(rc::check([](const std::string& bytes) {
    const auto back = decompress(Compressor().compress(bytes), bytes.size());
    RC_ASSERT(back.ok());
    RC_ASSERT(back.value() == bytes);
  }));
}

TEST_CASE("one compressor serves many pieces") {
  Compressor compressor;
  CHECK(compressor.compress(std::string(9000, 'a')) ==
        Compressor().compress(std::string(9000, 'a')));
  CHECK(decompress(compressor.compress("b"), 1).value() == "b");
}

TEST_CASE("compression pays when it saves a tenth and a block") {
  Compressor compressor;
  CHECK(compressor.compress_if_it_pays(std::string(100'000, 'a')));
  CHECK_FALSE(compressor.compress_if_it_pays(noise(100'000, 1)));
  CHECK_FALSE(compressor.compress_if_it_pays(std::string(4096, 'a')));
  // A tenth of this is zeros, but for a few bytes.
  CHECK_FALSE(compressor.compress_if_it_pays(noise(90'500, 1) + std::string(9'500, '\0')));
  CHECK(compressor.compress_if_it_pays(noise(88'000, 1) + std::string(12'000, '\0')));
  // More than a tenth, but no block: 3 KB of 8.
  CHECK_FALSE(compressor.compress_if_it_pays(noise(5'000, 1) + std::string(3'000, '\0')));
}

TEST_CASE("a large piece is judged by samples from all over it") {
  Compressor compressor;
  const std::string random = noise(1 << 20, 1);
  const std::string even(1 << 20, 'a');
  CHECK_FALSE(compressor.compress_if_it_pays(random + random.substr(1)));
  CHECK(compressor.compress_if_it_pays(even + random));
  CHECK(compressor.compress_if_it_pays(random + even));
  CHECK(compressor.compress_if_it_pays(even + even));
}

TEST_CASE("a frame of more than is allowed is refused before it is unpacked") {
  const std::string bomb = Compressor().compress(std::string(1 << 26, '\0'));
  CHECK(bomb.size() < 100'000);
  const auto result = decompress(bomb, 1 << 22);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == Code::invalid);
}

TEST_CASE("what is no frame, or half a one, is refused") {
  const std::string frame = Compressor().compress(noise(5000, 1));
  CHECK_FALSE(decompress("", 10'000).ok());
  CHECK_FALSE(decompress("no frame at all", 10'000).ok());
  CHECK_FALSE(decompress(frame.substr(0, frame.size() / 2), 10'000).ok());
  CHECK_FALSE(decompress(frame + frame, 10'000).ok());
  CHECK(decompress(frame, 10'000).ok());
}
