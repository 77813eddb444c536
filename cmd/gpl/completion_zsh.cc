#include "completion_script.h"

namespace gpl::cmd {
namespace {

constexpr const char* head = R"zsh(#compdef gpl
# Completions of gpl for zsh, by `gpl completion zsh`.

_gpl_kept_jobs() {
  local -a jobs=(last all ${(f)"$(gpl history --quiet 2>/dev/null)"})
  _describe 'job' jobs
}

_gpl_jobs() {
  local -a jobs=(last all ${(f)"$(gpl status --quiet 2>/dev/null)"})
  _describe 'job' jobs
}

_gpl() {
  local curcontext=$curcontext state line dashes
  local -A opt_args
  _arguments -C \
    '--help[print the commands]' '--version[print the version]' \
    '1:command:->command' '*:: :->words'
  case $state in
    command)
      local -a commands=(
)zsh";

constexpr const char* after_commands = R"(      )
      _describe 'command' commands ;;
    words)
      case $words[1] in
)";

constexpr const char* tail = R"(      esac ;;
  esac
}

if [[ $funcstack[1] == _gpl ]]; then
  _gpl "$@"
else
  compdef _gpl gpl
fi
)";

// What follows `run --` is a command line of its own.
constexpr const char* command_line = R"(          dashes=${words[(i)--]}
          if ((dashes < CURRENT)); then
            shift $dashes words
            ((CURRENT -= dashes))
            _normal
            return
          fi
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string action(Operand operand) {
  switch (operand) {
    case Operand::none:
    case Operand::text:
      break;
    case Operand::path:
      return "_files";
    case Operand::folder:
      return "_files -/";
  }
  return "";
}

std::vector<std::string> actions(Takes takes) {
  switch (takes) {
    case Takes::nothing:
      break;
    case Takes::job_file_or_command:
      return {"*:job file:_files -g \"*.toml\""};
    case Takes::kept_job:
      return {"*:job:_gpl_kept_jobs"};
    case Takes::job:
      return {"*:job:_gpl_jobs"};
    case Takes::job_and_command:
      return {"1:job:_gpl_jobs", "*::command:_normal"};
    case Takes::peer_word:
      return {"1:what:(drain resume forget)"};
    case Takes::key_word:
      return {"1:what:(show new set derive)", "2:role:(client observer)"};
    case Takes::shell:
      return {"1:shell:(bash zsh fish)"};
    case Takes::log_folder:
      return {"1:what:(check dump)", "2:folder:_files -/"};
  }
  return {};
}

// The spec of one option, as _arguments (zshcompsys(1)) reads it.
std::string option_spec(const OptionRow& row) {
  std::string spec = row.kind == OptionRow::Kind::list ? "*" : "";
  spec += "--" + std::string(row.name);
  const Operand operand = operand_of(row);
  if (operand != Operand::none) spec += "=";
  spec += "[" + escaped(row.help) + "]";
  if (operand != Operand::none) spec += ":" + escaped(row.value) + ":" + action(operand);
  return spec;
}

std::string word_case(const Command& command) {
  std::string text = "        " + std::string(command.name) + ")\n";
  if (command.takes == Takes::job_file_or_command) text += command_line;
  text += "          _arguments";
  for (const OptionRow& row : existing(command.options())) {
    text += " \\\n            " + single_quoted(option_spec(row));
  }
  for (const std::string& words : actions(command.takes)) {
    text += " \\\n            " + single_quoted(words);
  }
  return text + " ;;\n";
}

}  // namespace

std::string zsh_completion(std::span<const Command> table) {
  std::string names;
  std::string words;
  for (const Command& command : existing(table)) {
    names += "        " + single_quoted(command.name + (":" + escaped(command.summary))) + "\n";
    words += word_case(command);
  }
  return head + names + after_commands + words + tail;
}

}  // namespace gpl::cmd
