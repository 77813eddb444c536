#include "gpl/host/amd.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

#include "../forked.h"
#include "../temporary_folder.h"

using gpl::Accelerator;
using gpl::host::find_amd;
using gpl::host::gfx_name;
using gpl::host::parse_kfd_properties;
using gpl::host::SystemRoot;

namespace {

const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";

/// A machine's root with a CPU node, and what a test adds to it.
class Machine {
 public:
  Machine() {
    folder.write(nodes + "0/properties", "cpu_cores_count 32\nsimd_count 0\nvendor_id 0\n");
    folder.write("proc/sys/kernel/osrelease", "6.8.0-45-generic\n");
    folder.write("dev/kfd", "");
  }

  /// An MI300X as node `node`, with its render node.
  void add_gpu(int node, int minor) const {
    const std::string number = std::to_string(node);
    folder.write(nodes + number + "/properties",
                 "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\nvendor_id 4098\n"
                 "device_id 29857\nlocation_id " +
                     std::to_string(node * 256) +
                     "\ndomain 0\n"
                     "drm_render_minor " +
                     std::to_string(minor) + "\nunique_id 1311768467463790320\n");
    folder.write(nodes + number + "/mem_banks/0/properties",
                 "heap_type 1\nsize_in_bytes 206141652992\nflags 0\nwidth 8192\n");
    folder.write("dev/dri/renderD" + std::to_string(minor), "");
  }

  std::vector<Accelerator> cards() const {
    return find_amd(SystemRoot(folder.path())).accelerators;
  }

  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("a machine without AMD cards has none") {
  const TemporaryFolder empty;
  CHECK(find_amd(SystemRoot(empty.path())).accelerators.empty());
  CHECK(Machine().cards().empty());
}

TEST_CASE("a KFD node becomes a card, by what the kernel says of it") {
  const Machine machine;
  machine.add_gpu(1, 128);
  const std::vector<Accelerator> cards = machine.cards();
  REQUIRE(cards.size() == 1);
  const Accelerator& card = cards[0];
  CHECK(card.id == "rocm:0");
  CHECK(card.kind == gpl::AcceleratorKind::rocm);
  CHECK(card.vendor == "amd");
  CHECK(card.name == "AMD gfx942");
  CHECK(card.uuid == "GPU-123456789abcdef0");
  CHECK(card.pci == "0000:01:00.0");
  CHECK(card.memory_bytes == std::uint64_t{206141652992});
  CHECK_FALSE(card.memory_used_bytes.has_value());
  CHECK_FALSE(card.unified_memory);
  CHECK(card.driver == "6.8.0-45-generic");
  CHECK(card.usable);
  CHECK(card.problems.empty());
}

TEST_CASE("the display driver knows name, memory and what is used better") {
  const Machine machine;
  machine.add_gpu(1, 128);
  const std::string device = "sys/class/drm/renderD128/device/";
  machine.folder.write(device + "product_name", "AMD Instinct MI300X OAM\n");
  machine.folder.write(device + "mem_info_vram_total", "206158430208\n");
  machine.folder.write(device + "mem_info_vram_used", "297000960\n");
  machine.folder.write("sys/module/amdgpu/version", "6.12.12\n");
  const Accelerator card = machine.cards().at(0);
  CHECK(card.name == "AMD Instinct MI300X OAM");
  CHECK(card.memory_bytes == std::uint64_t{206158430208});
  CHECK(card.memory_used_bytes == std::uint64_t{297000960});
  CHECK(card.driver == "6.12.12");
}

TEST_CASE("nodes are taken in the kernel's order, node 10 after node 2") {
  const Machine machine;
  machine.add_gpu(10, 130);
  machine.add_gpu(2, 129);
  const std::vector<Accelerator> cards = machine.cards();
  REQUIRE(cards.size() == 2);
  CHECK(cards[0].pci == "0000:02:00.0");
  CHECK(cards[1].pci == "0000:0a:00.0");
  CHECK(cards[1].id == "rocm:1");
}

TEST_CASE("an odd or unreadable node hides no other") {
  const Machine machine;
  machine.folder.write(nodes + "1/properties", std::string("\0\xff garbage\nsimd_count x\n", 24));
  machine.folder.write(nodes + "2/properties/is_a_folder", "");
  machine.folder.write(nodes + "3/name", "gone\n");
  machine.add_gpu(4, 128);
  CHECK(machine.cards().size() == 1);
}

TEST_CASE("another vendor's node is none of AMD's") {
  const Machine machine;
  machine.folder.write(nodes + "1/properties", "simd_count 8\nvendor_id 6510\n");
  CHECK(machine.cards().empty());
}

TEST_CASE("a node that is CPU and GPU in one shares the host's memory") {
  const Machine machine;
  machine.folder.write(nodes + "0/properties",
                       "cpu_cores_count 16\nsimd_count 8\nvendor_id 4098\ngfx_target_version "
                       "110501\ndrm_render_minor 128\n");
  CHECK(machine.cards().at(0).unified_memory);
}

TEST_CASE("a card without its render node or /dev/kfd is not usable, and says which is missing") {
  const Machine machine;
  machine.add_gpu(1, 128);
  std::filesystem::remove(machine.folder / "dev/dri/renderD128");
  Accelerator card = machine.cards().at(0);
  CHECK_FALSE(card.usable);
  CHECK(card.problems ==
        std::vector<std::string>{"/dev/dri/renderD128: No such file or directory"});
  std::filesystem::remove(machine.folder / "dev/kfd");
  card = machine.cards().at(0);
  CHECK(card.problems.size() == 2);
}

TEST_CASE("a user outside the render group is told") {
  const Machine machine;
  machine.add_gpu(1, 128);
  machine.folder.write("dev/kfd", "", 0600);
  CHECK(forked([&] {
          if (!become_ordinary_user()) return 1;
          const Accelerator card = machine.cards().at(0);
          const bool told = card.problems.at(0).find("render") != std::string::npos;
          return !card.usable && told ? 0 : 2;
        }) == 0);
}

TEST_CASE("a card that KFD does not offer is shown, not usable; other vendors' are not") {
  const Machine machine;
  machine.add_gpu(1, 128);
  const std::string drm = "sys/class/drm/";
  machine.folder.write(drm + "card0/device/vendor", "0x1a03\n");  // the board's own display chip
  machine.folder.write(drm + "card1/device/vendor", "0x1002\n");
  machine.folder.write(drm + "card1/device/uevent", "PCI_SLOT_NAME=0000:01:00.0\n");
  machine.folder.write(drm + "card2/device/vendor", "0x1002\n");
  machine.folder.write(drm + "card2/device/uevent",
                       "DRIVER=radeon\nPCI_ID=1002:68BA\nPCI_SLOT_NAME=0000:05:00.0\n");
  machine.folder.write(drm + "card2-HDMI-A-1/device/vendor", "0x1002\n");
  const std::vector<Accelerator> cards = machine.cards();
  REQUIRE(cards.size() == 2);
  CHECK(cards[1].id == "rocm:1");
  CHECK(cards[1].name == "AMD GPU 1002:68ba");
  CHECK_FALSE(cards[1].usable);
  CHECK(cards[1].problems.size() == 1);
}

TEST_CASE("targets have the compiler's names") {
  CHECK(gfx_name(90402) == "gfx942");
  CHECK(gfx_name(90010) == "gfx90a");
  CHECK(gfx_name(110000) == "gfx1100");
  CHECK(gfx_name(0).empty());
}

TEST_CASE("properties of any bytes are read or passed over") {
  CHECK(parse_kfd_properties("simd_count 18446744073709551615\n").simds == ~std::uint64_t{0});
  CHECK(parse_kfd_properties("simd_count 18446744073709551616\n").simds == 0);
  CHECK(parse_kfd_properties("simd_count -1\nsimd_count\n simd_count  7 \n").simds == 7);
  CHECK(rc::check("any bytes", [](const std::string& bytes) { parse_kfd_properties(bytes); }));
}
