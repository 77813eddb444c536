#include "gpl/host/probe_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>

namespace gpl::host {
namespace {

// How long a killed process may take to go before it is given up.
constexpr std::int64_t kill_grace_ms = 300;
// How often to look where the kernel has no pidfd.
constexpr std::int64_t poll_interval_ms = 20;

std::int64_t now_ms() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Takes what is there. False at the end of the file.
bool read_some(int fd, std::string& text) {
  char chunk[16384];
  while (text.size() <= probe_output_max_bytes) {
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return true;
}

void read_all_there(posix::Fd& fd, std::string& text) {
  if (fd.valid() && !read_some(fd.get(), text)) fd.reset();
}

void make_nonblocking(const posix::Fd& fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

ProbeProcess::ProbeProcess(const ProbeRequest& request)
    : deadline_at_ms_(now_ms() + request.deadline_ms) {
  if (start(request)) return;
  answer_.ending = ProbeAnswer::Ending::not_started;
  state_ = State::done;
}

ProbeProcess::~ProbeProcess() {
  if (state_ == State::running) ::kill(-pid_, SIGKILL);
  if (state_ != State::done) reap();
}

bool ProbeProcess::start(const ProbeRequest& request) {
  const auto failed = [this](int errno_value) {
    answer_.number = errno_value;
    return false;
  };
  const Program program = find_program(request.command);
  if (program.failure.errno_value != 0) return failed(program.failure.errno_value);
  const posix::Fd in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!in.valid() || !events_.valid()) return failed(errno);
  Result<posix::Pipe> out = posix::make_pipe();
  Result<posix::Pipe> err = posix::make_pipe();
  if (!out.ok() || !err.ok()) return failed(EMFILE);
  SpawnFailure failure;
  pid_ = spawn(program.path, request.command,
               {in.get(), out.value().write.get(), err.value().write.get()}, failure);
  if (pid_ < 0) return failed(failure.errno_value);

  out_ = std::move(out.value().read);
  err_ = std::move(err.value().read);
  make_nonblocking(out_);
  make_nonblocking(err_);
  process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  watch(out_.get());
  watch(err_.get());
  if (process_.valid()) watch(process_.get());
  return true;
}

void ProbeProcess::watch(int fd) {
  epoll_event event = {};
  event.events = EPOLLIN;
  ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event);
}

int ProbeProcess::wait_ms() const {
  if (done()) return 0;
  const std::int64_t left = std::max<std::int64_t>(0, deadline_at_ms_ - now_ms());
  const std::int64_t wait = process_.valid() ? left : std::min(left, poll_interval_ms);
  return static_cast<int>(std::min<std::int64_t>(wait, 3'600'000));
}

// The zombie stays until its group has been killed: till then nobody else can get its number.
bool ProbeProcess::has_ended() const {
  siginfo_t info = {};
  const int got = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return got != 0 || info.si_pid == pid_;
}

// True when the process is gone for good, or was waited for by somebody else.
bool ProbeProcess::reap() {
  int status = 0;
  const pid_t got = ::waitpid(pid_, &status, WNOHANG);
  if (got == 0) return false;
  if (got < 0 || answer_.ending != ProbeAnswer::Ending::exited) return true;
  answer_.number = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  if (!WIFEXITED(status)) answer_.ending = ProbeAnswer::Ending::signalled;
  return true;
}

void ProbeProcess::end(ProbeAnswer::Ending ending) {
  answer_.ending = ending;
  ::kill(-pid_, SIGKILL);
  out_.reset();
  err_.reset();
  deadline_at_ms_ = now_ms() + kill_grace_ms;
  state_ = reap() ? State::done : State::killed;
}

void ProbeProcess::read_output() {
  read_all_there(out_, answer_.out);
  read_all_there(err_, answer_.err);
}

void ProbeProcess::step() {
  switch (state_) {
    case State::running: {
      const bool ended = has_ended();  // asked first: what it printed before is then all there
      read_output();
      if (std::max(answer_.out.size(), answer_.err.size()) > probe_output_max_bytes) {
        end(ProbeAnswer::Ending::too_much_output);
      } else if (ended) {
        end(ProbeAnswer::Ending::exited);
      } else if (now_ms() >= deadline_at_ms_) {
        end(ProbeAnswer::Ending::timed_out);
      }
      return;
    }
    case State::killed:
      if (reap() || now_ms() >= deadline_at_ms_) state_ = State::done;
      return;
    case State::done:
      return;
  }
}

std::vector<ProbeAnswer> run_probes(const std::vector<ProbeRequest>& requests) {
  std::vector<std::unique_ptr<ProbeProcess>> running;
  running.reserve(requests.size());
  for (const ProbeRequest& request : requests) {
    running.push_back(std::make_unique<ProbeProcess>(request));
  }
  for (;;) {
    std::vector<pollfd> waited;
    int wait_ms = -1;
    for (const auto& probe : running) {
      probe->step();
      if (probe->done()) continue;
      waited.push_back({probe->descriptor(), POLLIN, 0});
      wait_ms = wait_ms < 0 ? probe->wait_ms() : std::min(wait_ms, probe->wait_ms());
    }
    if (waited.empty()) break;
    ::poll(waited.data(), waited.size(), wait_ms);
  }
  std::vector<ProbeAnswer> answers;
  for (const auto& probe : running) answers.push_back(probe->answer());
  return answers;
}

}  // namespace gpl::host
