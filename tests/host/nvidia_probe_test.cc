#include "gpl/host/nvidia_probe.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <vector>

using gpl::Accelerator;
using gpl::ProbeProblem;
using gpl::host::DeviceFindings;
using gpl::host::NvidiaProbe;
using gpl::host::ProbeAnswer;
using Words = NvidiaProbe::Words;
using Ending = ProbeAnswer::Ending;

namespace {

ProbeAnswer exited(int status, std::string out, std::string err = "") {
  return {Ending::exited, status, std::move(out), std::move(err)};
}

std::string row(int index, const std::string& mig = "Disabled", const std::string& name = "A30") {
  const std::string number = std::to_string(index);
  return number + ", GPU-" + number + ", 00000000:0" + number + ":00.0, 550.54, 24576, 0, 8.0, " +
         mig + ", P0, 31, 0, NVIDIA " + name + "\n";
}

/// Whether the run asks for cards, and for which one alone ("" all).
bool asks_cards(const Words& words, const std::string& alone = "") {
  if (!words.front().starts_with("--query-gpu=")) return false;
  return alone.empty() ? words.size() == 2 : words.size() == 4 && words[3] == alone;
}

const Words list = {"-L"};
const std::string bad_handle =
    "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error";

std::vector<std::string> ids(const DeviceFindings& found) {
  std::vector<std::string> ids;
  for (const Accelerator& card : found.accelerators) ids.push_back(card.id);
  return ids;
}

}  // namespace

TEST_CASE("healthy cards take one run") {
  NvidiaProbe probe;
  REQUIRE(probe.next().size() == 1);
  CHECK(asks_cards(probe.next()[0]));
  CHECK(probe.next()[0][0].ends_with(",name"));
  probe.take({exited(0, row(0) + row(1))});
  CHECK(probe.next().empty());
  CHECK(ids(probe.findings()) == std::vector<std::string>{"cuda:0", "cuda:1"});
  CHECK(probe.findings().problems.empty());
}

TEST_CASE("a field that the tool does not know is left out, once each, without a problem") {
  NvidiaProbe probe;
  for (const std::string field : {"compute_cap", "pstate"}) {
    CHECK(probe.next()[0][0].find(field) != std::string::npos);
    probe.take({exited(2, "Field \"" + field + "\" is not a valid field to query.\n\n")});
    REQUIRE(probe.next().size() == 1);
    CHECK(probe.next()[0][0].find(field) == std::string::npos);
  }
  probe.take({exited(0, "0, GPU-0, 00000000:00:00.0, 470.82, 16160, 3, [N/A], 31, 0, V100\n")});
  CHECK(probe.next().empty());
  CHECK(probe.findings().problems.empty());
  REQUIRE(probe.findings().accelerators.size() == 1);
  CHECK(probe.findings().accelerators[0].name == "V100");
}

TEST_CASE("a tool that calls everything unknown does not go on for ever") {
  NvidiaProbe probe;
  int runs = 0;
  for (; !probe.next().empty(); ++runs) {
    REQUIRE(runs < 100);
    const std::string asked = probe.next()[0][0];
    const std::size_t begin = asked.find('=') + 1;
    const std::string field = asked.substr(begin, asked.find(',') - begin);
    probe.take({exited(2, "Field \"" + field + "\" is not a valid field to query.\n")});
  }
  CHECK(probe.findings().accelerators.empty());
  CHECK_FALSE(probe.findings().problems.empty());
}

TEST_CASE("one bad card does not hide the others, and shows in its own place") {
  NvidiaProbe probe;
  probe.take({exited(255, bad_handle + "\n")});
  CHECK(probe.next() == std::vector<Words>{list});
  probe.take({exited(0, "GPU 0: NVIDIA A30 (UUID: GPU-0)\n" + bad_handle +
                            "\nGPU 2: NVIDIA A30 (UUID: GPU-2)\n")});
  REQUIRE(probe.next().size() == 2);
  CHECK(asks_cards(probe.next()[0], "GPU-0"));
  CHECK(asks_cards(probe.next()[1], "GPU-2"));
  probe.take({exited(0, row(0)), exited(0, row(2))});
  CHECK(probe.next().empty());
  const DeviceFindings found = probe.findings();
  CHECK(ids(found) == std::vector<std::string>{"cuda:0", "cuda:1", "cuda:2"});
  const Accelerator& bad = found.accelerators[1];
  CHECK_FALSE(bad.usable);
  CHECK(bad.driver == "550.54");
  CHECK(bad.pci == "0000:01:00.0");
  CHECK(bad.problems == std::vector<std::string>{bad_handle});
  CHECK(found.accelerators[2].usable);
  CHECK(found.problems == std::vector<ProbeProblem>{{"nvidia-smi", 255, bad_handle}});
}

TEST_CASE("a lost card that -L still lists shows when it is asked alone") {
  NvidiaProbe probe;
  probe.take({exited(15, bad_handle + "\n")});
  probe.take({exited(0, "GPU 0: A30 (UUID: GPU-0)\nGPU 1: A30 (UUID: GPU-1)\n")});
  probe.take({exited(0, row(0)), exited(15, bad_handle + "\n")});
  CHECK(probe.next().empty());
  const DeviceFindings found = probe.findings();
  REQUIRE(found.accelerators.size() == 2);
  CHECK(found.accelerators[1].uuid == "GPU-1");
  CHECK(found.accelerators[1].name == "A30");
  CHECK_FALSE(found.accelerators[1].usable);
}

TEST_CASE("where -L fails or stops at the bad card, the cards are asked by number") {
  for (const std::string said : {"broken\n", "GPU 0: A30 (UUID: GPU-0)\n", ""}) {
    NvidiaProbe probe;
    probe.take({exited(255, bad_handle + "\n")});
    probe.take({exited(255, said + bad_handle + "\n")});
    const std::vector<ProbeAnswer> answers = {exited(0, row(0)), exited(255, bad_handle + "\n"),
                                              exited(0, row(2)),
                                              exited(6, "No devices were found\n")};
    for (std::size_t i = 0; i < answers.size(); ++i) {
      REQUIRE(probe.next().size() == 1);
      CHECK(asks_cards(probe.next()[0], std::to_string(i)));
      probe.take({answers[i]});
    }
    CHECK(probe.next().empty());
    CHECK(ids(probe.findings()) == std::vector<std::string>{"cuda:0", "cuda:1", "cuda:2"});
    CHECK_FALSE(probe.findings().accelerators[1].usable);
  }
}

TEST_CASE("a driver that is not there is one problem, with the tool's exit status") {
  for (const auto& [status, text] :
       std::vector<std::pair<int, std::string>>{{9, "NVIDIA-SMI has failed because"},
                                                {18, "Failed to initialize NVML: mismatch"},
                                                {6, "No devices were found"},
                                                {12, "libnvidia-ml.so not found"}}) {
    NvidiaProbe probe;
    probe.take({exited(status, text + "\n\n")});
    CHECK(probe.next().empty());
    CHECK(probe.findings().accelerators.empty());
    CHECK(probe.findings().problems == std::vector<ProbeProblem>{{"nvidia-smi", status, text}});
  }
}

TEST_CASE("the same failure of -L is not told twice") {
  NvidiaProbe probe;
  probe.take({exited(255, "Unknown Error\n")});
  probe.take({exited(255, "Unknown Error\n")});
  CHECK(probe.next().empty());
  CHECK(probe.findings().problems.size() == 1);
}

TEST_CASE("good data with a bad exit status stays, with the warning") {
  NvidiaProbe probe;
  probe.take({exited(14, row(0) + "WARNING: infoROM is corrupted at gpu 0000:0B:00.0\n")});
  CHECK(probe.next().empty());
  CHECK(probe.findings().accelerators.at(0).usable);
  CHECK(probe.findings().problems ==
        std::vector<ProbeProblem>{
            {"nvidia-smi", 14, "WARNING: infoROM is corrupted at gpu 0000:0B:00.0"}});
}

TEST_CASE("an error on stderr is told too") {
  NvidiaProbe probe;
  probe.take({exited(127, "", "nvidia-smi: cannot open shared object file\n")});
  probe.take({exited(127, "", "nvidia-smi: cannot open shared object file\n")});
  CHECK(probe.next().empty());
  CHECK(
      probe.findings().problems ==
      std::vector<ProbeProblem>{{"nvidia-smi", 127, "nvidia-smi: cannot open shared object file"}});
}

TEST_CASE("a tool that timed out is not run again") {
  NvidiaProbe probe;
  probe.take({{Ending::timed_out, 0, "", ""}});
  CHECK(probe.next().empty());
  CHECK(probe.findings().problems ==
        std::vector<ProbeProblem>{{"nvidia-smi", std::nullopt, "timed out"}});
}

TEST_CASE("the cards that were told before the deadline stay") {
  NvidiaProbe probe;
  probe.take({{Ending::timed_out, 0, row(0, "Enabled"), ""}});
  CHECK(probe.next().empty());
  CHECK(probe.findings().accelerators.size() == 1);
  CHECK(probe.findings().problems.size() == 1);
}

TEST_CASE("a card that hangs when it is asked alone is a bad card") {
  NvidiaProbe probe;
  probe.take({exited(255, bad_handle + "\n")});
  probe.take({exited(0, "GPU 0: A30 (UUID: GPU-0)\nGPU 1: A30 (UUID: GPU-1)\n")});
  probe.take({exited(0, row(0)), {Ending::timed_out, 0, "", ""}});
  CHECK(probe.next().empty());
  REQUIRE(probe.findings().accelerators.size() == 2);
  CHECK(probe.findings().accelerators[1].problems == std::vector<std::string>{"timed out"});
}

TEST_CASE("MIG slices are joined from -L and the XML, by their order") {
  NvidiaProbe probe;
  probe.take({exited(0, row(0, "Enabled") + row(1))});
  CHECK(probe.next() == std::vector<Words>{list});
  probe.take({exited(0,
                     "GPU 0: A30 (UUID: GPU-0)\n  MIG 1g.6gb  Device  0: (UUID: MIG-a)\n"
                     "  MIG 2g.12gb  Device  1: (UUID: MIG-b)\nGPU 1: A30 (UUID: GPU-1)\n")});
  CHECK(probe.next() == std::vector<Words>{{"-q", "-x", "-i", "GPU-0"}});
  probe.take(
      {exited(0,
              "<nvidia_smi_log><gpu id='00000000:00:00.0'><mig_devices><mig_device>"
              "<gpu_instance_id>3</gpu_instance_id><fb_memory_usage><total>6000 MiB</total>"
              "</fb_memory_usage></mig_device><mig_device><gpu_instance_id>2</gpu_instance_id>"
              "</mig_device></mig_devices><uuid>GPU-0</uuid></gpu></nvidia_smi_log>")});
  CHECK(probe.next().empty());
  const DeviceFindings found = probe.findings();
  CHECK(found.problems.empty());
  CHECK(found.accelerators[0].partitions ==
        std::vector<gpl::Partition>{{"MIG-a", "1g.6gb", std::uint64_t{6000} << 20, 3},
                                    {"MIG-b", "2g.12gb", std::nullopt, 2}});
  CHECK(found.accelerators[0].usable);
  CHECK(found.accelerators[1].partitions.empty());
}

TEST_CASE("slices without the XML, or of which it tells another number, keep UUID and profile") {
  const std::string slice =
      "<mig_device><gpu_instance_id>1</gpu_instance_id><fb_memory_usage><total>6000 MiB</total>"
      "</fb_memory_usage></mig_device>";
  const std::string before = "<nvidia_smi_log><gpu id='a'><mig_devices>";
  const std::string after = "</mig_devices><uuid>GPU-0</uuid></gpu>";
  for (const std::string& xml : {std::string(), before + after, before + slice + slice + after}) {
    NvidiaProbe probe;
    probe.take({exited(0, row(0, "Enabled"))});
    probe.take({exited(0, "GPU 0: A30 (UUID: GPU-0)\n  MIG 1g.6gb Device  0: (UUID: MIG-a)\n")});
    probe.take({exited(3, xml)});
    CHECK(probe.next().empty());
    CHECK(probe.findings().accelerators[0].partitions ==
          std::vector<gpl::Partition>{{"MIG-a", "1g.6gb", std::nullopt, std::nullopt}});
    CHECK(probe.findings().problems.size() == 1);
  }
}

TEST_CASE("a card in MIG mode without a slice is not usable; a virtual GPU on a slice is") {
  for (const bool is_virtual : {false, true}) {
    NvidiaProbe probe;
    probe.take({exited(0, row(0, "Enabled", is_virtual ? "A100D-1-20C" : "A100-SXM4-40GB"))});
    probe.take({exited(0, "GPU 0: A100 (UUID: GPU-0)\n")});
    CHECK(probe.next().empty());
    REQUIRE(probe.findings().accelerators.size() == 1);
    CHECK(probe.findings().accelerators[0].mig_mode == true);
    CHECK(probe.findings().accelerators[0].usable == is_virtual);
    CHECK(probe.findings().accelerators[0].problems.empty() == is_virtual);
  }
}

TEST_CASE("a row without an index has the index of its place") {
  NvidiaProbe probe;
  std::string lost = "[GPU is lost]";
  for (int i = 0; i < 11; ++i) lost += ", [GPU is lost]";
  probe.take({exited(0, row(0) + lost + "\n" + row(2))});
  CHECK(ids(probe.findings()) == std::vector<std::string>{"cuda:0", "cuda:1", "cuda:2"});
  CHECK(probe.findings().accelerators[1].driver == "550.54");
}

TEST_CASE("how a tool ended without an answer is told in words") {
  const std::vector<std::pair<ProbeAnswer, std::string>> cases = {
      {{Ending::signalled, 11, "", ""}, "ended by signal 11"},
      {{Ending::not_started, ENOEXEC, "", ""}, "it cannot be run: Exec format error"},
      {{Ending::too_much_output, 0, "", ""}, "it printed more than 4 MiB and was stopped"},
  };
  for (const auto& [answer, words] : cases) {
    NvidiaProbe probe;
    probe.take({answer});
    CHECK(probe.next().empty());
    CHECK(probe.findings().problems ==
          std::vector<ProbeProblem>{{"nvidia-smi", std::nullopt, words}});
  }
}
