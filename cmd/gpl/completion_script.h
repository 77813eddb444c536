#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"

namespace gpl::cmd {

/// The completions for a shell, as text that it reads; made of the table of commands alone.
std::string bash_completion(std::span<const Command> table);
std::string zsh_completion(std::span<const Command> table);
std::string fish_completion(std::span<const Command> table);

/// What follows an option on the command line.
enum class Operand { none, text, path, folder };
Operand operand_of(const OptionRow& row);

/// The commands and options that this version has.
std::vector<Command> existing(std::span<const Command> table);
std::vector<OptionRow> existing(std::span<const OptionRow> table);

/// `text` as one word in single quotes, for bash and zsh.
std::string single_quoted(std::string_view text);

}  // namespace gpl::cmd
