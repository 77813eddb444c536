#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/client/session.h"
#include "gpl/core/id.h"
#include "gpl/core/job_selector.h"
#include "gpl/core/result.h"
#include "gpl/wire/client_message.h"

namespace gpl::client {

/// A job that a person means, and the one task of it if only that is meant.
struct ChosenJob {
  wire::JobSummary job;
  std::optional<TaskId> task;
};

struct JobScope {
  bool everyone = false;     ///< `last` and `all` are of everyone's jobs, not the caller's alone
  bool active = false;       ///< `all` is those that have not ended
  bool details = false;      ///< with the descriptions
  bool may_be_none = false;  ///< `all` that names no job is no error
};

/// The questions for a selector. A number names a job whosever it is.
std::vector<wire::JobQuery> queries_of(const JobSelector& selector, const JobScope& scope);

/// All jobs of some queries, by id, each once.
Result<std::vector<wire::JobSummary>> list_jobs(Session& session,
                                                std::vector<wire::JobQuery> queries, bool details);

/// What is meant by the words of a command line, one selector each ("5", "1-3,8", "5.17", "last",
/// "all"), by id. Code::invalid for what is no selector; Code::not_found when a selector names no
/// job, with the word. The caller judges who may do what: the peer refuses.
Result<std::vector<ChosenJob>> choose_jobs(Session& session, const std::vector<std::string>& words,
                                           const JobScope& scope);

/// The same for a command that takes one job: Code::invalid when there are more.
Result<ChosenJob> choose_job(Session& session, const std::string& word, const JobScope& scope);

}  // namespace gpl::client
