#include "gpl/client/job_wait.h"

namespace gpl::client {

Result<std::map<JobId, Outcome>> wait_for(Session& session, const std::vector<JobId>& jobs,
                                          std::optional<Duration> at_most) {
  std::map<JobId, Outcome> outcomes;
  std::optional<Error> refused;
  bool over = false;
  net::Timer limit;
  if (at_most) limit = session.loop().after(*at_most, [&] { over = true; });
  const std::uint32_t question = session.ask(
      wire::WaitFor{jobs},
      [&](wire::Answer&& answer) {
        if (auto* ended = std::get_if<wire::JobEnded>(&answer)) {
          outcomes.insert_or_assign(ended->job, std::move(ended->outcome));
        } else if (const auto* no = std::get_if<wire::Refused>(&answer)) {
          refused = refusal(*no);
        }
      },
      [&]() -> wire::Question {
        wire::WaitFor rest;
        for (const JobId job : jobs) {
          if (!outcomes.contains(job)) rest.jobs.push_back(job);
        }
        return rest;
      });
  Status waited =
      session.run_until([&] { return over || refused || outcomes.size() == jobs.size(); });
  session.forget(question);
  if (!waited.ok()) return std::move(waited).error();
  if (refused) return std::move(*refused);
  return outcomes;
}

int exit_status(const std::map<JobId, Outcome>& outcomes) {
  for (const auto& [job, outcome] : outcomes) {
    if (const int status = gpl::exit_status(outcome); status != 0) return status;
  }
  return 0;
}

}  // namespace gpl::client
