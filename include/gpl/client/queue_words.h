#pragma once

#include <cstdint>
#include <string>

#include "gpl/client/session.h"
#include "gpl/client/voice.h"
#include "gpl/core/id.h"
#include "gpl/net/timer.h"

namespace gpl::client {

/// Says on a terminal what a job waits for, when it waits for more than a second, and again when
/// that changes. The session outlives it.
class QueueWords {
 public:
  QueueWords(Session& session, const Voice& voice, JobId job);
  QueueWords(const QueueWords&) = delete;
  QueueWords& operator=(const QueueWords&) = delete;
  ~QueueWords();

  /// It runs, or has ended: nothing more is said.
  void stop();

 private:
  void look();
  void look_again();
  void listed(const wire::Answer& answer);
  void explained(const wire::Answer& answer);
  void say(const std::string& words);

  Session& session_;
  const Voice& voice_;
  JobId job_;
  std::uint32_t question_ = 0;
  std::string said_;
  bool stopped_ = false;
  net::Timer timer_;
};

}  // namespace gpl::client
