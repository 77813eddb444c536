#include "gpl/host/apple.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

using gpl::Accelerator;
using gpl::host::parse_apple;

namespace {

constexpr const char* sysctl = "34359738368\nApple M2 Pro\n";
constexpr const char* displays = R"({
  "SPDisplaysDataType" : [
    {
      "_name" : "kHW_AppleM2ProItem",
      "spdisplays_mtlgpufamilysupport" : "spdisplays_metal3",
      "spdisplays_ndrvs" : [ { "_name" : "Color LCD" } ],
      "spdisplays_vendor" : "sppci_vendor_Apple",
      "sppci_bus" : "spdisplays_builtin",
      "sppci_cores" : "19",
      "sppci_device_type" : "spdisplays_gpu",
      "sppci_model" : "Apple M2 Pro"
    }
  ]
})";

}  // namespace

TEST_CASE("Apple Silicon has one GPU, which shares the host's memory") {
  const auto found = parse_apple(sysctl, displays);
  CHECK(found.problems.empty());
  REQUIRE(found.accelerators.size() == 1);
  const Accelerator& gpu = found.accelerators[0];
  CHECK(gpu.id == "mps:0");
  CHECK(gpu.kind == gpl::AcceleratorKind::mps);
  CHECK(gpu.vendor == "apple");
  CHECK(gpu.name == "Apple M2 Pro");
  CHECK(gpu.memory_bytes == std::uint64_t{34359738368});
  CHECK(gpu.unified_memory);
  CHECK(gpu.usable);
}

TEST_CASE("a Mac with an Intel processor has none") {
  CHECK(parse_apple("17179869184\nIntel(R) Core(TM) i7-9750H CPU @ 2.60GHz\n",
                    R"({"SPDisplaysDataType":[{"_name":"AMD Radeon Pro 5300M",
                        "spdisplays_vendor":"sppci_vendor_amd"}]})")
            .accelerators.empty());
}

TEST_CASE("without the profiler's answer the processor names the GPU, and that is told") {
  for (const char* text : {"", "{", "[]", "{\"SPDisplaysDataType\":{}}", "\xff\xfe",
                           "{\"SPDisplaysDataType\":[1,{\"spdisplays_vendor\":7}]}"}) {
    const auto found = parse_apple(sysctl, text);
    REQUIRE(found.accelerators.size() == 1);
    CHECK(found.accelerators[0].name == "Apple M2 Pro");
    CHECK(found.problems.size() == 1);
  }
}

TEST_CASE("memory that sysctl does not say is unknown") {
  CHECK_FALSE(parse_apple("?\nApple M1\n", displays).accelerators.at(0).memory_bytes.has_value());
  CHECK(parse_apple("", "").accelerators.empty());
}

TEST_CASE("any bytes get an answer") {
  CHECK(rc::check("any bytes", [](const std::string& a, const std::string& b) {
    (void)parse_apple(a, b);
    (void)parse_apple(sysctl, "{\"SPDisplaysDataType\":[" + b + "]}");
  }));
}
