#include "completion_script.h"

namespace gpl::cmd {

Operand operand_of(const OptionRow& row) {
  switch (row.kind) {
    case OptionRow::Kind::flag:
    case OptionRow::Kind::later_flag:
    case OptionRow::Kind::optional_value:
      return Operand::none;
    case OptionRow::Kind::value:
    case OptionRow::Kind::list:
    case OptionRow::Kind::later:
      break;
  }
  if (row.value == "PATH") return Operand::path;
  return row.value == "DIR" ? Operand::folder : Operand::text;
}

std::vector<Command> existing(std::span<const Command> table) {
  std::vector<Command> found;
  for (const Command& command : table) {
    if (command.options != nullptr) found.push_back(command);
  }
  return found;
}

std::vector<OptionRow> existing(std::span<const OptionRow> table) {
  std::vector<OptionRow> found;
  for (const OptionRow& row : table) {
    const bool later =
        row.kind == OptionRow::Kind::later || row.kind == OptionRow::Kind::later_flag;
    if (!later) found.push_back(row);
  }
  return found;
}

std::string single_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace gpl::cmd
