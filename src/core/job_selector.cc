#include "gpl/core/job_selector.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace gpl {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Error not_a_selector(std::string_view text, std::string_view why) {
  return Error{Code::invalid, "'" + std::string(text) + "' names no job: " + std::string(why)};
}

std::optional<JobSelector::Range> parse_range(std::string_view text) {
  const std::size_t mark = text.find_first_of("-.");
  const std::optional<std::uint64_t> first = parse_number(text.substr(0, mark));
  if (!first || *first == 0) return std::nullopt;
  if (mark == std::string_view::npos) return JobSelector::Range{{*first}, {*first}, std::nullopt};
  const std::optional<std::uint64_t> second = parse_number(text.substr(mark + 1));
  if (!second) return std::nullopt;
  if (text[mark] == '.') return JobSelector::Range{{*first}, {*first}, TaskId{*second}};
  if (*second < *first) return std::nullopt;
  return JobSelector::Range{{*first}, {*second}, std::nullopt};
}

}  // namespace

bool JobSelector::takes(JobId job, JobId newest) const {
  switch (kind) {
    case Kind::last:
      return job == newest;
    case Kind::all:
      return true;
    case Kind::numbers:
      break;
  }
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return range.first <= job && job <= range.last; });
}

Result<JobSelector> parse_job_selector(std::string_view text) {
  if (text == "last") return JobSelector{JobSelector::Kind::last, {}};
  if (text == "all") return JobSelector{JobSelector::Kind::all, {}};
  JobSelector selector;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::optional<JobSelector::Range> range = parse_range(rest.substr(0, comma));
    if (!range) return not_a_selector(text, "write 5, 1-3,8, 5.17, last or all");
    selector.ranges.push_back(*range);
    if (more) rest.remove_prefix(comma + 1);
  }
  return selector;
}

}  // namespace gpl
