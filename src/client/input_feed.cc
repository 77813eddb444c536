#include "gpl/client/input_feed.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace gpl::client {
namespace {

constexpr std::size_t most_unconfirmed = std::size_t{256} * 1024;
constexpr std::size_t piece_bytes = std::size_t{64} * 1024;
constexpr Duration first_pause = milliseconds(5);
constexpr Duration longest_pause = milliseconds(500);

}  // namespace

InputFeed::InputFeed(Session& session, int source, JobId job)
    : session_(session), source_(source), job_(job), pause_(first_pause) {
  Result<net::Watch> watch = session.loop().watch(source, [this] {
    readable_ = true;
    pump();
  });
  watched_ = watch.ok();  // a file cannot be waited for, and is always ready
  if (watch.ok()) watch_ = std::move(watch).value();
  pump();
}

InputFeed::~InputFeed() { session_.forget(question_); }

wire::SendInput InputFeed::all_unconfirmed() {
  accepted_ = false;
  sent_ = end();
  end_sent_ = ended_;
  return {job_, confirmed_, unconfirmed_, ended_};
}

/// Until the first of it is taken no more is sent: a piece that is refused must not be followed by
/// one that is not.
void InputFeed::send_rest() {
  if (retry_.pending() || (sent_ == end() && end_sent_ == ended_)) return;
  if (question_ == 0) {
    question_ = session_.ask(
        all_unconfirmed(), [this](wire::Answer&& answer) { told(answer); },
        [this]() -> wire::Question { return all_unconfirmed(); });
  } else if (accepted_) {
    session_.say(question_,
                 wire::SendInput{job_, sent_, unconfirmed_.substr(sent_ - confirmed_), ended_});
    sent_ = end();
    end_sent_ = ended_;
  }
}

void InputFeed::told(const wire::Answer& answer) {
  if (const auto* taken = std::get_if<wire::InputTaken>(&answer)) {
    accepted_ = true;
    pause_ = first_pause;
    const std::uint64_t upto = std::min(taken->offset, end());
    if (upto > confirmed_) {
      unconfirmed_.erase(0, upto - confirmed_);
      confirmed_ = upto;
      sent_ = std::max(sent_, confirmed_);
    }
    send_rest();
    return pump();
  }
  if (!std::holds_alternative<wire::Refused>(answer)) return;
  // It has not begun, or is between two attempts: what it has not taken is offered again.
  question_ = 0;
  sent_ = confirmed_;
  end_sent_ = false;
  retry_ = session_.loop().after(pause_, [this] { send_rest(); });
  pause_ = std::min(longest_pause, milliseconds(pause_.count_ms * 2));
}

void InputFeed::pump() {
  while (!ended_ && unconfirmed_.size() < most_unconfirmed && (readable_ || !watched_)) {
    read_some();
    send_rest();
  }
  if (!watched_) return;
  const bool wanted = !ended_ && unconfirmed_.size() < most_unconfirmed;
  watched_ = watch_.want(wanted ? net::Interest::read : net::Interest::none).ok();
}

void InputFeed::read_some() {
  readable_ = false;
  std::string piece(piece_bytes, '\0');
  ssize_t got = 0;
  do {
    got = ::read(source_, piece.data(), piece.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    ended_ = true;
    return;
  }
  unconfirmed_.append(piece, 0, static_cast<std::size_t>(got));
}

}  // namespace gpl::client
