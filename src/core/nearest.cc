#include "gpl/core/nearest.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gpl {
namespace {

std::size_t edits_between(std::string_view from, std::string_view to) {
  // Three rows of the table are enough: a swap looks back two.
  std::vector<std::size_t> before(to.size() + 1), last(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[to.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  // Nobody mistypes a word this long, and a hostile one would cost its square.
  constexpr std::size_t longest_word = 64;
  // Of one letter nothing is left to recognise after an edit.
  if (word.size() < 2 || word.size() > longest_word) return std::nullopt;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > word.size() + fewest) continue;
    const std::size_t edits = edits_between(word, candidate);
    if (edits >= fewest) continue;
    fewest = edits;
    found = candidate;
  }
  return found;
}

}  // namespace gpl
