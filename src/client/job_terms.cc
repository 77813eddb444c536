#include "gpl/client/job_terms.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

namespace gpl::client {
namespace {

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Error wrong(std::string_view text, const std::string& why) {
  return Error{Code::invalid, "'" + std::string(text) + "' " + why};
}

template <class T>
void append(std::vector<T>& list, std::vector<T>&& more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

}  // namespace

Result<std::uint32_t> parse_retries(std::string_view text) {
  const std::optional<std::uint32_t> number = parse_number<std::uint32_t>(text);
  if (!number) return wrong(text, "is no number of retries: write 0, 1, 2, ...");
  return *number;
}

Result<OnLoss> parse_on_loss(std::string_view text) {
  if (text == "wait") return OnLoss::wait;
  if (text == "retry") return OnLoss::retry;
  if (text == "fail") return OnLoss::fail;
  return wrong(text, "is none of wait, retry and fail");
}

Result<std::int32_t> parse_priority(std::string_view text) {
  const std::optional<std::int32_t> number = parse_number<std::int32_t>(text);
  if (!number) return wrong(text, "is no priority: write a whole number, higher goes first");
  return *number;
}

Result<Dependency> parse_after(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::optional<std::uint64_t> job = parse_number<std::uint64_t>(text.substr(0, colon));
  if (!job || *job == 0) return wrong(text, "names no job: write 12, 12:ok, 12:any or 12:fail");
  Dependency dependency{JobId{*job}, After::ok};
  if (colon == text.npos) return dependency;
  const std::string_view how = text.substr(colon + 1);
  if (how == "any") {
    dependency.after = After::any;
  } else if (how == "fail") {
    dependency.after = After::fail;
  } else if (how != "ok") {
    return wrong(text, "ends in none of :ok, :any and :fail");
  }
  return dependency;
}

Result<std::string> parse_secret(std::string_view text) {
  if (text.empty() || text.find('=') != text.npos || text.find('\0') != text.npos) {
    return wrong(text, "is no variable's name; its value is taken from the environment here");
  }
  return std::string(text);
}

JobTerms merge(JobTerms under, JobTerms over) {
  if (over.retries) under.retries = over.retries;
  if (over.on_loss) under.on_loss = over.on_loss;
  if (over.priority) under.priority = over.priority;
  under.allow_pending = under.allow_pending || over.allow_pending;
  append(under.after, std::move(over.after));
  append(under.secrets, std::move(over.secrets));
  append(under.data, std::move(over.data));
  return under;
}

std::string needing_cluster(const JobTerms& terms) {
  if (terms.retries.value_or(0) > 0) return "--retries";
  if (terms.on_loss) return "--on-loss";
  if (terms.priority) return "--priority";
  if (!terms.after.empty()) return "--after";
  if (terms.allow_pending) return "--allow-pending";
  const bool of_jobs = std::any_of(terms.data.begin(), terms.data.end(),
                                   [](const DataWish& wish) { return !wish.job.empty(); });
  return of_jobs ? "--data of a job" : "";
}

JobDescription description_of(JobSpec spec, Requirement requirement, const JobTerms& terms) {
  JobDescription job;
  job.spec = std::move(spec);
  job.spec.secrets = terms.secrets;
  job.requirement = std::move(requirement);
  job.shape = Single{};
  job.retries = terms.retries.value_or(0);
  job.on_loss = terms.on_loss.value_or(OnLoss::wait);
  job.priority = terms.priority.value_or(0);
  job.after = terms.after;
  job.allow_pending = terms.allow_pending;
  return job;
}

}  // namespace gpl::client
