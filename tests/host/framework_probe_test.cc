#include "gpl/host/framework_probe.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <memory>

#include "gpl/core/framework_table.h"
#include "temporary_folder.h"

namespace gpl::host {
namespace {

using Names = std::vector<std::string>;

Accelerator card(AcceleratorKind kind, bool usable = true) {
  Accelerator accelerator;
  accelerator.kind = kind;
  accelerator.usable = usable;
  return accelerator;
}

// What Python makes of a probe's program when `module` stands for the framework.
std::string run_probe(const std::string& name, const std::string& module) {
  const TemporaryFolder folder;
  folder.write("modules/" + name + ".py", module);
  const Names command = framework_probe_command("python3", *framework_probe(name));
  folder.write("program.py", "import sys\nsys.path.insert(0, '" + folder.path() + "/modules')\n" +
                                 command.back());
  const std::string shell =
      "cd " + folder.path() + " && /usr/bin/python3 -E -B program.py 2>/dev/null";
  std::string output;
  FILE* pipe = ::popen(shell.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char chunk[4096];
  for (std::size_t got; (got = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) {
    output.append(chunk, got);
  }
  ::pclose(pipe);
  return output;
}

constexpr const char* stand_in_torch =
    "print('noise without an end', end='')\n"
    "__version__ = '2.4.0+cu121'\n"
    "class version: hip = None\n"
    "class backends: pass\n"
    "class card: name = 'NVIDIA H200'; total_memory = 150754820096\n"
    "class cuda:\n"
    "  is_available = staticmethod(lambda: True)\n"
    "  device_count = staticmethod(lambda: 2)\n"
    "  get_device_properties = staticmethod(lambda i: card)\n";

TEST_CASE("every probe is of a framework in the table") {
  for (const FrameworkProbe& probe : framework_probes()) {
    CHECK(framework_variant(probe.name) != nullptr);
    CHECK(framework_probe(probe.name) == &probe);
  }
  CHECK(framework_probe("numpy") == nullptr);
}

TEST_CASE("the command keeps the user's packages and leaves PYTHON variables out") {
  const Names command = framework_probe_command("/venv/bin/python", *framework_probe("torch"));
  REQUIRE(command.size() == 5);
  CHECK(Names(command.begin(), command.begin() + 4) == Names{"/venv/bin/python", "-E", "-B", "-c"});
}

TEST_CASE("a framework's own noise does not hide its answer") {
  const auto answer = parse_framework_probe(run_probe("torch", stand_in_torch));
  REQUIRE(answer.ok());
  const SeenDevice device{AcceleratorKind::cuda, "NVIDIA H200", 150754820096};
  CHECK(answer.value() == FrameworkProbeAnswer{"2.4.0+cu121", {device, device}, ""});
}

TEST_CASE("a framework that cannot be imported answers why") {
  const auto answer = parse_framework_probe(
      run_probe("cupy", "raise ImportError('libcudart.so.12: cannot open\\nshared object')\n"));
  REQUIRE(answer.ok());
  CHECK(answer.value().error == "ImportError: libcudart.so.12: cannot open shared object");
}

TEST_CASE("what is no answer is refused, and unknown values in one are passed over") {
  for (const char* output : {"", "noise\n", "\ngpl-framework-probe {", "\ngpl-framework-probe []\n",
                             "gpl-framework-probe {}\n", "\ngpl-framework-probe \xff\n"}) {
    CAPTURE(output);
    CHECK_FALSE(parse_framework_probe(output).ok());
  }
  const auto answer = parse_framework_probe(
      "\ngpl-framework-probe {\"version\": 3, \"devices\": [1, {\"kind\": \"tpu\"}, {\"kind\": "
      "\"rocm\", \"memory_bytes\": -1}]}\n");
  REQUIRE(answer.ok());
  CHECK(answer.value().devices ==
        std::vector<SeenDevice>{{AcceleratorKind::rocm, "", std::nullopt}});
}

TEST_CASE("agreement is silent; each disagreement is one sentence") {
  FrameworkBuild build;
  build.version = "2.4.0+cu121";
  build.backends = {AcceleratorKind::cuda};
  const SeenDevice seen{AcceleratorKind::cuda, "x", std::nullopt};
  const std::vector<Accelerator> two{card(AcceleratorKind::cuda), card(AcceleratorKind::cuda),
                                     card(AcceleratorKind::cuda, false)};
  CHECK(probe_disagreements("torch", build, two, {"2.4.0", {seen, seen}, ""}).empty());
  CHECK(probe_disagreements("torch", build, two, {"2.3.1", {seen}, ""}) ==
        Names{"torch says that it is 2.3.1, its metadata 2.4.0+cu121",
              "torch sees 1 cuda device, the driver 2 usable"});
  build.backends.clear();
  CHECK(probe_disagreements("torch", build, two, {"2.4.0", {seen}, ""}) ==
        Names{"torch sees 1 cuda device, its files do not say that it drives such"});
  CHECK(probe_disagreements("torch", build, two, {"", {}, "ImportError: x"}) ==
        Names{"torch could not be asked: ImportError: x"});
}

}  // namespace
}  // namespace gpl::host
