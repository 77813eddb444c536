#include <doctest/doctest.h>

#include "all_fields.h"
#include "arbitrary.h"
#include "effort.h"
#include "samples.h"
#include "taken_as_sent.h"

namespace gpl::wire {
namespace {

/// Encoded values of any kind, and for commands the samples too.
template <class T>
std::vector<std::string> encoded() {
  std::vector<std::string> out;
  if constexpr (std::is_same_v<T, Command>) {
    for (const Command& command : sample_commands()) out.push_back(encode(command));
  }
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Prng random(seed);
    std::string bytes = encode(arbitrary<T>(random));
    if (bytes.size() < 4000) out.push_back(std::move(bytes));
  }
  return out;
}

TEST_CASE_TEMPLATE("a value that is cut anywhere is refused", T, GPL_TOP_LEVEL_TYPES,
                   GPL_CONVERSATION_TYPES) {
  for (const std::string& bytes : encoded<T>()) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Result<T> decoded = decode<T>(std::string_view(bytes).substr(0, size));
      REQUIRE(!decoded.ok());
      REQUIRE(decoded.error().code == Code::invalid);
    }
  }
}

TEST_CASE_TEMPLATE("a changed byte is refused, or is the encoding of something else", T,
                   GPL_TOP_LEVEL_TYPES, GPL_CONVERSATION_TYPES) {
  std::size_t taken = 0;
  for (std::string bytes : encoded<T>()) {
    int place = 0;
    for (char& byte : bytes) {
      const char was = byte;
      ++place;
      for (int bit = 0; bit < 9; ++bit) {
        // One bit, the highest, and the whole byte; or every one.
        if (effort() == 1 && bit != place % 7 && bit < 7) continue;
        byte = static_cast<char>(bit < 8 ? was ^ 1 << bit : ~was);
        const Result<T> decoded = decode<T>(bytes);
        if (!decoded.ok()) continue;
        ++taken;
        REQUIRE(taken_as_sent(decoded.value(), bytes));
      }
      byte = was;
    }
  }
  CHECK(taken > 300);  // the bytes of ids and strings may be any
}

TEST_CASE_TEMPLATE("bytes after a value are refused", T, GPL_TOP_LEVEL_TYPES,
                   GPL_CONVERSATION_TYPES) {
  for (const std::string& bytes : encoded<T>()) {
    const Result<T> decoded = decode<T>(bytes + '\0');
    REQUIRE(!decoded.ok());
    REQUIRE(decoded.error().message.ends_with(
        "nothing may follow the value, found 1 bytes at byte " + std::to_string(bytes.size())));
  }
}

TEST_CASE_TEMPLATE("nesting without end is refused", T, GPL_TOP_LEVEL_TYPES,
                   GPL_CONVERSATION_TYPES) {
  for (const char open : {'\x91', '\x92', '\x9f', '\x81'}) {
    CHECK(!decode<T>(std::string(1, format) + std::string(1000000, open)).ok());
  }
}

TEST_CASE_TEMPLATE("noise is refused or is an encoding", T, GPL_TOP_LEVEL_TYPES,
                   GPL_CONVERSATION_TYPES) {
  Prng random(4);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random.below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.next());
    const Result<T> decoded = decode<T>(std::string(1, format) + bytes);
    if (decoded.ok()) REQUIRE(taken_as_sent(decoded.value(), std::string(1, format) + bytes));
  }
}

}  // namespace
}  // namespace gpl::wire
