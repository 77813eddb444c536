#include "gpl/host/configuration.h"

#include <cstddef>
#include <utility>

#include "gpl/host/toml_table.h"

namespace gpl::host {

Result<Configuration> read_configuration(const std::filesystem::path& path) {
  Result<std::string> text = read_toml_file(path);
  if (!text.ok() && text.error().code == Code::not_found) return Configuration{};
  if (!text.ok()) return text.error();
  Result<TomlTable> parsed = TomlTable::parse(text.value(), path.string());
  if (!parsed.ok()) return parsed.error();
  TomlTable& table = parsed.value();

  Configuration configuration;
  table.refuse_later({"peers", "devices", "cpus", "memory", "hours"});
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
