#include "gpl/host/nvidia_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "gpl/core/ascii.h"
#include "gpl/host/nvidia_query.h"
#include "gpl/host/text_lines.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_index = 100'000;

bool is_warning(std::string_view line) { return to_lower(line).starts_with("warning"); }

// What stands in "(UUID: ...)" at the end of a line, which is cut off.
std::string take_uuid(std::string_view& line) {
  constexpr std::string_view before = "(UUID: ";
  const std::size_t begin = line.rfind(before);
  if (begin == std::string_view::npos || !line.ends_with(')')) return "";
  std::string uuid(line.substr(begin + before.size(), line.size() - begin - before.size() - 1));
  line = trimmed(line.substr(0, begin));
  return uuid;
}

// "GPU 0: NVIDIA H200 (UUID: GPU-...)"
std::optional<NvidiaListed> parse_card(std::string_view line) {
  if (!line.starts_with("GPU ")) return std::nullopt;
  line.remove_prefix(4);
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), index);
  if (error != std::errc() || index > max_index) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.starts_with(": ")) return std::nullopt;
  line.remove_prefix(2);
  NvidiaListed card;
  card.index = static_cast<int>(index);
  card.uuid = take_uuid(line);
  card.name = std::string(line);
  return card;
}

// The UUIDs of R450 and R460 say where a slice is: MIG-GPU-UUID/GPU-INSTANCE/COMPUTE-INSTANCE.
std::optional<int> gpu_instance_in(std::string_view uuid) {
  const std::size_t slash = uuid.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  int number = 0;
  const char* begin = uuid.data() + slash + 1;
  const auto [end, error] = std::from_chars(begin, uuid.data() + uuid.size(), number);
  const bool followed = end != uuid.data() + uuid.size() && *end == '/';
  return error == std::errc() && followed && number >= 0 ? std::optional<int>(number)
                                                         : std::nullopt;
}

// "MIG 1c.3g.71gb  Device  0: (UUID: MIG-...)"
std::optional<Partition> parse_slice(std::string_view line) {
  if (!line.starts_with("MIG ")) return std::nullopt;
  line.remove_prefix(4);
  Partition slice;
  slice.uuid = take_uuid(line);
  if (!slice.uuid.starts_with("MIG-")) return std::nullopt;
  line = trimmed(line);
  slice.profile = std::string(line.substr(0, line.find(' ')));
  slice.gpu_instance = gpu_instance_in(slice.uuid);
  return slice;
}

// Messages since the last card, until it is known how many cards are missing there.
class PendingMessages {
 public:
  void add(std::string_view line) { lines_.emplace_back(line); }

  // The next card that is listed has `next_index`; nothing: the list has ended.
  void settle(std::optional<int> next_index, NvidiaList& list) {
    int index = list.cards.empty() ? 0 : list.cards.back().index + 1;
    for (std::string& line : lines_) {
      const bool place_is_free = next_index && index < *next_index;
      const bool stands_for_card =
          !is_warning(line) && (place_is_free || (!next_index && names_a_bad_card(line)));
      if (!stands_for_card) {
        list.notes.push_back(std::move(line));
        continue;
      }
      NvidiaListed card;
      card.index = index++;
      card.fault = std::move(line);
      list.cards.push_back(std::move(card));
    }
    lines_.clear();
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace

bool names_a_bad_card(std::string_view message) {
  const std::string words = to_lower(message);
  if (words.starts_with("failed to initialize")) return false;
  constexpr std::array<std::string_view, 4> faults = {"device handle", "gpu is lost",
                                                      "requires reset", "off the bus"};
  const bool fault = std::any_of(faults.begin(), faults.end(), [&](std::string_view known) {
    return words.find(known) != std::string::npos;
  });
  return fault || !pci_address_in(message).empty();
}

NvidiaList parse_nvidia_list(std::string_view text) {
  NvidiaList list;
  PendingMessages messages;
  for (const std::string_view line : lines_with_text(text)) {
    if (std::optional<NvidiaListed> card = parse_card(line)) {
      messages.settle(card->index, list);
      list.cards.push_back(std::move(*card));
    } else if (std::optional<Partition> slice = parse_slice(line); slice && !list.cards.empty()) {
      list.cards.back().slices.push_back(std::move(*slice));
    } else {
      messages.add(line);
    }
  }
  messages.settle(std::nullopt, list);
  return list;
}

}  // namespace gpl::host
