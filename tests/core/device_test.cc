#include "gpl/core/device.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

using gpl::accelerator_kind;
using gpl::AcceleratorKind;
using gpl::ComputeCapability;
using gpl::parse_compute_capability;

TEST_CASE("every kind of accelerator is read back from its name") {
  for (const AcceleratorKind kind :
       {AcceleratorKind::cuda, AcceleratorKind::rocm, AcceleratorKind::mps, AcceleratorKind::xpu}) {
    CHECK(accelerator_kind(gpl::name_of(kind)) == kind);
  }
}

TEST_CASE("a word that is no kind is none") {
  for (const char* word : {"", "CUDA", "cuda ", "any", "cud", "cudaa"}) {
    CHECK_FALSE(accelerator_kind(word));
  }
}

TEST_CASE("compute capabilities are compared by number") {
  CHECK(ComputeCapability{9, 0} < ComputeCapability{12, 1});
  CHECK(ComputeCapability{8, 6} < ComputeCapability{8, 9});
  CHECK(ComputeCapability{8, 9} < ComputeCapability{8, 10});
}

TEST_CASE("a compute capability is MAJOR.MINOR and nothing else") {
  CHECK(parse_compute_capability("12.1").value() == ComputeCapability{12, 1});
  for (const char* text : {"", "9", "9.", ".9", "9.0.1", " 9.0", "9.0 ", "9.x", "-9.0", "9.-0",
                           "+9.0", "[N/A]", "99999999999.0"}) {
    const auto parsed = parse_compute_capability(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == gpl::Code::invalid);
  }
}

TEST_CASE("a compute capability is read back as it was") {
  CHECK(rc::check("round trip", [] {
    const ComputeCapability any{*rc::gen::inRange(0, 1000), *rc::gen::inRange(0, 1000)};
    RC_ASSERT(parse_compute_capability(to_string(any)).value() == any);
  }));
}
