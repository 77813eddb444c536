#include "completion_script.h"

namespace gpl::cmd {
namespace {

constexpr const char* head = R"(# Completions of gpl for fish, by `gpl completion fish`.

function __gpl_is --description 'the command is this one, and no -- has come'
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = $argv[1]; and not contains -- -- $words
end

function __gpl_is_new --description 'no command has come'
    test (count (commandline -opc)) -eq 1
end

function __gpl_has_dashes
    contains -- -- (commandline -opc)
end

function __gpl_command_line --description 'what follows -- is a command line of its own'
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    set -l before
    test $at -lt (count $words); and set before (string escape -- $words[(math $at + 1)..-1])
    complete -C (string join ' ' -- $before (commandline -ct))
end

complete -c gpl -f
complete -c gpl -n __gpl_is_new -l help -d 'print the commands'
complete -c gpl -n __gpl_is_new -l version -d 'print the version'
complete -c gpl -n __gpl_has_dashes -a '(__gpl_command_line)'
)";

// In fish's single quotes a backslash escapes a quote and itself.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string action(Operand operand) {
  switch (operand) {
    case Operand::none:
      break;
    case Operand::text:
      return " -x";
    case Operand::path:
      return " -r -F";
    case Operand::folder:
      return " -x -a '(__fish_complete_directories (commandline -ct))'";
  }
  return "";
}

std::string words_of(Takes takes) {
  switch (takes) {
    case Takes::nothing:
      break;
    case Takes::job_file_or_command:
      return "(__fish_complete_suffix .toml)";
    case Takes::kept_job:
      return "last all (gpl history --quiet 2>/dev/null)";
    case Takes::job:
      return "last all (gpl status --quiet 2>/dev/null)";
    case Takes::job_and_command:
      return "last (gpl status --quiet 2>/dev/null)";
    case Takes::peer_word:
      return "drain resume forget";
    case Takes::key_word:
      return "show new set derive client observer";
    case Takes::shell:
      return "bash zsh fish";
    case Takes::log_folder:
      return "check dump (__fish_complete_directories (commandline -ct))";
  }
  return "";
}

std::string lines(const Command& command) {
  const std::string name = command.name;
  const std::string when = "complete -c gpl -n " + quoted("__gpl_is " + name);
  std::string text =
      "\ncomplete -c gpl -n __gpl_is_new -a " + name + " -d " + quoted(command.summary) + "\n";
  for (const OptionRow& row : existing(command.options())) {
    text += when + " -l " + std::string(row.name) + action(operand_of(row)) + " -d " +
            quoted(row.help) + "\n";
  }
  if (const std::string words = words_of(command.takes); !words.empty()) {
    text += when + " -a " + quoted(words) + "\n";
  }
  return text;
}

}  // namespace

std::string fish_completion(std::span<const Command> table) {
  std::string text = head;
  for (const Command& command : existing(table)) text += lines(command);
  return text;
}

}  // namespace gpl::cmd
