#pragma once

#include <csignal>
#include <initializer_list>
#include <vector>

#include "gpl/posix/fd.h"

namespace gpl::client {

/// Takes signals as something to read instead of as interruptions. A signal that was ignored when
/// the process began (nohup, a background job of a script) stays ignored. SIGPIPE is ignored.
class SignalWatch {
 public:
  explicit SignalWatch(std::initializer_list<int> signal_numbers);

  int descriptor() const { return fd_.get(); }
  std::vector<int> take();

 private:
  posix::Fd fd_;
};

}  // namespace gpl::client
