#include "word_list.h"

#include <algorithm>
#include <utility>

namespace gpl {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += between;
    text += parts[i];
  }
  return text;
}

std::string in_words(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

void add_same(std::vector<SameWords>& list, std::string subject, std::string words) {
  const auto same = std::find_if(list.begin(), list.end(),
                                 [&](const SameWords& each) { return each.words == words; });
  if (same != list.end()) return same->subjects.push_back(std::move(subject));
  list.push_back({{std::move(subject)}, std::move(words)});
}

std::string subjects_of(const SameWords& same) {
  std::vector<std::pair<std::string, int>> counted;
  for (const std::string& subject : same.subjects) {
    const auto known = std::find_if(counted.begin(), counted.end(),
                                    [&](const auto& each) { return each.first == subject; });
    if (known == counted.end()) {
      counted.emplace_back(subject, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> shown;
  for (const auto& [subject, count] : counted) {
    shown.push_back(count == 1 ? subject : subject + " x" + std::to_string(count));
  }
  return joined(shown, ", ");
}

}  // namespace gpl
