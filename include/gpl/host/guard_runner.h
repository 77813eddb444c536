#pragma once

#include "gpl/host/guard_family.h"
#include "gpl/host/runner.h"
#include "gpl/posix/fd.h"

namespace gpl::host {

/// The Runner that forks a guard. The calling process must be single-threaded and becomes a
/// subreaper, so that what a killed guard leaves behind is found here and ended. Destroying it
/// closes the guard's link: the attempt is then ended.
///
/// A process with several attempts gives all their runners one family, which outlives them and
/// reaps every child: so the loss of one guard does not touch what the others guard.
class GuardRunner : public Runner {
 public:
  /// Without a family this is the process's only runner.
  explicit GuardRunner(GuardFamily* family = nullptr) : family_(family) {}
  Status start(const Launch& launch) override;
  void signal(int signal_number) override;
  void end(std::int64_t grace_ms) override;
  int descriptor() const override { return link_.get(); }
  int wait_ms() const override;
  std::vector<RunnerEvent> take_events() override;
  /// With GuardLost: how many processes of the attempt the kernel could not end.
  int survivors() const { return survivors_; }

 private:
  void sweep_after_loss(std::vector<RunnerEvent>& events);

  GuardFamily* family_;
  posix::Fd link_;
  pid_t guard_ = -1;
  GuardFamily::Child child_;  ///< the guard, in a family
  bool settled_ = false;      // the last event has been told
  bool lost_ = false;
  std::int64_t lost_at_ms_ = 0;
  int survivors_ = 0;
};

}  // namespace gpl::host
