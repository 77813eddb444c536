#pragma once

#include "gpl/host/runner.h"
#include "gpl/posix/fd.h"

namespace gpl::host {

/// The Runner that forks a guard. The calling process must be single-threaded and becomes a
/// subreaper, so that what a killed guard leaves behind is found here and ended. Destroying it
/// closes the guard's link: the attempt is then ended.
class GuardRunner : public Runner {
 public:
  Status start(const Launch& launch) override;
  void signal(int signal_number) override;
  void end(std::int64_t grace_ms) override;
  int descriptor() const override { return link_.get(); }
  int wait_ms() const override;
  std::vector<RunnerEvent> take_events() override;

 private:
  void sweep_after_loss(std::vector<RunnerEvent>& events);

  posix::Fd link_;
  pid_t guard_ = -1;
  bool settled_ = false;  // the last event has been told
  bool lost_ = false;
};

}  // namespace gpl::host
