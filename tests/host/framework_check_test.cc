#include "gpl/host/framework_check.h"

#include <doctest/doctest.h>

#include "../temporary_folder.h"

using namespace gpl;
using host::FrameworkCheck;
using host::FrameworkChecks;

namespace {

FrameworkCheck answer_of_torch() {
  FrameworkCheck check;
  check.environment_root = "/opt/llm";
  check.framework = "torch";
  check.at = Instant{1'700'000'000'000};
  check.answer.version = "2.4.0";
  check.answer.devices = {{AcceleratorKind::cuda, "NVIDIA H200", std::uint64_t{150} << 30},
                          {AcceleratorKind::cuda, "", std::nullopt}};
  return check;
}

}  // namespace

TEST_CASE("a kept answer comes back whole, and only for its environment and framework") {
  const TemporaryFolder state;
  const FrameworkChecks checks(state.path());
  CHECK_FALSE(checks.last("/opt/llm", "torch"));
  REQUIRE(checks.keep(answer_of_torch()).ok());
  CHECK(checks.last("/opt/llm", "torch") == answer_of_torch());
  CHECK_FALSE(checks.last("/opt/llm", "jax"));
  CHECK_FALSE(checks.last("/opt/other", "torch"));
}

TEST_CASE("a damaged answer is none") {
  const TemporaryFolder state;
  const FrameworkChecks checks(state.path());
  REQUIRE(checks.keep(answer_of_torch()).ok());
  state.write("probes/%opt%llm,torch", "garbage without an end");
  CHECK_FALSE(checks.last("/opt/llm", "torch"));
}

TEST_CASE("a Python that cannot answer is told in the answer, with its last words") {
  const TemporaryFolder root;
  PythonEnvironment environment;
  environment.root = root.path();
  environment.python = root.write("python", "#!/bin/sh\necho no such module >&2\nexit 3\n", 0755);
  const host::FrameworkProbe* probe = host::framework_probe("torch");
  REQUIRE(probe != nullptr);
  const FrameworkCheck check = host::check_framework(environment, *probe, {"PATH=/usr/bin:/bin"});
  CHECK(check.answer.error == "exit 3: no such module");
}

TEST_CASE("the program of a probe runs under a bound on its memory") {
  const TemporaryFolder root;
  PythonEnvironment environment;
  environment.root = root.path();
  environment.python = root.write("python", "#!/bin/sh\nulimit -d >&2\nexit 3\n", 0755);
  const FrameworkCheck check =
      host::check_framework(environment, *host::framework_probe("torch"), {"PATH=/usr/bin:/bin"});
  CHECK(check.answer.error ==
        "exit 3: " + std::to_string(host::framework_probe_memory_bytes / 1024));
}
