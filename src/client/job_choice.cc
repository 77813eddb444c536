#include "gpl/client/job_choice.h"

#include <map>

namespace gpl::client {
namespace {

using Which = wire::JobQuery::Which;

wire::JobQuery query(Which which, bool everyone) {
  wire::JobQuery asked;
  asked.which = which;
  asked.everyone = everyone;
  return asked;
}

Error none_of(const std::string& word, const JobSelector& selector, const JobScope& scope) {
  const std::string whose = scope.everyone ? "there is no job" : "you have no job";
  switch (selector.kind) {
    case JobSelector::Kind::last:
      return Error{Code::not_found, whose + (scope.everyone ? "" : "; --everyone: of everyone's")};
    case JobSelector::Kind::all:
      return Error{Code::not_found, whose + (scope.active ? " that has not ended" : "") +
                                        (scope.everyone ? "" : "; --everyone: of everyone's")};
    case JobSelector::Kind::numbers:
      break;
  }
  return Error{Code::not_found, "there is no job " + word + "; gpl status all lists them"};
}

std::optional<TaskId> task_of(const JobSelector& selector, JobId job) {
  std::optional<TaskId> task;
  for (const JobSelector::Range& range : selector.ranges) {
    if (job < range.first || range.last < job) continue;
    if (!range.task) return std::nullopt;  // all of it is meant, too
    task = range.task;
  }
  return task;
}

}  // namespace

std::vector<wire::JobQuery> queries_of(const JobSelector& selector, const JobScope& scope) {
  switch (selector.kind) {
    case JobSelector::Kind::last:
      return {query(Which::last, scope.everyone)};
    case JobSelector::Kind::all:
      return {query(scope.active ? Which::active : Which::all, scope.everyone)};
    case JobSelector::Kind::numbers:
      break;
  }
  std::vector<wire::JobQuery> queries;
  for (const JobSelector::Range& range : selector.ranges) {
    wire::JobQuery asked = query(Which::range, true);
    asked.first = range.first;
    asked.last = range.last;
    queries.push_back(asked);
  }
  return queries;
}

Result<std::vector<wire::JobSummary>> list_jobs(Session& session,
                                                std::vector<wire::JobQuery> queries, bool details) {
  std::map<JobId, wire::JobSummary> jobs;
  std::optional<Error> refused;
  bool complete = false;
  const wire::ListJobs question{std::move(queries), details};
  const std::uint32_t number = session.ask(
      question,
      [&](wire::Answer&& answer) {
        if (auto* list = std::get_if<wire::JobList>(&answer)) {
          for (wire::JobSummary& job : list->jobs) jobs.insert_or_assign(job.id, std::move(job));
          complete = list->last;
        } else if (const auto* no = std::get_if<wire::Refused>(&answer)) {
          refused = refusal(*no);
        }
      },
      [&]() -> wire::Question {
        jobs.clear();
        return question;
      });
  Status waited = session.run_until([&] { return complete || refused; });
  session.forget(number);
  if (!waited.ok()) return std::move(waited).error();
  if (refused) return std::move(*refused);
  std::vector<wire::JobSummary> listed;
  for (auto& [id, job] : jobs) listed.push_back(std::move(job));
  return listed;
}

Result<std::vector<ChosenJob>> choose_jobs(Session& session, const std::vector<std::string>& words,
                                           const JobScope& scope) {
  std::map<JobId, ChosenJob> chosen;
  for (const std::string& word : words) {
    Result<JobSelector> selector = parse_job_selector(word);
    if (!selector.ok()) return std::move(selector).error();
    Result<std::vector<wire::JobSummary>> jobs =
        list_jobs(session, queries_of(selector.value(), scope), scope.details);
    if (!jobs.ok()) return std::move(jobs).error();
    const bool is_all = selector.value().kind == JobSelector::Kind::all;
    if (is_all && scope.may_be_none && jobs.value().empty()) continue;
    if (jobs.value().empty()) return none_of(word, selector.value(), scope);
    for (wire::JobSummary& job : jobs.value()) {
      const JobId id = job.id;
      const std::optional<TaskId> task = task_of(selector.value(), id);
      const auto [at, fresh] = chosen.try_emplace(id, ChosenJob{std::move(job), task});
      if (!fresh && at->second.task != task) at->second.task.reset();
    }
  }
  std::vector<ChosenJob> listed;
  for (auto& [id, job] : chosen) listed.push_back(std::move(job));
  return listed;
}

Result<ChosenJob> choose_job(Session& session, const std::string& word, const JobScope& scope) {
  Result<std::vector<ChosenJob>> jobs = choose_jobs(session, {word}, scope);
  if (!jobs.ok()) return std::move(jobs).error();
  if (jobs.value().size() == 1) return std::move(jobs.value().front());
  return Error{Code::invalid, "'" + word + "' names " + std::to_string(jobs.value().size()) +
                                  " jobs, and this takes one"};
}

}  // namespace gpl::client
