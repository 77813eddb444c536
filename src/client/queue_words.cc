#include "gpl/client/queue_words.h"

#include <utility>

namespace gpl::client {
namespace {

constexpr Duration first_look = seconds(1);
constexpr Duration next_look = seconds(2);

bool waits(const wire::JobSummary& job) {
  return job.state == "queued" || job.state == "held" || job.state == "blocked";
}

// "waiting: lab1 fits when job 12 ends (running 3m)" is no news a minute later.
std::string without_numbers(const std::string& words) {
  std::string rest;
  for (const char c : words) {
    if (c < '0' || c > '9') rest += c;
  }
  return rest;
}

}  // namespace

QueueWords::QueueWords(Session& session, const Voice& voice, JobId job)
    : session_(session), voice_(voice), job_(job) {
  timer_ = session.loop().after(first_look, [this] { look(); });
}

QueueWords::~QueueWords() { stop(); }

void QueueWords::stop() {
  stopped_ = true;
  timer_.cancel();
  session_.forget(std::exchange(question_, 0));
}

void QueueWords::look() {
  wire::JobQuery query;
  query.first = query.last = job_;
  query.everyone = true;
  question_ = session_.ask(wire::ListJobs{{query}, false},
                           [this](wire::Answer&& answer) { listed(answer); });
}

void QueueWords::look_again() {
  session_.forget(std::exchange(question_, 0));
  if (!stopped_) timer_ = session_.loop().after(next_look, [this] { look(); });
}

void QueueWords::listed(const wire::Answer& answer) {
  const auto* list = std::get_if<wire::JobList>(&answer);
  if (list == nullptr || list->jobs.empty() || !waits(list->jobs.front())) return look_again();
  const std::string why = list->jobs.front().why;
  session_.forget(question_);
  question_ =
      session_.ask(wire::AskExplanation{job_, {}}, [this, why](wire::Answer&& explained_answer) {
        if (std::holds_alternative<wire::Explained>(explained_answer)) {
          explained(explained_answer);
        } else if (!why.empty()) {
          say(why);
        }
        look_again();
      });
}

void QueueWords::explained(const wire::Answer& answer) {
  const Explanation& why = std::get<wire::Explained>(answer).explanation;
  // It is about to begin, or has begun meanwhile.
  if (why.verdict != Verdict::fits) say(why.headline);
}

void QueueWords::say(const std::string& words) {
  if (words.empty() || without_numbers(words) == without_numbers(said_)) return;
  said_ = words;
  voice_.say("job " + std::to_string(job_.value) + ": " + words);
}

}  // namespace gpl::client
