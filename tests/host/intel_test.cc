#include "gpl/host/intel.h"

#include <doctest/doctest.h>

#include <string>

#include "../temporary_folder.h"

using gpl::Accelerator;
using gpl::host::find_intel;
using gpl::host::SystemRoot;

namespace {

void add_card(const TemporaryFolder& root, int number, const std::string& pci) {
  const std::string card = "sys/class/drm/card" + std::to_string(number);
  root.write(card + "/device/vendor", "0x8086\n");
  root.write(card + "/device/uevent", "DRIVER=xe\nPCI_ID=8086:E20B\nPCI_SLOT_NAME=" + pci + "\n");
  const std::string node = "renderD" + std::to_string(128 + number);
  root.write(card + "/device/drm/" + node + "/dev", "");
  root.write("dev/dri/" + node, "");
}

std::vector<Accelerator> cards(const TemporaryFolder& root) {
  return find_intel(SystemRoot(root.path())).accelerators;
}

}  // namespace

TEST_CASE("a discrete GPU is found, with its PCI identity for a name") {
  const TemporaryFolder root;
  root.write("proc/sys/kernel/osrelease", "6.12.1\n");
  add_card(root, 1, "0000:03:00.0");
  REQUIRE(cards(root).size() == 1);
  const Accelerator card = cards(root)[0];
  CHECK(card.id == "xpu:0");
  CHECK(card.kind == gpl::AcceleratorKind::xpu);
  CHECK(card.vendor == "intel");
  CHECK(card.name == "Intel GPU 8086:e20b");
  CHECK(card.pci == "0000:03:00.0");
  CHECK(card.driver == "6.12.1");
  CHECK_FALSE(card.memory_bytes.has_value());
  CHECK(card.usable);
}

TEST_CASE("the integrated GPU and its virtual functions are left out") {
  const TemporaryFolder root;
  add_card(root, 0, "0000:00:02.0");
  add_card(root, 1, "0000:00:02.1");
  CHECK(cards(root).empty());
}

TEST_CASE("a card without a render node is not usable, and says so") {
  const TemporaryFolder root;
  add_card(root, 1, "0000:03:00.0");
  std::filesystem::remove_all(root / "sys/class/drm/card1/device/drm");
  CHECK_FALSE(cards(root).at(0).usable);
  CHECK(cards(root).at(0).problems.size() == 1);
}

TEST_CASE("a render node that is not there is told by name") {
  const TemporaryFolder root;
  add_card(root, 1, "0000:03:00.0");
  std::filesystem::remove(root / "dev/dri/renderD129");
  CHECK(cards(root).at(0).problems ==
        std::vector<std::string>{"/dev/dri/renderD129: No such file or directory"});
}
