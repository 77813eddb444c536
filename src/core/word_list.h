#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpl {

std::string joined(const std::vector<std::string>& parts, std::string_view between);

/// "a", "a and b", "a, b and c".
std::string in_words(const std::vector<std::string>& parts);

/// Several things of which the same is to be said.
struct SameWords {
  std::vector<std::string> subjects;
  std::string words;
};

/// Adds the subject where these words are already, so that eight equal cards take one line.
void add_same(std::vector<SameWords>& list, std::string subject, std::string words);

/// "cuda:0, cuda:1", and "cuda:2 1g.10gb x2" where a name came twice.
std::string subjects_of(const SameWords& same);

}  // namespace gpl
