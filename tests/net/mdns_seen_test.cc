#include "../../src/net/mdns_seen.h"

#include <doctest/doctest.h>

#include "../../src/net/mdns_echo.h"

using namespace gpl;
using namespace gpl::net;

namespace {

MdnsEvent found(const std::string& instance, const std::string& address) {
  return {instance, MdnsFound{{instance, 1, {}}, {{address, 1}}}};
}
MdnsEvent gone(const std::string& instance) { return {instance, std::nullopt}; }

using Events = std::vector<MdnsEvent>;

}  // namespace

TEST_CASE("an instance is told as the link has it that knows it longest") {
  MdnsSeen seen;
  CHECK(seen.take(2, found("a", "10.0.2.1")) == Events{found("a", "10.0.2.1")});
  CHECK(seen.take(1, found("a", "10.0.1.1")).empty());
  CHECK(seen.take(1, found("a", "10.0.1.9")).empty());
  CHECK(seen.take(2, found("a", "10.0.2.9")) == Events{found("a", "10.0.2.9")});
  CHECK(seen.take(2, gone("a")) == Events{found("a", "10.0.1.9")});
  CHECK(seen.take(1, gone("a")) == Events{gone("a")});
  CHECK(seen.take(1, gone("a")).empty());
}

TEST_CASE("with a link goes what was found there alone") {
  MdnsSeen seen;
  (void)seen.take(1, found("a", "10.0.1.1"));
  (void)seen.take(1, found("b", "10.0.1.2"));
  (void)seen.take(2, found("b", "10.0.2.2"));
  (void)seen.take(2, found("c", "10.0.2.3"));
  CHECK(seen.drop(1) == Events{gone("a"), found("b", "10.0.2.2")});
  CHECK(seen.drop(1).empty());
}

TEST_CASE("a packet of one's own is passed over once for each time that it was sent") {
  MdnsEcho echo;
  const Moment now{1000};
  echo.sent("question", now);
  echo.sent("question", now);
  CHECK_FALSE(echo.take("another", now));
  CHECK(echo.take("question", now));
  CHECK(echo.take("question", now + seconds(1)));
  CHECK_FALSE(echo.take("question", now + seconds(1)));
}

TEST_CASE("a packet that did not come back is not waited for long, nor are many kept") {
  MdnsEcho echo;
  const Moment now{1000};
  echo.sent("question", now);
  CHECK_FALSE(echo.take("question", now + seconds(6)));
  for (int i = 0; i < 1000; ++i) echo.sent(std::to_string(i), now + seconds(6));
  CHECK_FALSE(echo.take("0", now + seconds(6)));
  CHECK(echo.take("999", now + seconds(6)));
}
