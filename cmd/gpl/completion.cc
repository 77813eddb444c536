#include <cstdio>

#include "completion_script.h"
#include "output.h"

namespace gpl::cmd {
namespace {

constexpr OptionRow rows[] = {
    {"help", OptionRow::Kind::flag, "", "Options:", "print this"},
};

constexpr const char* help_head =
    R"(Print the completions of gpl's commands and options for a shell.

  . <(gpl completion bash)                                        # this shell only
  gpl completion bash > ~/.local/share/bash-completion/completions/gpl
  gpl completion fish > ~/.config/fish/completions/gpl.fish
  gpl completion zsh > ~/.zfunc/_gpl                              # ~/.zfunc being in $fpath

Usage: gpl completion bash|zsh|fish
)";

int usage_error(const std::string& what) {
  complain("completion: " + what);
  return 2;
}

}  // namespace

std::span<const OptionRow> completion_options() { return rows; }

int completion_command(const Invocation& invocation) {
  Result<ParsedOptions> options = parse_mixed_options(rows, invocation.args);
  if (!options.ok()) return usage_error(options.error().message);
  if (options.value().has("help")) return print(help_head + describe_options(rows));
  const std::vector<std::string>& rest = options.value().rest;
  if (rest.size() != 1) return usage_error("for which shell? bash, zsh or fish");
  if (rest.front() == "bash") return print(bash_completion(commands()));
  if (rest.front() == "zsh") return print(zsh_completion(commands()));
  if (rest.front() == "fish") return print(fish_completion(commands()));
  return usage_error("there are none for '" + printable(rest.front()) + "': bash, zsh or fish");
}

}  // namespace gpl::cmd
