#include "gpl/peer/attempt_follower.h"

#include <utility>

namespace gpl::peer {

AttemptFollower::AttemptFollower(net::Loop& loop, Around around,
                                 const wire::FollowAttempt& question, Told told)
    : loop_(loop),
      around_(std::move(around)),
      question_(question),
      told_(std::move(told)),
      feed_(around_.folder_of(question.attempt), question.attempt, question.task,
            question.out_bytes, question.err_bytes),
      given_{question.out_bytes, question.err_bytes} {
  if (question_.attached) around_.watch.attach(question_.job);
}

AttemptFollower::~AttemptFollower() {
  if (watching_) around_.watch.end(*watching_);
  if (question_.attached) around_.watch.detach(question_.job);
}

void AttemptFollower::start() {
  news_ = around_.news.subscribe(question_.job, [this] { advance(); });
  advance();
}

/// The order to start it may not have reached the keeper yet: it is waited for. What was known and
/// is no more has been discarded.
void AttemptFollower::advance() {
  if (finished_) return;
  const LocalAttempt* attempt = around_.attempts.find(question_.attempt);
  if (attempt == nullptr) {
    if (seen_ || (around_.attempts.complete() && around_.has_ended(question_.job)))
      finish(wire::Refused{125, "its output is not here any more", {}});
    return;
  }
  // The keeper does not know what it has not told of, and would forget that it is watched.
  if (!std::exchange(seen_, true))
    watching_ = around_.watch.begin(question_.attempt, question_.attached, given_);
  feed_.grew(attempt->out_bytes, attempt->err_bytes,
             attempt->output_complete && attempt->outcome.has_value());
  while (window_.room() > 0) {
    auto piece = feed_.next(window_.room());
    if (!piece.ok())
      return finish(wire::Refused{125, "its output cannot be read: " + piece.error().message, {}});
    if (!piece.value()) break;
    window_.sent(question_.attempt, *piece.value());
    told_.answer(std::move(*piece.value()));
  }
  if (!feed_.drained()) return;
  told_all_ = true;
  finish(wire::AttemptOver{attempt->outcome, attempt->started_at});
}

void AttemptFollower::finish(wire::Answer last) {
  finished_ = true;
  told_.answer(std::move(last));
  loop_.at_end_of_turn(told_.over);
}

void AttemptFollower::mute() {
  finished_ = true;
  told_ = {};
  news_ = {};
}

void AttemptFollower::taken(std::uint64_t bytes) {
  window_.taken(bytes, question_.attempt, given_);
  if (watching_) around_.watch.given(*watching_, given_);
  advance();
}

}  // namespace gpl::peer
