// A keeper's attempts and devices that others on the machine may have.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "gpl/host/device_ledger.h"
#include "keeper_scene.h"

using namespace gpl;
using gpl::host::DeviceLedger;
namespace from = gpl::wire::from_keeper;

namespace {

Accelerator card() {
  Accelerator card;
  card.id = "cuda:0";
  card.kind = AcceleratorKind::cuda;
  card.vendor = "nvidia";
  card.uuid = "GPU-1";
  card.memory_bytes = 1000;
  card.usable = true;
  return card;
}

DeviceHold held_by(const std::string& holder) {
  DeviceHold hold;
  hold.holder = holder;
  return hold;
}

const DeviceChoice choice{AcceleratorKind::cuda, 0, ""};

}  // namespace

TEST_CASE("a device that somebody else holds is waited for, and held for the attempt's life") {
  KeeperScene scene;
  scene.offer.accelerators = {card()};
  scene.start_keeper();  // before a lock is taken, of which a fork would have a part
  scene.connect();
  const auto ledger = DeviceLedger::open(scene.options.lock_folders);
  REQUIRE(ledger.ok());
  auto held = ledger.value().take({{choice}, {}, {}}, {card()}, held_by("an embedded run"));
  REQUIRE(held.ok());
  auto order =
      scene.order_of(1, "echo $CUDA_VISIBLE_DEVICES; while [ ! -e go ]; do sleep 0.02; done");
  order.allocation.devices = {{choice, std::nullopt}};
  scene.order(order);
  scene.start(2, "sleep 0.3");  // so long the first looks again and again
  CHECK(scene.outcome(2) == Outcome{Exited{0}});
  CHECK(scene.find<from::Running>(scene.fence(1)) == nullptr);
  held.value().clear();
  CHECK(scene.runs(1));
  const auto holds = ledger.value().holds({card()});
  REQUIRE(holds.size() == 1);
  CHECK(holds.front().holder == "job 1");
  const gpl::posix::Fd go(
      ::open((scene.work_path(1) + "/go").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  CHECK(scene.outcome(1) == Outcome{Exited{0}});
  CHECK(scene.output(1) == "0\n");
  CHECK(eventually([&] { return ledger.value().holds({card()}).empty(); }));
}

TEST_CASE("two share a card as far as its memory goes") {
  KeeperScene scene;
  scene.offer.accelerators = {card()};
  scene.start_keeper();  // before a lock is taken, of which a fork would have a part
  scene.connect();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    auto order = scene.order_of(i, "sleep 1000");
    order.allocation.devices = {{choice, 400}};
    scene.order(order);
  }
  REQUIRE(scene.runs(1));
  REQUIRE(scene.runs(2));
  scene.start(4, "sleep 0.3");
  CHECK(scene.outcome(4) == Outcome{Exited{0}});
  CHECK(scene.find<from::Running>(scene.fence(3)) == nullptr);
  scene.order(to_worker::End{scene.fence(1)});
  CHECK(scene.outcome(1) == Outcome{Cancelled{15}});
  CHECK(scene.runs(3));
}

TEST_CASE("an attempt that waits for its device can be cancelled") {
  KeeperScene scene;
  scene.offer.accelerators = {card()};
  scene.start_keeper();  // before a lock is taken, of which a fork would have a part
  scene.connect();
  const auto ledger = DeviceLedger::open(scene.options.lock_folders);
  REQUIRE(ledger.ok());
  const auto held = ledger.value().take({{choice}, {}, {}}, {card()}, held_by("an embedded run"));
  REQUIRE(held.ok());
  auto order = scene.order_of(1, "true");
  order.allocation.devices = {{choice, std::nullopt}};
  scene.order(order);
  REQUIRE(scene.until([&] { return scene.find<from::Prepare>(scene.fence(1)) != nullptr; }));
  scene.order(to_worker::End{scene.fence(1)});
  CHECK(scene.outcome(1) == Outcome{Cancelled{0}});
  CHECK(scene.find<from::Running>(scene.fence(1)) == nullptr);
}
