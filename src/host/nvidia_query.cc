#include "gpl/host/nvidia_query.h"

#include <algorithm>
#include <charconv>

#include "gpl/core/ascii.h"
#include "gpl/host/text_lines.h"

namespace gpl::host {
namespace {

bool is_hex(char c) { return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f'); }

std::size_t hex_digits(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_hex(text[end])) ++end;
  return end - at;
}

// How long the PCI address DOMAIN:BUS:DEVICE.FUNCTION at `at` is; 0: none begins there.
std::size_t pci_length(std::string_view text, std::size_t at) {
  const std::size_t domain = hex_digits(text, at);
  if (domain < 4 || domain > 8) return 0;
  constexpr std::string_view rest = ":hh:hh.h";
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::size_t place = at + domain + i;
    if (place >= text.size()) return 0;
    if (rest[i] == 'h' ? !is_hex(text[place]) : text[place] != rest[i]) return 0;
  }
  return domain + rest.size();
}

std::optional<int> parse_index(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr int more_than_any_machine_has = 100'000;
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || number < 0 || number > more_than_any_machine_has) return std::nullopt;
  return number;
}

// A cell without its brackets: "[N/A]" and "N/A" say the same.
std::string_view bare(std::string_view cell) {
  if (cell.size() >= 2 && cell.front() == '[' && cell.back() == ']') {
    cell = trimmed(cell.substr(1, cell.size() - 2));
  }
  return cell;
}

bool is_bracketed(std::string_view cell) { return bare(cell).size() != cell.size(); }

// The driver has no such value for this card, which is no fault.
bool is_not_available(std::string_view cell) {
  const std::string word = to_lower(bare(cell));
  return word == "n/a" || word == "not supported";
}

bool is_unknown_error(std::string_view cell) {
  const std::string word = to_lower(bare(cell));
  return word == "unknown error" || word == "err!";
}

bool is_absent(std::string_view cell) {
  return cell.empty() || is_bracketed(cell) || is_not_available(cell) || is_unknown_error(cell);
}

std::string value_of(std::string_view cell) {
  return is_absent(cell) ? std::string() : std::string(cell);
}

// The cells of a line, the last one with whatever commas are left. Empty: too few.
std::vector<std::string_view> split_cells(std::string_view line, std::size_t count) {
  std::vector<std::string_view> cells;
  while (cells.size() + 1 < count) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) return {};
    cells.push_back(trimmed(line.substr(0, comma)));
    line.remove_prefix(comma + 1);
  }
  cells.push_back(trimmed(line));
  return cells;
}

bool identifies(std::string_view field, std::string_view cell) {
  if (field == "index") return parse_index(cell).has_value();
  if (field == "uuid") return cell.starts_with("GPU-");
  if (field == "pci.bus_id") return !normalised_pci_address(cell).empty();
  return false;
}

bool is_row(const std::vector<std::string>& fields, const std::vector<std::string_view>& cells) {
  if (cells.size() != fields.size() || cells.size() < 2) return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (identifies(fields[i], cells[i])) return true;
  }
  // A lost card may have nothing but "[GPU is lost]" in every place.
  return std::all_of(cells.begin(), cells.end() - 1, is_bracketed);
}

bool is_header(const std::vector<std::string>& fields, const std::vector<std::string_view>& cells) {
  return !cells.empty() && cells.front() == fields.front();
}

void take_cell(std::string_view field, std::string_view cell, Accelerator& card) {
  if (field == "index") {
    card.index = parse_index(cell).value_or(-1);
  } else if (field == "uuid") {
    card.uuid = value_of(cell);
  } else if (field == "pci.bus_id") {
    card.pci = normalised_pci_address(cell);
  } else if (field == "driver_version") {
    card.driver = value_of(cell);
  } else if (field == "memory.total") {
    card.memory_bytes = parse_mebibytes(cell);
    card.unified_memory = is_not_available(cell);
  } else if (field == "memory.used") {
    card.memory_used_bytes = parse_mebibytes(cell);
    if (cell == "0" || cell == "0 MiB") card.memory_used_bytes = 0;
  } else if (field == "compute_cap") {
    if (Result<ComputeCapability> parsed = parse_compute_capability(cell); parsed.ok()) {
      card.compute_capability = parsed.value();
    }
  } else if (field == "mig.mode.current") {
    const std::string word = to_lower(cell);
    if (word == "enabled" || word == "disabled") card.mig_mode = word == "enabled";
  } else if (field == "name") {
    card.name = value_of(cell);
  }
}

// "GPU requires reset", "GPU is lost": the driver puts it where a value would be.
std::string fault_in(std::string_view cell) {
  if (!is_bracketed(cell)) return "";
  const std::string word = to_lower(cell);
  const bool fault =
      word.find("requires reset") != std::string::npos || word.find("is lost") != std::string::npos;
  return fault ? std::string(bare(cell)) : "";
}

bool shows_health(std::string_view field) {
  return field == "pstate" || field == "temperature.gpu" || field == "utilization.gpu" ||
         field == "memory.total";
}

// A sensor alone may fail on a card that works; the state or the memory, or several, do not.
void judge(const std::vector<std::string>& fields, const std::vector<std::string_view>& cells,
           Accelerator& card) {
  card.usable = true;
  int unknown_errors = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (const std::string fault = fault_in(cells[i]); !fault.empty()) {
      card.usable = false;
      const auto same = std::find(card.problems.begin(), card.problems.end(), fault);
      if (same == card.problems.end()) card.problems.push_back(fault);
    } else if (shows_health(fields[i]) && is_unknown_error(cells[i])) {
      unknown_errors += fields[i] == "pstate" || fields[i] == "memory.total" ? 2 : 1;
      card.problems.push_back(fields[i] + ": Unknown Error");
    }
  }
  if (unknown_errors >= 2) card.usable = false;
  card.unified_memory = card.unified_memory && card.usable && card.mig_mode != true;
}

}  // namespace

std::vector<std::string> nvidia_query_fields() {
  return {"index",           "uuid",        "pci.bus_id",       "driver_version", "memory.total",
          "memory.used",     "compute_cap", "mig.mode.current", "pstate",         "temperature.gpu",
          "utilization.gpu", "name"};
}

NvidiaQuery parse_nvidia_query(std::string_view text, const std::vector<std::string>& fields) {
  NvidiaQuery query;
  for (const std::string_view line : lines_with_text(text)) {
    const std::vector<std::string_view> cells = split_cells(line, fields.size());
    if (is_header(fields, cells)) continue;
    if (!is_row(fields, cells)) {
      query.notes.emplace_back(line);
      continue;
    }
    Accelerator card;
    card.kind = AcceleratorKind::cuda;
    card.vendor = "nvidia";
    card.index = -1;
    for (std::size_t i = 0; i < cells.size(); ++i) take_cell(fields[i], cells[i], card);
    judge(fields, cells, card);
    query.cards.push_back(std::move(card));
  }
  return query;
}

std::optional<std::string> unknown_nvidia_field(std::string_view text) {
  constexpr std::string_view before = "Field \"";
  constexpr std::string_view after = "\" is not a valid field to query";
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + before.size());
  const std::size_t end = text.find(after);
  if (end == std::string_view::npos || end == 0 || end > 100) return std::nullopt;
  return std::string(text.substr(0, end));
}

std::string normalised_pci_address(std::string_view text) {
  if (pci_length(text, 0) != text.size()) return "";
  constexpr std::size_t after_domain = std::string_view(":00:00.0").size();
  while (text.size() > 4 + after_domain && text.front() == '0') text.remove_prefix(1);
  return to_lower(text);
}

std::string pci_address_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at += std::max<std::size_t>(1, hex_digits(text, at))) {
    if (const std::size_t length = pci_length(text, at); length > 0) {
      return normalised_pci_address(text.substr(at, length));
    }
  }
  return "";
}

std::optional<std::uint64_t> parse_mebibytes(std::string_view text) {
  constexpr std::string_view unit = "MiB";
  if (text.ends_with(unit)) text = trimmed(text.substr(0, text.size() - unit.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr std::uint64_t largest = std::uint64_t{1} << 40;
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || number == 0 || number > largest) return std::nullopt;
  return number << 20;
}

}  // namespace gpl::host
