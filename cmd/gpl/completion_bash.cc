#include "completion_script.h"

namespace gpl::cmd {
namespace {

constexpr const char* head = R"(# Completions of gpl for bash, by `gpl completion bash`.

# _gpl_offer COMPGEN_OPTIONS...: the candidates that begin like the current word.
_gpl_offer() {
  local candidate
  while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen "$@" -- "$_gpl_word")
}

_gpl_paths() {
  compopt -o filenames 2>/dev/null
  _gpl_offer "$@"
}

# _gpl_command_line N: words N and on are a command line of their own.
_gpl_command_line() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)) && [[ $_gpl_word != */* ]]; then
    _gpl_offer -c
  else
    _gpl_paths -f
  fi
}

_gpl() {
  local _gpl_word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} at
  COMPREPLY=()
  # bash takes --stage=PATH apart at the '='.
  if [[ $_gpl_word == '=' ]]; then
    _gpl_word=
  elif [[ $option == '=' ]] && ((COMP_CWORD > 2)); then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
)";

constexpr const char* after_first_word = R"(    return
  fi
  if [[ ${COMP_WORDS[1]} == @(run|submit|exec) ]]; then
    for ((at = 2; at < COMP_CWORD; at++)); do
      [[ ${COMP_WORDS[at]} == -- ]] || continue
      _gpl_command_line $((at + 1))
      return
    done
  fi
  case ${COMP_WORDS[1]}:$option in
)";

constexpr const char* before_words = R"(  esac
  case ${COMP_WORDS[1]} in
)";

constexpr const char* tail = R"(  esac
}

complete -o default -F _gpl gpl
)";

std::string action(Operand operand) {
  switch (operand) {
    case Operand::none:
      break;
    case Operand::text:
      return "compopt +o default 2>/dev/null";
    case Operand::path:
      return "_gpl_paths -f";
    case Operand::folder:
      return "_gpl_paths -d";
  }
  return ":";
}

std::string action(Takes takes) {
  switch (takes) {
    case Takes::nothing:
      break;
    case Takes::job_file_or_command:
      return "_gpl_paths -f -X '!*.toml'; _gpl_paths -d";
    case Takes::kept_job:
      return "_gpl_offer -W \"last all $(gpl history --quiet 2>/dev/null)\"";
    case Takes::job:
      return "_gpl_offer -W \"last all $(gpl status --quiet 2>/dev/null)\"";
    case Takes::job_and_command:
      return "if ((COMP_CWORD == 2)); then _gpl_offer -W \"last $(gpl status --quiet "
             "2>/dev/null)\"; "
             "else _gpl_command_line 3; fi";
    case Takes::peer_word:
      return "_gpl_offer -W 'drain resume forget'";
    case Takes::key_word:
      return "if ((COMP_CWORD == 2)); then _gpl_offer -W 'show new set derive'; "
             "elif [[ ${COMP_WORDS[2]} == derive ]]; then _gpl_offer -W 'client observer'; fi";
    case Takes::shell:
      return "_gpl_offer -W 'bash zsh fish'";
    case Takes::log_folder:
      return "if ((COMP_CWORD == 2)); then _gpl_offer -W 'check dump'; else _gpl_paths -d; fi";
  }
  return "compopt +o default 2>/dev/null";
}

std::string option_cases(const Command& command) {
  std::string text;
  for (const OptionRow& row : existing(command.options())) {
    const Operand operand = operand_of(row);
    if (operand == Operand::none) continue;
    text += "    " + std::string(command.name) + ":--" + std::string(row.name) + ") " +
            action(operand) + "; return ;;\n";
  }
  return text;
}

std::string word_case(const Command& command) {
  std::string options;
  for (const OptionRow& row : existing(command.options())) {
    options += (options.empty() ? "--" : " --") + std::string(row.name);
  }
  if (command.takes == Takes::job_file_or_command) options += " --";
  return "    " + std::string(command.name) +
         ")\n      if [[ $_gpl_word == -* ]]; then _gpl_offer -W " + single_quoted(options) +
         "; else " + action(command.takes) + "; fi ;;\n";
}

}  // namespace

std::string bash_completion(std::span<const Command> table) {
  std::string names;
  std::string options;
  std::string words;
  for (const Command& command : existing(table)) {
    names += std::string(command.name) + " ";
    options += option_cases(command);
    words += word_case(command);
  }
  return head + ("    _gpl_offer -W " + single_quoted(names + "--help --version") + "\n") +
         after_first_word + options + before_words + words + tail;
}

}  // namespace gpl::cmd
