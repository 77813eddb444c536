#include "gpl/host/device_probe.h"

#include <doctest/doctest.h>

#include <string>

#include "../temporary_folder.h"

using gpl::host::DeviceProbeOptions;
using gpl::host::DeviceReport;
using gpl::host::find_nvidia_tool;
using gpl::host::probe_devices;

namespace {

const std::string unified =
    "0, GPU-0, 0000000F:01:00.0, 580.95.05, [N/A], [N/A], 12.1, [N/A], P8, 31, 0, NVIDIA GB10";

/// A tool that answers every query with `answer`.
std::string tool(const std::string& answer) { return "#!/bin/sh\necho '" + answer + "'\n"; }

DeviceProbeOptions options(const TemporaryFolder& root, std::vector<std::string> environment = {}) {
  DeviceProbeOptions made;
  made.root = root.path();
  made.environment = std::move(environment);
  made.environment.push_back("PATH=" + (root / "bin") + ":/usr/bin:/bin");
  return made;
}

}  // namespace

TEST_CASE("a machine without a tool has no cards and no problem") {
  const TemporaryFolder root;
  const DeviceReport report = probe_devices(options(root));
  CHECK(report.accelerators.empty());
  CHECK(report.problems.empty());
}

TEST_CASE("the tool on PATH is run, and WSL's where none is on PATH") {
  const TemporaryFolder root;
  const std::string wsl = root.write("usr/lib/wsl/lib/nvidia-smi", tool(""), 0755);
  CHECK(find_nvidia_tool(options(root)).path == wsl);
  const std::string on_path = root.write("bin/nvidia-smi", tool(""), 0755);
  CHECK(find_nvidia_tool(options(root)).path == on_path);
}

TEST_CASE("GPL_NVIDIA_SMI goes before PATH, and is not replaced where it is wrong") {
  const TemporaryFolder root;
  root.write("bin/nvidia-smi", tool(""), 0755);
  const std::string named = root.write("named", tool(""), 0755);
  CHECK(find_nvidia_tool(options(root, {"GPL_NVIDIA_SMI=" + named})).path == named);
  const auto wrong = find_nvidia_tool(options(root, {"GPL_NVIDIA_SMI=/no/such"}));
  CHECK(wrong.path.empty());
  CHECK(wrong.problem.find("/no/such") != std::string::npos);
  CHECK_FALSE(find_nvidia_tool(options(root, {"GPL_NVIDIA_SMI="})).path.empty());
}

TEST_CASE("a relative GPL_NVIDIA_SMI is one in the working folder") {
  const TemporaryFolder root;
  const std::string named = root.write("here/tool", tool(unified), 0755);
  DeviceProbeOptions where = options(root, {"GPL_NVIDIA_SMI=./tool"});
  where.working_folder = root / "here";
  CHECK(probe_devices(where).accelerators.size() == 1);
}

TEST_CASE("a tool that is not executable is a problem that says so, and hides WSL's not") {
  const TemporaryFolder root;
  root.write("bin/nvidia-smi", tool(""), 0644);
  const DeviceReport report = probe_devices(options(root));
  CHECK(report.accelerators.empty());
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].source == "nvidia-smi");
  CHECK_FALSE(report.problems[0].exit.has_value());
  CHECK(report.problems[0].message.find("not executable") != std::string::npos);
  root.write("usr/lib/wsl/lib/nvidia-smi", tool(unified), 0755);
  CHECK(probe_devices(options(root)).accelerators.size() == 1);
}

TEST_CASE("a file that is no program at all is a problem") {
  const TemporaryFolder root;
  root.write("bin/nvidia-smi",
             std::string("\x7f"
                         "ELF\x01 broken\n",
                         12),
             0755);
  const DeviceReport report = probe_devices(options(root));
  CHECK(report.accelerators.empty());
  CHECK(report.problems.size() >= 1);
}

TEST_CASE("a card that shares the host's memory has as much as the host") {
  const TemporaryFolder root;
  root.write("proc/meminfo", "MemTotal: 125829120 kB\n");
  root.write("bin/nvidia-smi", tool(unified), 0755);
  const DeviceReport report = probe_devices(options(root));
  REQUIRE(report.accelerators.size() == 1);
  CHECK(report.accelerators[0].unified_memory);
  CHECK(report.accelerators[0].memory_bytes == std::uint64_t{125829120} * 1024);
}

TEST_CASE("a tool that hangs is given up at the deadline, and told") {
  const TemporaryFolder root;
  root.write("bin/nvidia-smi", "#!/bin/sh\nexec sleep 3600\n", 0755);
  DeviceProbeOptions short_one = options(root);
  short_one.deadline_ms = 100;
  const DeviceReport report = probe_devices(short_one);
  CHECK(report.accelerators.empty());
  CHECK(report.problems ==
        std::vector<gpl::ProbeProblem>{{"nvidia-smi", std::nullopt, "timed out"}});
}
