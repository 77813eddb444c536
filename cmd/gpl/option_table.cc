#include "option_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "gpl/core/nearest.h"

namespace gpl::cmd {
namespace {

bool takes_value(const OptionRow& row) {
  return row.kind == OptionRow::Kind::value || row.kind == OptionRow::Kind::list ||
         row.kind == OptionRow::Kind::later;
}

bool may_take_value(const OptionRow& row) { return row.kind == OptionRow::Kind::optional_value; }

bool is_later(const OptionRow& row) {
  return row.kind == OptionRow::Kind::later || row.kind == OptionRow::Kind::later_flag;
}

Error unknown_option(std::span<const OptionRow> table, const std::string& word) {
  const std::string given = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const OptionRow& row : table) known.push_back("--" + std::string(row.name));
  std::string message = "unknown option " + given;
  if (const std::optional<std::string> near = nearest(given, known)) {
    message += "; did you mean " + *near + "?";
  }
  return Error{Code::invalid, std::move(message)};
}

// CLI11 is asked for no more than to split the flags; what they mean is ours.
void add_options(CLI::App& app, std::span<const OptionRow> table, ParsedOptions& parsed) {
  for (const OptionRow& row : table) {
    const std::string name(row.name);
    const std::string flag = "--" + name;
    if (may_take_value(row)) {
      app.add_option_function<std::vector<std::string>>(
             flag, [&parsed,
                    name](const std::vector<std::string>& given) { parsed.values[name] = given; })
          ->expected(0, 1);
      continue;
    }
    if (!takes_value(row)) {
      app.add_flag_callback(flag, [&parsed, name] { parsed.values[name]; });
      continue;
    }
    // One value at a time, or a repeatable option would swallow the words that follow it.
    CLI::Option* option = app.add_option_function<std::vector<std::string>>(
        flag,
        [&parsed, name](const std::vector<std::string>& given) { parsed.values[name] = given; });
    option->type_size(1)->expected(1)->allow_extra_args(false);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

}  // namespace

std::string ParsedOptions::last(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() || found->second.empty() ? "" : found->second.back();
}

std::vector<std::string> ParsedOptions::all(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? std::vector<std::string>() : found->second;
}

Result<ParsedOptions> parse_options(std::span<const OptionRow> table,
                                    const std::vector<std::string>& words) {
  ParsedOptions parsed;
  CLI::App app;
  app.set_help_flag();
  app.prefix_command();
  add_options(app, table, parsed);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    const bool needs_value = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
    return Error{Code::invalid,
                 needs_value ? words.back() + " needs a value" : std::string(error.what())};
  }
  parsed.rest = app.remaining();
  if (!parsed.rest.empty() && parsed.rest.front().starts_with('-')) {
    return unknown_option(table, parsed.rest.front());
  }
  for (const OptionRow& row : table) {
    if (is_later(row) && parsed.has(row.name)) {
      return Error{Code::unsupported,
                   "--" + std::string(row.name) + " comes with a later version of gpl"};
    }
  }
  return parsed;
}

Result<ParsedOptions> parse_mixed_options(std::span<const OptionRow> table,
                                          std::vector<std::string> words) {
  ParsedOptions all;
  while (!words.empty()) {
    Result<ParsedOptions> some = parse_options(table, words);
    if (!some.ok()) return some;
    for (auto& [name, given] : some.value().values) {
      std::vector<std::string>& known = all.values[name];
      known.insert(known.end(), given.begin(), given.end());
    }
    words = std::move(some.value().rest);
    if (words.empty()) break;
    all.rest.push_back(std::move(words.front()));
    words.erase(words.begin());
  }
  return all;
}

std::string describe_options(std::span<const OptionRow> table) {
  std::size_t width = 0;
  const auto left_of = [](const OptionRow& row) {
    std::string left = "--" + std::string(row.name);
    if (takes_value(row)) left += " " + std::string(row.value);
    if (may_take_value(row)) left += "[=" + std::string(row.value) + "]";
    return left;
  };
  for (const OptionRow& row : table) {
    if (!is_later(row)) width = std::max(width, left_of(row).size());
  }
  std::string text;
  std::string_view group;
  for (const OptionRow& row : table) {
    if (is_later(row)) continue;
    if (row.group != group) text += "\n" + std::string(group = row.group) + "\n";
    std::string left = left_of(row);
    left.resize(width, ' ');
    text += "  " + left + "  " + std::string(row.help) + "\n";
  }
  return text;
}

}  // namespace gpl::cmd
