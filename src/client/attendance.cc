#include "attendance.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/posix/error.h"

namespace gpl::client {
namespace {

constexpr TaskId only_task{0};
constexpr Duration last_patience = seconds(15);  // for the end of what was cancelled
constexpr Duration again_after = milliseconds(50);
constexpr Duration cancel_patience = seconds(5);  // for the peer's word that it will be
constexpr Duration look_every = seconds(5);
constexpr std::string_view lost_contact = "lost contact";  // how a peer says why a job is silent

/// It has a place, or had one: a signal has somebody to go to, now or in a moment.
bool has_begun(const std::string& state) {
  return state == "starting" || state == "running" || state == "ended";
}

}  // namespace

Attendance::Attendance(Session& session, const Attachment& attachment, const Voice& voice)
    : session_(session),
      attachment_(attachment),
      voice_(voice),
      output_(session.loop(), attachment.targets, std::nullopt,
              {[this](std::uint64_t bytes) {
                 session_.say(question_, wire::Taken{question_, bytes});
               },
               [this](wire::OutputStream stream, int error) { output_failed(stream, error); },
               [this](std::uint64_t bytes) { voice_.say(skipped_words(bytes)); }}) {}

Attendance::~Attendance() {
  session_.forget(question_);
  session_.forget(state_question_);
  session_.forget(look_question_);
}

Status Attendance::stay(wire::Question first, std::optional<JobId> job) {
  Result<net::Signals> signals =
      net::Signals::create(session_.loop(), {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2},
                           [this](int number) { on_signal(number); });
  if (!signals.ok()) return std::move(signals).error();
  first_ = first;
  if (job) begun(*job);
  question_ = session_.ask(
      std::move(first), [this](wire::Answer&& answer) { told(std::move(answer)); },
      [this] { return anew(); });
  look_ = session_.loop().after(look_every, [this] { look(); });
  Status waited = session_.run_until([this] { return done(); });
  look_.cancel();
  session_.forget(std::exchange(question_, 0));
  input_.reset();
  words_.reset();
  if (leave_) return success();
  if (!waited.ok()) return waited;
  return refused_ ? Status(*refused_) : success();
}

/// A wait that may be long is told of once: nobody takes the job, or what runs it is out of reach.
void Attendance::look() {
  if (ended_ || done()) return;
  look_ = session_.loop().after(look_every, [this] { look(); });
  if (!session_.connected()) return;
  if (!job_) {
    if (!std::exchange(said_waiting_, true))
      voice_.say(
          "the cluster has not taken the job yet: waiting; gpl status shows whether it has a "
          "leader");
    return;
  }
  wire::JobQuery query;
  query.first = query.last = *job_;
  query.everyone = true;
  session_.forget(look_question_);
  look_question_ = session_.ask(wire::ListJobs{{query}, false}, [this](wire::Answer&& answer) {
    session_.forget(std::exchange(look_question_, 0));
    const auto* list = std::get_if<wire::JobList>(&answer);
    if (list == nullptr || list->jobs.empty() || ended_) return;
    const bool is_lost = list->jobs.front().why.starts_with(lost_contact);
    if (is_lost && !said_lost_)
      voice_.say(list->jobs.front().why + "; job " + std::to_string(job_->value) +
                 " goes on there, waiting");
    said_lost_ = is_lost;
  });
}

wire::Question Attendance::anew() {
  if (!job_) return first_;
  wire::Follow follow;
  follow.job = *job_;
  follow.from = output_.begin_anew();
  follow.attached = true;
  return follow;
}

void Attendance::begun(JobId job) {
  if (job_) return;
  job_ = job;
  session_.set_job(job);
  if (attachment_.on_terminal) words_.emplace(session_, voice_, job);
  if (attachment_.pass_stdin) input_.emplace(session_, STDIN_FILENO, job);
  if (cancel_on_submit_) {
    exit_instead_ = 128 + *cancel_on_submit_;
    cancel();
  }
}

void Attendance::told(wire::Answer&& answer) {
  if (const auto* submitted = std::get_if<wire::Submitted>(&answer)) {
    begun(submitted->job);
  } else if (auto* output = std::get_if<wire::Output>(&answer)) {
    if (words_) words_->stop();
    output_.take(std::move(*output));
  } else if (auto* task = std::get_if<wire::TaskEnded>(&answer)) {
    task_ = std::move(*task);
  } else if (auto* ended = std::get_if<wire::JobEnded>(&answer)) {
    ended_ = std::move(*ended);
    if (words_) words_->stop();
    // What it wrote is all here: a connection that is lost from now on does not matter.
    session_.forget(question_);
  } else if (const auto* refused = std::get_if<wire::Refused>(&answer)) {
    refused_ = refusal(*refused);
  }
}

bool Attendance::done() const { return leave_ || refused_ || (ended_ && output_.drained()); }

void Attendance::on_signal(int number) {
  if (number == SIGHUP) {
    exit_instead_ = 128 + SIGHUP;
    leave_ = true;
    return;
  }
  if (number == SIGINT && ++interrupts_ > 1) {
    exit_instead_ = 128 + SIGINT;
    if (interrupts_ > 2 || !job_ || ended_) {
      leave_ = true;
      return;
    }
    patience_ = session_.loop().after(last_patience, [this] { leave_ = true; });
    cancel();
    return pass_on(SIGKILL);
  }
  if (ended_) return;
  if (number == SIGINT || number == SIGTERM) return interrupt(number);
  pass_on(number);
}

/// To the job if it runs. One that waits has nothing to send it to: it is cancelled.
void Attendance::interrupt(int number) {
  if (!job_) {
    cancel_on_submit_ = number;
    return;
  }
  wire::JobQuery query;
  query.first = query.last = *job_;
  query.everyone = true;
  session_.forget(state_question_);
  state_question_ =
      session_.ask(wire::ListJobs{{query}, false},
                   [this, number](wire::Answer&& answer) { on_state(answer, number); });
}

void Attendance::on_state(const wire::Answer& answer, int number) {
  session_.forget(std::exchange(state_question_, 0));
  const auto* list = std::get_if<wire::JobList>(&answer);
  if (list == nullptr || list->jobs.empty() || has_begun(list->jobs.front().state)) {
    return pass_on(number);
  }
  exit_instead_ = 128 + number;
  cancel();
}

void Attendance::pass_on(int number) {
  if (!job_) return;
  (void)session_.ask(wire::SignalTask{*job_, only_task, number},
                     [this, number](wire::Answer&& answer) {
                       // It is just starting, or its keeper is: in a moment there is somebody to
                       // take it.
                       if (std::holds_alternative<wire::Refused>(answer) && !ended_)
                         signal_again_ = session_.loop().after(again_after, [this, number] {
                           if (!ended_) interrupt(number);
                         });
                     });
}

void Attendance::cancel() {
  (void)session_.ask(wire::CancelJob{*job_, std::nullopt}, [this](wire::Answer&&) {
    if (leave_when_cancelled_) leave_ = true;
  });
}

void Attendance::output_failed(wire::OutputStream stream, int error) {
  if (exit_instead_ && leave_when_cancelled_) return;
  if (error == EPIPE || error == EBADF) {
    exit_instead_ = 128 + SIGPIPE;
  } else {
    const bool out = stream == wire::OutputStream::out;
    exit_instead_ = 125;
    voice_.complain(std::string("cannot write to standard ") + (out ? "output" : "error") + ": " +
                    posix::errno_text(error) + (ended_ ? "" : "; the job is cancelled"));
  }
  if (ended_ || !job_) return;
  leave_when_cancelled_ = true;
  patience_ = session_.loop().after(cancel_patience, [this] { leave_ = true; });
  cancel();
}

PeerReport Attendance::report() const {
  PeerReport report;
  report.job = job_.value_or(JobId{});
  if (task_) {
    report.attempt = task_->attempt;
    report.peer = task_->peer;
  }
  if (ended_) report.outcome = ended_->outcome;
  report.exit_status = exit_status();
  report.interrupted = exit_instead_.has_value();
  return report;
}

int Attendance::exit_status() const {
  if (exit_instead_) return *exit_instead_;
  return ended_ ? gpl::exit_status(ended_->outcome) : 125;
}

}  // namespace gpl::client
