#include "gpl/client/log_reading.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include "gpl/client/job_output.h"
#include "gpl/posix/error.h"

namespace gpl::client {

Result<int> read_log(Session& session, const LogWish& wish, const Voice& voice) {
  std::optional<int> write_error;
  std::optional<Error> refused;
  bool ended = false;
  std::uint32_t question = 0;
  JobOutput output(session.loop(), wish.targets, wish.only,
                   {[&](std::uint64_t bytes) {
                      session.say(question, wire::Taken{question, bytes});
                    },
                    [&](wire::OutputStream, int error) { write_error = error; },
                    [&](std::uint64_t bytes) { voice.say(skipped_words(bytes)); }});
  wire::Follow follow;
  follow.job = wish.job;
  follow.task = wish.task;
  follow.live = wish.follow;
  const auto told = [&](wire::Answer&& answer) {
    if (auto* some = std::get_if<wire::Output>(&answer)) {
      output.take(std::move(*some));
    } else if (const auto* no = std::get_if<wire::Refused>(&answer)) {
      refused = refusal(*no);
    } else if (std::holds_alternative<wire::Done>(answer) ||
               std::holds_alternative<wire::JobEnded>(answer)) {
      ended = true;
      session.forget(question);
    }
  };
  const auto anew = [&]() -> wire::Question {
    follow.from = output.begin_anew();
    return follow;
  };
  question = session.ask(follow, told, anew);
  Status waited =
      session.run_until([&] { return write_error || refused || (ended && output.drained()); });
  session.forget(question);
  if (!waited.ok()) return std::move(waited).error();
  if (refused) return std::move(*refused);
  if (!write_error) return 0;
  if (*write_error == EPIPE || *write_error == EBADF) return 128 + SIGPIPE;
  return posix::io_error("cannot write the output", *write_error);
}

}  // namespace gpl::client
