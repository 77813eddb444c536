#include "gpl/host/configuration.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "gpl/core/ascii.h"
#include "gpl/core/device.h"
#include "gpl/core/size.h"
#include "gpl/host/toml_table.h"

namespace gpl::host {
namespace {

/// "cuda", "cuda:0".
bool can_name_device(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (!accelerator_kind(word.substr(0, colon))) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view index = word.substr(colon + 1);
  return !index.empty() && index.size() <= 4 && std::all_of(index.begin(), index.end(), is_digit) &&
         (index == "0" || index.front() != '0');
}

void read_devices(TomlTable& table, Lending& lending) {
  const auto words = table.strings("devices", "write [\"cuda:0\", \"rocm\"], or [] for none");
  if (!words) return;
  std::string text;
  for (const std::string& word : *words) text += (text.empty() ? "" : ",") + word;
  auto devices = parse_lent_devices(words->empty() ? "none" : text);
  if (!devices.ok()) {
    table.refuse("devices", devices.error().code, "'devices': " + devices.error().message);
    return;
  }
  lending.devices = std::move(devices).value();
}

void read_amounts(TomlTable& table, Lending& lending) {
  if (const auto cpus = table.integer("cpus", "write 6")) {
    if (*cpus < 0)
      table.refuse("cpus", Code::invalid, "'cpus' is " + std::to_string(*cpus) + ": from 0 on");
    else if (*cpus > std::numeric_limits<int>::max())
      table.refuse("cpus", Code::invalid,
                   "'cpus' is " + std::to_string(*cpus) + ": no machine has so many");
    else
      lending.cpus = static_cast<int>(*cpus);
  }
  if (const auto memory = table.string("memory", "write \"24Gi\"")) {
    const Result<std::uint64_t> size = parse_size(*memory);
    if (!size.ok())
      table.refuse("memory", size.error().code, "'memory': " + size.error().message);
    else if (size.value() == 0)
      table.refuse("memory", Code::invalid, "'memory' is 0, which no job can run in");
    else
      lending.memory_bytes = size.value();
  }
}

void read_hours(TomlTable& table, Lending& lending) {
  const auto text = table.string("hours", "write \"20:00-08:00\"");
  if (!text) return;
  Result<LendingHours> hours = parse_lending_hours(*text);
  if (!hours.ok())
    table.refuse("hours", hours.error().code, "'hours': " + hours.error().message);
  else
    lending.hours = std::move(hours).value();
}

void read_labels(TomlTable& table, Lending& lending) {
  auto pairs = table.string_table("labels", "write {site = \"basement\"}");
  if (!pairs) return;
  std::size_t bytes = 0;
  for (auto& [key, value] : *pairs) {
    bytes += key.size() + value.size();
    if (key.empty() || key.find('=') != std::string::npos)
      table.refuse("labels", Code::invalid,
                   "'labels' has the key " + in_quotes(key) + ", which --label K=V cannot ask for");
    lending.labels.push_back({std::move(key), std::move(value)});
  }
  if (bytes > most_label_bytes)
    table.refuse("labels", Code::too_large,
                 "'labels' takes " + std::to_string(bytes) + " bytes: at most " +
                     std::to_string(most_label_bytes) + " travel with every report");
  std::sort(lending.labels.begin(), lending.labels.end(),
            [](const Label& a, const Label& b) { return a.key < b.key; });
}

void read_meeting(TomlTable& table, Meeting& meeting) {
  if (auto peers = table.strings("peers", "write [\"lab1\", \"10.0.0.7:7457\"]"))
    meeting.peers = std::move(*peers);
  for (const std::string& peer : meeting.peers) {
    if (trimmed(peer).empty() ||
        peer.find_first_of(std::string_view(", \0", 3)) != std::string::npos)
      table.refuse("peers", Code::invalid,
                   "'peers' has " + in_quotes(peer) + ": write HOST or HOST:PORT, one a word");
  }
  if (auto listen = table.string("listen", "write \"10.0.0.7:7457\"")) {
    if (trimmed(*listen).empty())
      table.refuse("listen", Code::invalid, "'listen' is empty: write ADDR:PORT");
    meeting.listen = std::move(*listen);
  }
  if (const auto mdns = table.boolean("mdns", "write true or false")) meeting.mdns = *mdns;
}

}  // namespace

Result<std::optional<std::vector<std::string>>> parse_lent_devices(std::string_view text) {
  using Devices = std::optional<std::vector<std::string>>;
  if (trimmed(text) == "all") return Devices();
  std::vector<std::string> words;
  if (trimmed(text) == "none") return Devices(words);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view word = trimmed(text.substr(at, comma - at));
    if (!can_name_device(word))
      return Error{Code::invalid, in_quotes(word) + " is no device: write ids or kinds such as " +
                                      "cuda:0,rocm (kinds are cuda, rocm, mps and xpu), or all, " +
                                      "or none"};
    if (std::find(words.begin(), words.end(), word) == words.end()) words.emplace_back(word);
    at = comma + 1;
  }
  return Devices(std::move(words));
}

Result<Configuration> read_configuration(const std::filesystem::path& path) {
  Result<std::string> text = read_toml_file(path);
  if (!text.ok() && text.error().code == Code::not_found) return Configuration{};
  if (!text.ok()) return text.error();
  Result<TomlTable> parsed = TomlTable::parse(text.value(), path.string());
  if (!parsed.ok()) return parsed.error();
  TomlTable& table = parsed.value();

  Configuration configuration;
  if (auto globs = table.strings("forward_env", "write [\"NAME\", \"PREFIX_*\"]"))
    configuration.forward_env = std::move(*globs);
  for (const std::string& glob : configuration.forward_env) {
    if (glob.empty() || glob.find_first_of(std::string_view("=\0", 2)) != std::string::npos)
      table.refuse("forward_env", Code::invalid,
                   "'forward_env' has '" + glob.substr(0, glob.find('\0')) +
                       "', which no variable's name can match");
  }
  if (auto roots = table.strings("environments", "write [\"/opt/conda\", \"~/venvs/llm\"]"))
    configuration.environments = std::move(*roots);
  read_devices(table, configuration.lending);
  read_amounts(table, configuration.lending);
  read_hours(table, configuration.lending);
  read_labels(table, configuration.lending);
  read_meeting(table, configuration.meeting);
  if (Status status = table.finish(); !status.ok()) return status.error();
  return configuration;
}

bool matches(std::string_view glob, std::string_view name) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t g = 0;
  std::size_t n = 0;
  std::size_t star = none;  // the last '*' passed,
  std::size_t resume = 0;   // and the name's character after what it stands for so far
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g;
      ++n;
    } else if (star != none) {
      // Only the last star need take one more: what earlier ones took was enough to get here.
      g = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == none;
}

}  // namespace gpl::host
