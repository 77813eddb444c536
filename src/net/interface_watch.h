#pragma once

#include <functional>
#include <memory>

#include "gpl/core/result.h"
#include "gpl/net/loop.h"
#include "gpl/net/timer.h"
#include "gpl/net/watch.h"
#include "gpl/posix/fd.h"

namespace gpl::net {

/// Tells that interfaces or their addresses may have changed: once for all that happens within a
/// short time. Stays where it is: what it gave the loop points to it.
class InterfaceWatch {
 public:
  /// Code::io.
  static Result<std::unique_ptr<InterfaceWatch>> open(Loop& loop, std::function<void()> changed);
  InterfaceWatch(const InterfaceWatch&) = delete;
  InterfaceWatch& operator=(const InterfaceWatch&) = delete;

 private:
  InterfaceWatch(Loop& loop, posix::Fd socket, std::function<void()> changed);
  void drain();

  Loop& loop_;
  posix::Fd socket_;
  std::function<void()> changed_;
  Watch watch_;
  Timer quiet_;
};

}  // namespace gpl::net
