#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpl {

/// The candidate that `word` most likely is a slip of, for a "did you mean": the one with the
/// fewest letters inserted, left out, replaced or swapped with a neighbour (Damerau-Levenshtein,
/// optimal string alignment), the first of equals. Nothing when more than a third of the word's
/// letters (one, of a short word) would have to change.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace gpl
