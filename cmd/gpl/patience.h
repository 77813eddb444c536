#pragma once

#include <string>

#include "gpl/client/session.h"
#include "gpl/client/voice.h"
#include "gpl/net/timer.h"

namespace gpl::cmd {

/// Says on a terminal what is waited for, once that takes longer than a second. The session and the
/// voice outlive it.
class Patience {
 public:
  Patience(client::Session& session, const client::Voice& voice, std::string words);

 private:
  net::Timer timer_;
};

}  // namespace gpl::cmd
