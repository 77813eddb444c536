#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpl::client {

/// How many columns of a terminal this takes: one a character. Of UTF-8.
std::size_t shown_width(std::string_view text);

/// At most so many columns of it; where something is left out an ellipsis takes the last one.
std::string shortened(std::string_view text, std::size_t width);

/// Broken between words into lines of at most `width` columns, each but the first one indented by
/// `indent`, which the first one's beginning takes too. A longer word has a line for itself.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

/// A table for people: columns two blanks apart, each as wide as what is in it.
struct TextTable {
  struct Row {
    std::vector<std::string> cells;
    std::string note;  ///< behind them, never cut; "" none
  };
  std::vector<std::string> header;
  std::vector<Row> rows;
  bool last_may_be_cut = false;  ///< the last column, where the width asks for it
};

/// Lines end with \n. `width`: of a terminal; nothing: as wide as it takes. A note that does not
/// fit beside its row has the next line. All but the last column is never cut.
std::string to_text(const TextTable& table, std::optional<std::size_t> width);

}  // namespace gpl::client
