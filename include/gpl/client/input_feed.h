#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gpl/client/session.h"
#include "gpl/core/id.h"
#include "gpl/net/loop.h"

namespace gpl::client {

/// Passes this process's standard input on to a job (--stdin). What the job has not confirmed is
/// kept, and sent again on a new connection. Begins when it is made; the session outlives it.
class InputFeed {
 public:
  InputFeed(Session& session, int source, JobId job);
  InputFeed(const InputFeed&) = delete;
  InputFeed& operator=(const InputFeed&) = delete;
  ~InputFeed();

 private:
  void pump();
  void read_some();
  void told(const wire::Answer& answer);
  void send_rest();
  wire::SendInput all_unconfirmed();
  std::uint64_t end() const { return confirmed_ + unconfirmed_.size(); }

  Session& session_;
  int source_;
  JobId job_;
  std::uint32_t question_ = 0;
  bool accepted_ = false;        // the job takes input: more may be sent before it has this
  std::string unconfirmed_;      // from confirmed_ on
  std::uint64_t confirmed_ = 0;  // the job has all before it
  std::uint64_t sent_ = 0;       // all before it is on its way
  bool end_sent_ = false;
  bool ended_ = false;  // there is no more to read
  bool readable_ = false;
  net::Watch watch_;
  bool watched_ = false;
  Duration pause_;  // before the job is offered it again
  net::Timer retry_;
};

}  // namespace gpl::client
