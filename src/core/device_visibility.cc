#include "gpl/core/device_visibility.h"

#include <algorithm>
#include <cstdint>

#include "gpl/core/ascii.h"

namespace gpl {
namespace {

bool is_cut(const Accelerator& card) { return !card.partitions.empty(); }

std::vector<const Accelerator*> of_kind(AcceleratorKind kind,
                                        const std::vector<Accelerator>& devices) {
  std::vector<const Accelerator*> found;
  for (const Accelerator& device : devices) {
    if (device.kind == kind) found.push_back(&device);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Accelerator* a, const Accelerator* b) { return a->index < b->index; });
  return found;
}

// The cards that CUDA numbers: it leaves out those that do not work.
std::vector<const Accelerator*> numbered_cards(const std::vector<Accelerator>& devices) {
  std::vector<const Accelerator*> cards = of_kind(AcceleratorKind::cuda, devices);
  std::erase_if(cards, [](const Accelerator* card) { return !card->usable || is_cut(*card); });
  return cards;
}

DeviceChoice whole(const Accelerator& device) { return {device.kind, device.index, ""}; }

std::vector<std::string_view> split_at_commas(std::string_view value) {
  std::vector<std::string_view> words;
  for (bool more = true; more;) {
    const std::size_t comma = value.find(',');
    words.push_back(trimmed(value.substr(0, comma)));
    more = comma != std::string_view::npos;
    if (more) value.remove_prefix(comma + 1);
  }
  return words;
}

// As strtol(3): a sign and the digits at the front count, whatever follows them.
std::optional<std::size_t> leading_number(std::string_view word) {
  constexpr std::size_t beyond_any_card = 1'000'000;
  if (word.starts_with('+')) word.remove_prefix(1);
  if (word.empty() || !is_digit(word.front())) return std::nullopt;
  std::size_t number = 0;
  for (const char c : word) {
    if (!is_digit(c)) break;
    number = std::min(number * 10 + static_cast<std::size_t>(c - '0'), beyond_any_card);
  }
  return number;
}

std::optional<DeviceChoice> card_by_number(std::string_view word,
                                           const std::vector<Accelerator>& devices) {
  const std::vector<const Accelerator*> cards = numbered_cards(devices);
  const std::optional<std::size_t> number = leading_number(word);
  if (!number || *number >= cards.size()) return std::nullopt;
  return whole(*cards[*number]);
}

std::optional<DeviceChoice> card_by_uuid(std::string_view word,
                                         const std::vector<Accelerator>& devices) {
  std::optional<DeviceChoice> found;
  for (const Accelerator* card : numbered_cards(devices)) {
    if (!card->uuid.starts_with(word)) continue;
    if (found) return std::nullopt;
    found = whole(*card);
  }
  return found;
}

std::optional<DeviceChoice> slice_by_uuid(std::string_view word,
                                          const std::vector<Accelerator>& devices) {
  for (const Accelerator* card : of_kind(AcceleratorKind::cuda, devices)) {
    for (const Partition& slice : card->partitions) {
      if (card->usable && slice.uuid == word)
        return DeviceChoice{card->kind, card->index, slice.uuid};
    }
  }
  return std::nullopt;
}

std::vector<DeviceChoice> all_that_cuda_sees(const std::vector<Accelerator>& devices) {
  std::vector<DeviceChoice> seen;
  for (const Accelerator* card : numbered_cards(devices)) seen.push_back(whole(*card));
  if (!seen.empty()) return seen;
  for (const Accelerator* card : of_kind(AcceleratorKind::cuda, devices)) {
    if (card->usable && is_cut(*card)) {
      return {DeviceChoice{card->kind, card->index, card->partitions.front().uuid}};
    }
  }
  return {};
}

const Accelerator* find(const DeviceChoice& choice, const std::vector<Accelerator>& devices) {
  for (const Accelerator& device : devices) {
    if (device.kind == choice.kind && device.index == choice.index) return &device;
  }
  return nullptr;
}

Error cannot_show(const DeviceChoice& choice, std::string_view why) {
  std::string what = std::string(name_of(choice.kind)) + ":" + std::to_string(choice.index);
  if (!choice.slice.empty()) what += " " + in_quotes(choice.slice);
  return Error{Code::invalid, what + " cannot be given to a job: " + std::string(why)};
}

Status check_choice(const DeviceChoice& choice, const Accelerator* device) {
  if (device == nullptr) return cannot_show(choice, "there is no such device");
  if (!device->usable) return cannot_show(choice, "it is not usable");
  if (choice.slice.empty()) {
    if (is_cut(*device))
      return cannot_show(choice, "it is cut into MIG slices: choose one of them");
    return success();
  }
  const bool there =
      std::any_of(device->partitions.begin(), device->partitions.end(),
                  [&](const Partition& slice) { return slice.uuid == choice.slice; });
  if (!there) return cannot_show(choice, "it has no such MIG slice");
  return success();
}

Status check_choices(const std::vector<DeviceChoice>& chosen,
                     const std::vector<Accelerator>& devices) {
  for (const DeviceChoice& choice : chosen) {
    if (Status fine = check_choice(choice, find(choice, devices)); !fine) return fine;
    if (std::count(chosen.begin(), chosen.end(), choice) > 1) {
      return cannot_show(choice, "it is named twice");
    }
    if (choice.kind != chosen.front().kind) {
      return cannot_show(choice, "a job's devices are all of one kind");
    }
    if (!choice.slice.empty() && chosen.size() > 1) {
      return cannot_show(choice, "CUDA shows one MIG slice to a process, and none beside cards");
    }
  }
  return success();
}

// Whether the driver's own count is the one that the runtime uses: no device is left out of it.
bool numbers_are_sure(const std::vector<const Accelerator*>& devices) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Accelerator& device = *devices[i];
    if (!device.usable || device.mig_mode == true || is_cut(device)) return false;
    if (device.index != static_cast<int>(i)) return false;
  }
  return true;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// `chosen` is checked. Where numbers are not sure and a UUID is not known, the Error says so.
Result<std::string> by_number_or_uuid(const std::vector<DeviceChoice>& chosen,
                                      const std::vector<Accelerator>& devices) {
  if (chosen.empty()) return std::string();
  const bool numbers = numbers_are_sure(of_kind(chosen.front().kind, devices));
  std::vector<std::string> words;
  for (const DeviceChoice& choice : chosen) {
    const Accelerator& device = *find(choice, devices);
    if (numbers) {
      words.push_back(std::to_string(choice.index));
    } else if (!choice.slice.empty()) {
      words.push_back(choice.slice);
    } else if (!device.uuid.empty()) {
      words.push_back(device.uuid);
    } else {
      return cannot_show(choice, "its UUID is not known, and its number is not sure");
    }
  }
  return joined(words);
}

// Counted from 0 among those of the kind, which is all that Level Zero knows.
std::string level_zero_mask(const std::vector<DeviceChoice>& chosen) {
  std::vector<std::string> words;
  for (const DeviceChoice& choice : chosen) words.push_back(std::to_string(choice.index));
  return joined(words);
}

std::string ids_of(const std::vector<DeviceChoice>& chosen) {
  std::vector<std::string> words;
  for (const DeviceChoice& choice : chosen) {
    words.push_back(choice.slice.empty()
                        ? std::string(name_of(choice.kind)) + ":" + std::to_string(choice.index)
                        : choice.slice);
  }
  return joined(words);
}

// Each of these makes one kind visible, or hides it when `visible` is empty.
void show_nvidia(const std::string& visible, DeviceEnvironment& environment) {
  if (!visible.empty()) environment.set.push_back({"CUDA_DEVICE_ORDER", "PCI_BUS_ID"});
  environment.set.push_back({"CUDA_VISIBLE_DEVICES", visible});
}

void show_amd(const std::string& visible, DeviceEnvironment& environment) {
  environment.set.push_back({"ROCR_VISIBLE_DEVICES", visible});
  environment.unset.push_back("HIP_VISIBLE_DEVICES");
  if (!visible.empty()) environment.unset.push_back("CUDA_VISIBLE_DEVICES");
}

void show_intel(const std::string& visible, const std::vector<Accelerator>& devices,
                DeviceEnvironment& environment) {
  if (!visible.empty()) {
    environment.set.push_back({"ZE_AFFINITY_MASK", visible});
    environment.unset.push_back("ONEAPI_DEVICE_SELECTOR");
  } else if (!of_kind(AcceleratorKind::xpu, devices).empty()) {
    // An empty ZE_AFFINITY_MASK counts as an unset one, so they are hidden from SYCL instead.
    environment.set.push_back({"ONEAPI_DEVICE_SELECTOR", "*:cpu"});
  }
}

// What of `chosen` is of this kind, as its runtime wants to hear it.
Result<std::string> visible_of_kind(AcceleratorKind kind, const std::vector<DeviceChoice>& chosen,
                                    const std::vector<Accelerator>& devices) {
  if (chosen.empty() || chosen.front().kind != kind) return std::string();
  if (kind == AcceleratorKind::xpu) return level_zero_mask(chosen);
  return by_number_or_uuid(chosen, devices);
}

}  // namespace

std::vector<DeviceChoice> visible_to_cuda(std::optional<std::string_view> value,
                                          const std::vector<Accelerator>& devices) {
  if (!value) return all_that_cuda_sees(devices);
  const std::vector<std::string_view> words = split_at_commas(*value);
  if (words.front().starts_with("MIG-")) {
    const std::optional<DeviceChoice> slice = slice_by_uuid(words.front(), devices);
    return slice ? std::vector<DeviceChoice>{*slice} : std::vector<DeviceChoice>();
  }
  const bool by_uuid = words.front().starts_with("GPU-");
  std::vector<DeviceChoice> seen;
  for (const std::string_view word : words) {
    if (by_uuid != word.starts_with("GPU-")) break;
    const std::optional<DeviceChoice> card =
        by_uuid ? card_by_uuid(word, devices) : card_by_number(word, devices);
    if (!card) break;
    if (std::find(seen.begin(), seen.end(), *card) != seen.end()) return {};
    seen.push_back(*card);
  }
  return seen;
}

Result<std::string> cuda_visible_devices(const std::vector<DeviceChoice>& chosen,
                                         const std::vector<Accelerator>& devices) {
  for (const DeviceChoice& choice : chosen) {
    if (choice.kind != AcceleratorKind::cuda) return cannot_show(choice, "it is no CUDA device");
  }
  if (Status fine = check_choices(chosen, devices); !fine) return std::move(fine).error();
  return by_number_or_uuid(chosen, devices);
}

Result<DeviceEnvironment> device_environment(const std::vector<DeviceChoice>& chosen,
                                             const std::vector<Accelerator>& devices) {
  if (Status fine = check_choices(chosen, devices); !fine) return std::move(fine).error();
  const Result<std::string> nvidia = visible_of_kind(AcceleratorKind::cuda, chosen, devices);
  const Result<std::string> amd = visible_of_kind(AcceleratorKind::rocm, chosen, devices);
  const Result<std::string> intel = visible_of_kind(AcceleratorKind::xpu, chosen, devices);
  for (const auto* visible : {&nvidia, &amd, &intel}) {
    if (!visible->ok()) return visible->error();
  }
  DeviceEnvironment environment;
  environment.set.push_back({"GPL_GPUS", ids_of(chosen)});
  if (amd.value().empty()) show_nvidia(nvidia.value(), environment);
  show_amd(amd.value(), environment);
  show_intel(intel.value(), devices, environment);
  return environment;
}

}  // namespace gpl
