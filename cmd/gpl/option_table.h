#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::cmd {

/// One option of a command: parsing, --help and the shell completions all come from these rows.
struct OptionRow {
  enum class Kind {
    flag,
    value,           ///< the last one given counts
    list,            ///< may be repeated
    optional_value,  ///< may be given without one: "" then
    later,           ///< takes a value; named by the design, refused until a version has it
    later_flag,
  };
  std::string_view name;  ///< without the dashes
  Kind kind = Kind::flag;
  std::string_view value;  ///< what stands for it in --help: "PATH"
  std::string_view group;
  std::string_view help;
};

/// The words of a command line, taken apart.
struct ParsedOptions {
  std::map<std::string, std::vector<std::string>, std::less<>> values;  ///< a flag has none
  std::vector<std::string> rest;  ///< the words from the first that is no option

  bool has(std::string_view name) const { return values.contains(name); }
  /// The last value of an option, "" when it was not given.
  std::string last(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
};

/// Takes `words` apart, up to the first that is no option. Code::invalid names an unknown option
/// with the nearest known one, or an option without its value; Code::unsupported an option that a
/// later version has.
Result<ParsedOptions> parse_options(std::span<const OptionRow> table,
                                    const std::vector<std::string>& words);

/// The same for commands whose options may also follow their other words: `rest` has these.
Result<ParsedOptions> parse_mixed_options(std::span<const OptionRow> table,
                                          std::vector<std::string> words);

/// The options of `table` that exist, by group, aligned: the second half of a --help page.
std::string describe_options(std::span<const OptionRow> table);

}  // namespace gpl::cmd
