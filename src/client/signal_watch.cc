#include "gpl/client/signal_watch.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace gpl::client {

SignalWatch::SignalWatch(std::initializer_list<int> signal_numbers) {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int number : signal_numbers) {
    struct sigaction action;
    const bool ignored = ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!ignored) ::sigaddset(&watched, number);
  }
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  fd_.reset(::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
}

std::vector<int> SignalWatch::take() {
  std::vector<int> numbers;
  signalfd_siginfo info;
  while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
    numbers.push_back(static_cast<int>(info.ssi_signo));
  }
  return numbers;
}

}  // namespace gpl::client
