#include "gpl/host/direct_url.h"

#include <doctest/doctest.h>

namespace gpl::host {
namespace {

TEST_CASE("an editable install names its source folder") {
  CHECK(parse_direct_url(R"({"dir_info": {"editable": true}, "url": "file:///src/my%20vllm"})") ==
        DirectUrl{true, "/src/my vllm"});
  CHECK(parse_direct_url(R"({"dir_info": {"editable": true}, "url": "file://localhost/s"})") ==
        DirectUrl{true, "/s"});
}

TEST_CASE("what was installed from elsewhere, or is no such object, is not editable") {
  CHECK(parse_direct_url(R"({"dir_info": {}, "url": "file:///src"})") == DirectUrl{false, "/src"});
  CHECK(parse_direct_url(R"({"url": "https://example.org/a.whl", "archive_info": {}})") ==
        DirectUrl{});
  for (const char* text : {"", "null", "[1]", "{\"dir_info\": 3, \"url\": 4}", "{", "\xff",
                           "{\"dir_info\": {\"editable\": \"yes\"}}"}) {
    CAPTURE(text);
    CHECK(parse_direct_url(text) == DirectUrl{});
  }
  CHECK(parse_direct_url(R"({"url": "file:///a%00b"})").folder.empty());
}

}  // namespace
}  // namespace gpl::host
