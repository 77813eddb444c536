// The parsers of nvidia-smi's answers: the query in CSV, the list of -L, the XML of -q -x.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "gpl/host/nvidia_list.h"
#include "gpl/host/nvidia_query.h"
#include "gpl/host/nvidia_xml.h"

using gpl::Accelerator;
using gpl::host::normalised_pci_address;
using gpl::host::nvidia_query_fields;
using gpl::host::NvidiaList;
using gpl::host::NvidiaQuery;
using gpl::host::parse_mebibytes;
using gpl::host::parse_nvidia_list;
using gpl::host::parse_nvidia_query;
using gpl::host::parse_nvidia_xml;
using gpl::host::pci_address_in;
using gpl::host::unknown_nvidia_field;

namespace {

constexpr std::uint64_t mebi = std::uint64_t{1} << 20;

/// A row of a healthy card, some cells of which are other ones.
struct Row {
  std::string index = "0";
  std::string uuid = "GPU-edb31ad6-5273-1633-941d-7196553af70a";
  std::string pci = "00000000:3A:00.0";
  std::string driver = "595.71.05";
  std::string total = "16376";
  std::string used = "596";
  std::string capability = "8.9";
  std::string mig = "[N/A]";
  std::string pstate = "P8";
  std::string temperature = "31";
  std::string utilization = "0";
  std::string name = "NVIDIA GeForce RTX 4080 SUPER";

  std::string line() const {
    std::string text;
    for (const std::string* cell : {&index, &uuid, &pci, &driver, &total, &used, &capability, &mig,
                                    &pstate, &temperature, &utilization, &name}) {
      text += (text.empty() ? "" : ", ") + *cell;
    }
    return text + "\n";
  }
};

NvidiaQuery query(const std::string& text) {
  return parse_nvidia_query(text, nvidia_query_fields());
}

Accelerator only_card(const Row& row) {
  const NvidiaQuery answer = query(row.line());
  CHECK(answer.notes.empty());
  REQUIRE(answer.cards.size() == 1);
  return answer.cards.front();
}

}  // namespace

TEST_CASE("a row becomes a card, each cell in its place") {
  const Accelerator card = only_card({});
  CHECK(card.kind == gpl::AcceleratorKind::cuda);
  CHECK(card.vendor == "nvidia");
  CHECK(card.name == "NVIDIA GeForce RTX 4080 SUPER");
  CHECK(card.index == 0);
  CHECK(card.uuid == "GPU-edb31ad6-5273-1633-941d-7196553af70a");
  CHECK(card.memory_bytes == 16376 * mebi);
  CHECK(card.memory_used_bytes == 596 * mebi);
  CHECK_FALSE(card.unified_memory);
  CHECK(card.compute_capability == gpl::ComputeCapability{8, 9});
  CHECK(card.driver == "595.71.05");
  CHECK(card.pci == "0000:3a:00.0");
  CHECK_FALSE(card.mig_mode.has_value());
  CHECK(card.usable);
  CHECK(card.problems.empty());
}

TEST_CASE("units, missing blanks and carriage returns do not matter") {
  Row with_units;
  with_units.total = "16376 MiB";
  with_units.used = "596 MiB";
  with_units.utilization = "0 %";
  std::string text = with_units.line();
  text.insert(text.size() - 1, "\r");
  const NvidiaQuery answer = query(text);
  REQUIRE(answer.cards.size() == 1);
  CHECK(answer.cards[0] == only_card({}));
}

TEST_CASE("a comma in a name is part of it") {
  Row row;
  row.name = "NVIDIA A30, rev 2, engineering";
  CHECK(only_card(row).name == "NVIDIA A30, rev 2, engineering");
}

TEST_CASE("MIG mode is on, off, or not there") {
  Row row;
  row.mig = "Enabled";
  CHECK(only_card(row).mig_mode == true);
  row.mig = "Disabled";
  CHECK(only_card(row).mig_mode == false);
  row.mig = "[Unknown Error]";
  CHECK_FALSE(only_card(row).mig_mode.has_value());
}

TEST_CASE("what the driver does not say is unknown and no fault") {
  for (const char* absent : {"[N/A]", "N/A", "[Not Supported]", "Not Supported",
                             "[Insufficient Permissions]", "", "[Something New]"}) {
    CAPTURE(std::string(absent));
    Row row;
    row.used = row.capability = row.mig = row.pstate = row.temperature = row.utilization = absent;
    row.driver = absent;
    const Accelerator card = only_card(row);
    CHECK_FALSE(card.memory_used_bytes.has_value());
    CHECK_FALSE(card.compute_capability.has_value());
    CHECK(card.driver.empty());
    CHECK(card.usable);
    CHECK(card.problems.empty());
  }
}

TEST_CASE("a card whose memory is not available shares the host's, while it is healthy") {
  Row row;
  row.total = row.used = "[N/A]";
  CHECK(only_card(row).unified_memory);
  CHECK_FALSE(only_card(row).memory_bytes.has_value());
  row.total = "[Insufficient Permissions]";
  CHECK_FALSE(only_card(row).unified_memory);
  row.total = "[N/A]";
  row.pstate = "[GPU requires reset]";
  CHECK_FALSE(only_card(row).unified_memory);
  row.pstate = "P0";
  row.mig = "Enabled";
  CHECK_FALSE(only_card(row).unified_memory);
}

TEST_CASE("no memory at all is unknown, and nothing used is 0") {
  Row row;
  row.total = row.used = "0";
  CHECK_FALSE(only_card(row).memory_bytes.has_value());
  CHECK_FALSE(only_card(row).unified_memory);
  CHECK(only_card(row).memory_used_bytes == std::uint64_t{0});
}

TEST_CASE("a card that needs a reset is not usable, wherever it shows, and says it once") {
  Row row;
  row.pstate = row.temperature = row.utilization = "[GPU requires reset]";
  CHECK_FALSE(only_card(row).usable);
  CHECK(only_card(row).problems == std::vector<std::string>{"GPU requires reset"});
  Row in_one;
  in_one.used = "[GPU requires reset]";
  CHECK_FALSE(only_card(in_one).usable);
}

TEST_CASE("a lost card keeps its place, even with nothing but the fault in every cell") {
  const std::string lost = "[GPU is lost]";
  const Row row{lost, lost, lost, lost, lost, lost, lost, lost, lost, lost, lost, lost};
  const Accelerator card = only_card(row);
  CHECK_FALSE(card.usable);
  CHECK(card.index == -1);
  CHECK(card.name.empty());
  CHECK(card.uuid.empty());
  CHECK(card.problems == std::vector<std::string>{"GPU is lost"});
}

TEST_CASE("one sensor's unknown error is a problem of a usable card; the state's is not") {
  Row row;
  row.temperature = "[Unknown Error]";
  CHECK(only_card(row).usable);
  CHECK(only_card(row).problems.size() == 1);
  row.utilization = "[Unknown Error]";
  CHECK_FALSE(only_card(row).usable);
  Row state;
  state.pstate = "[Unknown Error]";
  CHECK_FALSE(only_card(state).usable);
  Row memory;
  memory.total = "[Unknown Error]";
  CHECK_FALSE(only_card(memory).usable);
}

TEST_CASE("lines that are no rows are notes, blank ones nothing") {
  const NvidiaQuery answer =
      query("\n  \nWARNING: a, b, c, d, e, f, g, h, i, j, k, l\n" + Row{}.line() +
            "\nWARNING: infoROM is corrupted at gpu 0000:0B:00.0\n\n");
  CHECK(answer.cards.size() == 1);
  REQUIRE(answer.notes.size() == 2);
  CHECK(answer.notes[1] == "WARNING: infoROM is corrupted at gpu 0000:0B:00.0");
}

TEST_CASE("an error text is never a card") {
  for (const char* text :
       {"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.1\n",
        "No devices were found\n", "Unable to determine the device handle for GPU0000:17:00.0\n",
        "", "\n", ",,,,,,,,,,,\n"}) {
    CHECK(query(text).cards.empty());
  }
}

TEST_CASE("a header is passed over") {
  const NvidiaQuery answer = query(
      "index, uuid, pci.bus_id, driver_version, memory.total [MiB], memory.used [MiB], "
      "compute_cap, mig.mode.current, pstate, temperature.gpu, utilization.gpu [%], name\n" +
      Row{}.line());
  CHECK(answer.cards.size() == 1);
  CHECK(answer.notes.empty());
}

TEST_CASE("the field that a driver does not know is found in its message") {
  CHECK(unknown_nvidia_field("Field \"compute_cap\" is not a valid field to query.\n\n") ==
        "compute_cap");
  CHECK(unknown_nvidia_field("WARNING: x\nField \"pstate\" is not a valid field to query.") ==
        "pstate");
  CHECK_FALSE(unknown_nvidia_field("Field \"\" is not a valid field to query."));
  CHECK_FALSE(unknown_nvidia_field("Field \"compute_cap"));
  CHECK_FALSE(unknown_nvidia_field("No devices were found"));
}

TEST_CASE("PCI addresses are written as sysfs writes them") {
  CHECK(normalised_pci_address("00000000:83:00.0") == "0000:83:00.0");
  CHECK(normalised_pci_address("0000000F:01:00.0") == "000f:01:00.0");
  CHECK(normalised_pci_address("0000:0B:00.0") == "0000:0b:00.0");
  CHECK(normalised_pci_address("00010000:E1:00.0") == "10000:e1:00.0");
  for (const char* text : {"", "N/A", "[N/A]", "83:00.0", "00000000:83:00", "00000000:83:00.0 ",
                           "000000000:83:00.0", "0000:g3:00.0"}) {
    CHECK(normalised_pci_address(text).empty());
  }
}

TEST_CASE("the PCI address in a message is found with a blank before it and without") {
  CHECK(pci_address_in("handle for GPU0000:17:00.0: Unknown Error") == "0000:17:00.0");
  CHECK(pci_address_in("handle for GPU 0000:0B:00.0: GPU is lost.") == "0000:0b:00.0");
  CHECK(pci_address_in("GPU 00000000:17:00.0 requires reset") == "0000:17:00.0");
  CHECK(pci_address_in("NVML library version: 550.144").empty());
}

TEST_CASE("mebibytes are read with their unit and without, and nothing else is") {
  CHECK(parse_mebibytes("143771") == 143771 * mebi);
  CHECK(parse_mebibytes("40448 MiB") == 40448 * mebi);
  for (const char* text :
       {"", "0", "0 MiB", "-1", "1.5", "MiB", "16 GiB", "16376 MiB x", "99999999999999999999"}) {
    CHECK_FALSE(parse_mebibytes(text));
  }
}

TEST_CASE("-L lists cards, and their slices below them") {
  const NvidiaList list = parse_nvidia_list(
      "GPU 0: NVIDIA H200 (SXM) (UUID: GPU-1)\n"
      "  MIG 1c.3g.71gb  Device  0: (UUID: MIG-a)\n"
      "  MIG 1g.10gb+me  Device 11: (UUID: MIG-b)\n"
      "GPU 1: NVIDIA A30 (UUID: GPU-2)\n");
  CHECK(list.notes.empty());
  REQUIRE(list.cards.size() == 2);
  CHECK(list.cards[0].index == 0);
  CHECK(list.cards[0].name == "NVIDIA H200 (SXM)");
  CHECK(list.cards[0].uuid == "GPU-1");
  REQUIRE(list.cards[0].slices.size() == 2);
  CHECK(list.cards[0].slices[0] == gpl::Partition{"MIG-a", "1c.3g.71gb", {}, {}});
  CHECK(list.cards[0].slices[1].profile == "1g.10gb+me");
  CHECK(list.cards[1].slices.empty());
}

TEST_CASE("the slices of old drivers name their GPU instance in the UUID") {
  const NvidiaList list = parse_nvidia_list(
      "GPU 0: A100 (UUID: GPU-1)\n  MIG 3g.20gb Device 0: (UUID: MIG-GPU-5c89852c-d268/7/0)\n");
  REQUIRE(list.cards.size() == 1);
  REQUIRE(list.cards[0].slices.size() == 1);
  CHECK(list.cards[0].slices[0].gpu_instance == 7);
}

TEST_CASE("a message in a card's place has that card's index") {
  const std::string message = "Unable to determine the device handle for GPU0000:17:00.0: Unknown";
  const NvidiaList list =
      parse_nvidia_list(message + "\nGPU 1: A (UUID: GPU-1)\n" + message + "\n" + message +
                        "\nGPU 4: B (UUID: GPU-4)\n" + message + "\n");
  CHECK(list.notes.empty());
  REQUIRE(list.cards.size() == 6);
  for (int i = 0; i < 6; ++i) {
    CHECK(list.cards[static_cast<std::size_t>(i)].index == i);
    CHECK(list.cards[static_cast<std::size_t>(i)].fault == (i == 1 || i == 4 ? "" : message));
  }
}

TEST_CASE("a message that names no address stands for a card by its words") {
  for (const char* message : {"GPU is lost.  Reboot the system to recover this GPU",
                              "GPU requires reset", "GPU has fallen off the bus."}) {
    const NvidiaList list =
        parse_nvidia_list("GPU 0: A (UUID: GPU-0)\n" + std::string(message) + "\n");
    REQUIRE(list.cards.size() == 2);
    CHECK(list.cards[1].index == 1);
    CHECK(list.cards[1].fault == message);
  }
  CHECK_FALSE(gpl::host::names_a_bad_card("Failed to initialize NVML: GPU access blocked"));
}

TEST_CASE("what -L says beside the cards is a note") {
  const NvidiaList list = parse_nvidia_list(
      "WARNING: infoROM is corrupted at gpu 0000:0B:00.0\nGPU 0: A (UUID: GPU-0)\nhello\n"
      "GPU 1: B (UUID: GPU-1)\nWARNING: infoROM is corrupted at gpu 0000:0B:00.0\n");
  CHECK(list.cards.size() == 2);
  CHECK(list.notes.size() == 3);
  for (const char* text : {"No devices found.\n", "", "MIG 1g.5gb Device 0: (UUID: MIG-a)\n",
                           "Failed to initialize NVML: Driver/library version mismatch\n"}) {
    CHECK(parse_nvidia_list(text).cards.empty());
  }
}

TEST_CASE("the XML tells of slices in their order, before the card's own UUID") {
  const auto cards = parse_nvidia_xml(R"(<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd" [ <!ENTITY a "b"> ]>
<nvidia_smi_log>
  <attached_gpus>2</attached_gpus>
  <gpu id="0000000F:01:00.0">
    <product_name>A &lt;b&gt; &amp; c</product_name>
    <mig_devices>
      <mig_device>
        <index>0</index><gpu_instance_id>2</gpu_instance_id>
        <fb_memory_usage><total>40448 MiB</total><used>12 MiB</used></fb_memory_usage>
      </mig_device>
      <mig_device><gpu_instance_id>N/A</gpu_instance_id></mig_device>
    </mig_devices>
    <uuid>GPU-1</uuid>
    <fb_memory_usage><total>81559 MiB</total></fb_memory_usage>
    <minor_number/>
  </gpu>
  <gpu id="0"><mig_devices> None </mig_devices><uuid>GPU-2</uuid></gpu>
</nvidia_smi_log>)");
  REQUIRE(cards.size() == 2);
  CHECK(cards[0].pci == "000f:01:00.0");
  CHECK(cards[0].uuid == "GPU-1");
  REQUIRE(cards[0].slices.size() == 2);
  CHECK(cards[0].slices[0].gpu_instance == 2);
  CHECK(cards[0].slices[0].memory_bytes == 40448 * mebi);
  CHECK_FALSE(cards[0].slices[1].gpu_instance.has_value());
  CHECK_FALSE(cards[0].slices[1].memory_bytes.has_value());
  CHECK(cards[1].slices.empty());
}

TEST_CASE("XML that breaks off, nests without end or is none gives the cards that are whole") {
  const std::string whole = "<nvidia_smi_log><gpu id='a'><uuid>GPU-1</uuid></gpu>";
  CHECK(parse_nvidia_xml(whole + "<gpu id='b'><uuid>GPU-2").size() == 1);
  CHECK(parse_nvidia_xml(whole + "</gpu></gpu>").size() == 1);
  CHECK(parse_nvidia_xml(whole + "<!-- ").size() == 1);
  CHECK(parse_nvidia_xml("a warning\n" + whole).size() == 1);
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  CHECK(parse_nvidia_xml(whole + deep).size() == 1);
  CHECK(parse_nvidia_xml("Failed to initialize NVML").empty());
  CHECK(parse_nvidia_xml("").empty());
}

TEST_CASE("a document of a million declarations takes no longer than its length") {
  std::string declarations;
  for (int i = 0; i < 1'000'000; ++i) declarations += "<!a>";
  CHECK(parse_nvidia_xml(declarations).empty());  // its square would be minutes
}

TEST_CASE("any bytes get an answer from each parser") {
  CHECK(rc::check("any bytes", [](const std::string& bytes) {
    (void)query(bytes);
    (void)parse_nvidia_list(bytes);
    (void)parse_nvidia_xml(bytes);
    (void)unknown_nvidia_field(bytes);
  }));
}

TEST_CASE("a slice without a profile is a slice all the same") {
  const NvidiaList list = parse_nvidia_list("GPU 0: A (UUID: GPU-0)\n  MIG (UUID: MIG-1)\n");
  REQUIRE(list.cards.size() == 1);
  REQUIRE(list.cards[0].slices.size() == 1);
  CHECK(list.cards[0].slices[0].uuid == "MIG-1");
  CHECK(list.cards[0].slices[0].profile.empty());
}
