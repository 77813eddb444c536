#include "gpl/core/device_visibility.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "case_table.h"

using gpl::Accelerator;
using gpl::AcceleratorKind;
using gpl::cuda_visible_devices;
using gpl::device_environment;
using gpl::DeviceChoice;
using gpl::DeviceEnvironment;
using gpl::visible_to_cuda;

namespace {

Accelerator card(int index, std::string uuid = "", AcceleratorKind kind = AcceleratorKind::cuda) {
  Accelerator made;
  made.kind = kind;
  made.index = index;
  made.uuid = uuid.empty() ? "GPU-" + std::to_string(index) + "aaaaaaa-0000" : std::move(uuid);
  made.usable = true;
  return made;
}

std::vector<Accelerator> cards(int count) {
  std::vector<Accelerator> all;
  for (int i = 0; i < count; ++i) all.push_back(card(i));
  return all;
}

Accelerator cut_card(int index, const std::vector<std::string>& slices) {
  Accelerator made = card(index);
  made.mig_mode = true;
  for (const std::string& uuid : slices) made.partitions.push_back({uuid, "1g.10gb", {}, {}});
  return made;
}

DeviceChoice whole(int index, AcceleratorKind kind = AcceleratorKind::cuda) {
  return {kind, index, ""};
}

DeviceChoice slice(int index, std::string uuid) {
  return {AcceleratorKind::cuda, index, std::move(uuid)};
}

std::vector<DeviceChoice> wholes(const std::vector<int>& indexes) {
  std::vector<DeviceChoice> choices;
  for (const int index : indexes) choices.push_back(whole(index));
  return choices;
}

/// The machine of the rows: eight cards, a slice, and the UUIDs that they name.
std::vector<Accelerator> machine_of_the_cases() {
  std::vector<Accelerator> all = cards(8);
  all[3].uuid = "GPU-123f0000-2222";
  all[4].uuid = "GPU-849d5a8d-610e-eeea-1fd4-81ff44a23794";
  all[5].uuid = "GPU-9baca7f5-0f2f-01ac-6b05-8da14d6e9005";
  all[6].uuid = "GPU-18ef14e9-dec6-1d7e-1284-3010c6ce98b1";
  return all;
}

/// The answer column in words or numbers, as choices.
std::vector<DeviceChoice> expected_choices(const std::string& words) {
  const std::map<std::string, std::vector<DeviceChoice>> in_words = {
      {"the two cards whose UUIDs start so, in that order", wholes({6, 4})},
      {"GPU-123 only", wholes({3})},
      {"that one slice", {slice(8, "MIG-377e0049-554c-540b-93c6-d0976f8426cb")}},
      {"that card", wholes({5})},
  };
  if (const auto found = in_words.find(words); found != in_words.end()) return found->second;
  std::vector<DeviceChoice> numbers;
  for (const char c : words) {
    if (c != ',') numbers.push_back(whole(std::stoi(std::string(1, c))));
  }
  return numbers;
}

const std::string* value_in(const DeviceEnvironment& environment, const std::string& name) {
  for (const auto& variable : environment.set) {
    if (variable.name == name) return &variable.value;
  }
  return nullptr;
}

bool is_unset(const DeviceEnvironment& environment, const std::string& name) {
  return std::count(environment.unset.begin(), environment.unset.end(), name) == 1;
}

void check_refused(const std::vector<DeviceChoice>& chosen, const std::vector<Accelerator>& all) {
  const auto value = cuda_visible_devices(chosen, all);
  REQUIRE_FALSE(value.ok());
  CHECK(value.error().code == gpl::Code::invalid);
}

}  // namespace

TEST_CASE("CUDA_VISIBLE_DEVICES means to us what it means to CUDA, in every case that was seen") {
  const gpl::test::CaseTable table(GPL_TEST_CASES "/nvidia/cuda_visible_devices_dev.tsv");
  CHECK(table.size() == 12);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string title = table.at(row, "title");
    CAPTURE(title);
    std::vector<Accelerator> all = machine_of_the_cases();
    if (title == "MIG UUID") {
      all.push_back(cut_card(8, {"MIG-other", "MIG-377e0049-554c-540b-93c6-d0976f8426cb"}));
    }
    const std::string text = table.at(row, "value");
    const std::optional<std::string_view> value =
        text == "(unset)" ? std::nullopt : std::optional<std::string_view>(text);
    CHECK(visible_to_cuda(value, all) ==
          expected_choices(table.at(row, "devices (8 physical GPUs)")));
  }
}

TEST_CASE("a word that is no number ends the list, and one that begins with digits is a number") {
  CHECK(visible_to_cuda("0,x,1", cards(4)) == wholes({0}));
  CHECK(visible_to_cuda("0,,1", cards(4)) == wholes({0}));
  CHECK(visible_to_cuda("1gpu2,2ampere", cards(4)) == wholes({1, 2}));
  CHECK(visible_to_cuda("+1, 2", cards(4)) == wholes({1, 2}));
  CHECK(visible_to_cuda("0,99999999999999999999,1", cards(4)) == wholes({0}));
  CHECK(visible_to_cuda("0,GPU-2aaa", cards(4)) == wholes({0}));
}

TEST_CASE("a prefix of two UUIDs names neither") {
  CHECK(visible_to_cuda("GPU-1aaa,GPU-", cards(4)) == wholes({1}));
}

TEST_CASE("the same card by two prefixes empties the list") {
  CHECK(visible_to_cuda("GPU-1a,GPU-1aa", cards(4)).empty());
}

TEST_CASE("of several MIG slices CUDA sees the first") {
  const std::vector<Accelerator> all = {card(0), cut_card(1, {"MIG-a", "MIG-b"})};
  CHECK(visible_to_cuda("MIG-b,MIG-a", all) == std::vector{slice(1, "MIG-b")});
  CHECK(visible_to_cuda("MIG-c", all).empty());
}

TEST_CASE("ordinals count the cards that work") {
  std::vector<Accelerator> all = cards(3);
  all[0].usable = false;
  CHECK(visible_to_cuda("0", all) == wholes({1}));
  CHECK(visible_to_cuda(std::nullopt, all) == wholes({1, 2}));
}

TEST_CASE("a job gets ordinals where every card works and none is in MIG mode") {
  CHECK(cuda_visible_devices(wholes({2, 0}), cards(3)).value() == "2,0");
  CHECK(cuda_visible_devices({}, cards(3)).value().empty());
}

TEST_CASE("a job gets UUIDs where a card is broken, in MIG mode, or not in the driver's count") {
  std::vector<Accelerator> broken = cards(3);
  broken[0].usable = false;
  CHECK(cuda_visible_devices(wholes({2}), broken).value() == broken[2].uuid);
  std::vector<Accelerator> in_mig_mode = cards(2);
  in_mig_mode[0].mig_mode = true;
  CHECK(cuda_visible_devices(wholes({1}), in_mig_mode).value() == in_mig_mode[1].uuid);
  const std::vector<Accelerator> with_a_gap = {card(0), card(2)};
  CHECK(cuda_visible_devices(wholes({2}), with_a_gap).value() == with_a_gap[1].uuid);
}

TEST_CASE("a virtual GPU that shows MIG mode without slices is given whole, by UUID") {
  std::vector<Accelerator> all = {card(0)};
  all[0].mig_mode = true;
  CHECK(cuda_visible_devices(wholes({0}), all).value() == all[0].uuid);
}

TEST_CASE("a slice is given alone, by its UUID") {
  const std::vector<Accelerator> all = {card(0), cut_card(1, {"MIG-a", "MIG-b"})};
  CHECK(cuda_visible_devices({slice(1, "MIG-b")}, all).value() == "MIG-b");
  check_refused({slice(1, "MIG-a"), slice(1, "MIG-b")}, all);
  check_refused({slice(1, "MIG-a"), whole(0)}, all);
}

TEST_CASE("what CUDA cannot show is refused") {
  std::vector<Accelerator> all = {card(0), cut_card(1, {"MIG-a"}), card(2), card(3)};
  all[2].usable = false;
  all[3].uuid.clear();
  check_refused(wholes({1}), all);
  check_refused(wholes({2}), all);
  check_refused(wholes({3}), all);
  check_refused(wholes({7}), all);
  check_refused(wholes({0, 0}), all);
  check_refused({slice(1, "MIG-x")}, all);
  check_refused({whole(0, AcceleratorKind::rocm)}, all);
}

TEST_CASE("what a job is given is read by CUDA as it was meant") {
  CHECK(rc::check("inverse", [] {
    std::vector<Accelerator> all;
    const int count = *rc::gen::inRange(1, 9);
    for (int i = 0; i < count; ++i) {
      all.push_back(*rc::gen::inRange(0, 6) == 0 ? cut_card(i, {"MIG-" + std::to_string(i) + "a",
                                                                "MIG-" + std::to_string(i) + "b"})
                                                 : card(i));
      all.back().usable = *rc::gen::inRange(0, 8) != 0;
    }
    std::vector<DeviceChoice> whole_cards;
    std::vector<DeviceChoice> slices;
    for (const Accelerator& device : all) {
      if (!device.usable) continue;
      if (device.partitions.empty()) whole_cards.push_back(whole(device.index));
      for (const auto& part : device.partitions) slices.push_back(slice(device.index, part.uuid));
    }
    std::vector<DeviceChoice> chosen = std::move(whole_cards);
    const auto keys =
        *rc::gen::container<std::vector<int>>(chosen.size(), rc::gen::arbitrary<int>());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      std::swap(chosen[i], chosen[static_cast<std::size_t>(keys[i] & 0xff) % chosen.size()]);
    }
    chosen.resize(*rc::gen::inRange<std::size_t>(0, chosen.size() + 1));
    if (!slices.empty() && *rc::gen::arbitrary<bool>()) chosen = {*rc::gen::elementOf(slices)};
    const auto value = cuda_visible_devices(chosen, all);
    RC_ASSERT(value.ok());
    RC_ASSERT(visible_to_cuda(value.value(), all) == chosen);
  }));
}

TEST_CASE("a job without GPUs sees none, of any vendor") {
  const auto environment = device_environment({}, cards(2)).value();
  CHECK(*value_in(environment, "CUDA_VISIBLE_DEVICES") == "");
  CHECK(*value_in(environment, "ROCR_VISIBLE_DEVICES") == "");
  CHECK(*value_in(environment, "GPL_GPUS") == "");
  CHECK(is_unset(environment, "HIP_VISIBLE_DEVICES"));
  CHECK(environment.set.size() == 3);
  const auto with_intel = device_environment({}, {card(0, "", AcceleratorKind::xpu)}).value();
  CHECK(*value_in(with_intel, "ONEAPI_DEVICE_SELECTOR") == "*:cpu");
}

TEST_CASE("NVIDIA cards are counted in PCI bus order, and AMD's beside them are hidden") {
  std::vector<Accelerator> all = cards(2);
  all.push_back(card(0, "", AcceleratorKind::rocm));
  const auto environment = device_environment(wholes({1}), all).value();
  CHECK(*value_in(environment, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID");
  CHECK(*value_in(environment, "CUDA_VISIBLE_DEVICES") == "1");
  CHECK(*value_in(environment, "ROCR_VISIBLE_DEVICES") == "");
  CHECK(*value_in(environment, "GPL_GPUS") == "cuda:1");
}

TEST_CASE("AMD cards are shown by ROCR_VISIBLE_DEVICES alone") {
  const std::vector<Accelerator> all = {card(0, "", AcceleratorKind::rocm),
                                        card(1, "", AcceleratorKind::rocm)};
  const auto environment = device_environment({whole(1, AcceleratorKind::rocm)}, all).value();
  CHECK(*value_in(environment, "ROCR_VISIBLE_DEVICES") == "1");
  CHECK(value_in(environment, "CUDA_VISIBLE_DEVICES") == nullptr);
  CHECK(is_unset(environment, "CUDA_VISIBLE_DEVICES"));
  CHECK(is_unset(environment, "HIP_VISIBLE_DEVICES"));
}

TEST_CASE("Intel GPUs are shown by ZE_AFFINITY_MASK") {
  const std::vector<Accelerator> all = {card(0, "", AcceleratorKind::xpu),
                                        card(1, "", AcceleratorKind::xpu)};
  const auto environment = device_environment({whole(1, AcceleratorKind::xpu)}, all).value();
  CHECK(*value_in(environment, "ZE_AFFINITY_MASK") == "1");
  CHECK(value_in(environment, "ONEAPI_DEVICE_SELECTOR") == nullptr);
  CHECK(*value_in(environment, "CUDA_VISIBLE_DEVICES") == "");
}

TEST_CASE("one job gets devices of one kind") {
  const std::vector<Accelerator> all = {card(0), card(0, "", AcceleratorKind::rocm)};
  CHECK_FALSE(device_environment({whole(0), whole(0, AcceleratorKind::rocm)}, all).ok());
}
