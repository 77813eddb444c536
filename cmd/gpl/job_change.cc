#include "job_change.h"

#include <algorithm>
#include <optional>

#include "gpl/client/ask_each.h"
#include "session.h"

namespace gpl::cmd {

int complain_of_answer(const Error& error, const client::Session& session) {
  return complain_of(error, session.connected() ? 1 : 125);
}

int change_each(client::Session& session, const std::vector<client::ChosenJob>& jobs,
                const std::function<wire::Question(const client::ChosenJob&)>& question,
                const std::function<void(const client::ChosenJob&, const wire::Answer&)>& done) {
  std::vector<wire::Question> questions;
  questions.reserve(jobs.size());
  for (const client::ChosenJob& job : jobs) questions.push_back(question(job));
  std::vector<std::optional<wire::Answer>> answers(jobs.size());
  const Status asked = client::ask_each(
      session, questions,
      [&](std::size_t place, const wire::Answer& answer) { answers[place] = answer; });
  int worst = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!answers[i]) continue;
    if (const auto* refused = std::get_if<wire::Refused>(&*answers[i])) {
      Error error = client::refusal(*refused);
      error.code = Code::unsupported;  // the words were fine: the job is not
      error.message = "job " + std::to_string(jobs[i].job.id.value) + ": " + error.message;
      worst = std::max(worst, complain_of(error, 1));
      continue;
    }
    done(jobs[i], *answers[i]);
  }
  return asked.ok() ? worst : complain_of(asked.error(), 125);
}

Status require_whole_jobs(const std::string& command, const std::vector<client::ChosenJob>& jobs) {
  for (const client::ChosenJob& job : jobs) {
    if (!job.task) continue;
    return Error{Code::invalid, command + " takes whole jobs: " + std::to_string(job.job.id.value) +
                                    ", not " + std::to_string(job.job.id.value) + "." +
                                    std::to_string(job.task->value)};
  }
  return success();
}

}  // namespace gpl::cmd
