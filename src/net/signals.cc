#include "gpl/net/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"

namespace gpl::net {

struct Signals::State {
  sigset_t before;
  posix::Fd descriptor;
  Watch watch;
  std::function<void(int)> caught;

  ~State() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
};

Result<Signals> Signals::create(Loop& loop, const std::vector<int>& numbers,
                                std::function<void(int)> caught) {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int number : numbers) {
    struct sigaction action;
    const bool ignored = ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!ignored) ::sigaddset(&watched, number);
  }
  auto state = std::make_shared<State>();
  ::pthread_sigmask(SIG_BLOCK, &watched, &state->before);
  state->caught = std::move(caught);
  state->descriptor.reset(::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!state->descriptor.valid()) return posix::io_error("cannot wait for signals");
  auto watch = loop.watch(state->descriptor.get(), [weak = std::weak_ptr(state)] {
    // One a turn: this one may drop the rest.
    const auto self = weak.lock();
    signalfd_siginfo info;
    if (self == nullptr || ::read(self->descriptor.get(), &info, sizeof info) != sizeof info)
      return;
    self->caught(static_cast<int>(info.ssi_signo));
  });
  if (!watch.ok()) return watch.error();
  state->watch = std::move(watch).value();
  return Signals(std::move(state));
}

Signals::Signals(std::shared_ptr<State> state) : state_(std::move(state)) {}
Signals::Signals(Signals&&) noexcept = default;
Signals& Signals::operator=(Signals&&) noexcept = default;
Signals::~Signals() = default;

const sigset_t& Signals::mask_before() const { return state_->before; }

}  // namespace gpl::net
