#include "gpl/host/keeper.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>

#include "gpl/core/overloaded.h"
#include "gpl/host/process_title.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "keeper_state.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_small_bytes = 4096;
// A guard without its keeper has killed long before; what is left then the kernel does not let go.
constexpr Duration inherited_patience = seconds(30);
// Long enough for what ends at once; a person sees no difference.
constexpr Duration tell_begun_after = milliseconds(2);

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) == sizeof number) return number;
  // Before Linux 3.17: no two keepers of a state folder begin in the same millisecond.
  return static_cast<std::uint64_t>(posix::wall_clock().since_epoch_ms) << 20U;
}

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

std::string boot_id() {
  Result<std::string> id =
      posix::read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", max_small_bytes);
  return id.ok() ? first_line(std::move(id).value()) : "unknown";
}

std::string pid_namespace() {
  std::array<char, 128> name = {};
  return ::readlink("/proc/self/ns/pid", name.data(), name.size() - 1) > 0 ? name.data()
                                                                           : "pid:[unknown]";
}

Result<posix::Fd> take_lock(const std::string& state_folder) {
  const std::string path = state_folder + "/keeper.lock";
  posix::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return posix::io_error("cannot open " + path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return posix::io_error("cannot lock " + path);
  return Error{Code::busy, "the state folder " + state_folder +
                               " has a keeper already (it holds keeper.lock); it needs no other"};
}

// The lock's file says which keeper was the last one.
std::string exchange_instance(int lock, const std::string& instance) {
  std::array<char, 512> text = {};
  const ssize_t got = ::pread(lock, text.data(), text.size() - 1, 0);
  (void)::ftruncate(lock, 0);
  (void)!::pwrite(lock, instance.data(), instance.size(), 0);
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : "";
}

Result<posix::Fd> take_signals_over() {
  for (const int number : {SIGINT, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(number, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t waited_for;
  ::sigemptyset(&waited_for);
  ::sigaddset(&waited_for, SIGCHLD);
  ::sigaddset(&waited_for, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &waited_for, nullptr);
  posix::Fd signals(::signalfd(-1, &waited_for, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals.valid()) return posix::io_error("cannot wait for signals");
  return signals;
}

Result<KeeperBeginning> begin(const std::string& state_folder, int lock) {
  Result<AttemptFolders> folders = AttemptFolders::open(state_folder);
  if (!folders.ok()) return std::move(folders).error();
  Result<KeeperJournal> journal = KeeperJournal::open(folders.value().descriptor());
  if (!journal.ok()) return std::move(journal).error();
  Result<posix::Fd> signals = take_signals_over();
  if (!signals.ok()) return std::move(signals).error();
  Result<Readiness> readiness = Readiness::open();
  if (!readiness.ok()) return std::move(readiness).error();
  Result<KeeperSocket> socket = KeeperSocket::open(state_folder);
  if (!socket.ok()) return std::move(socket).error();
  const std::string boot = boot_id();
  const std::string instance = boot + " " + pid_namespace() + " " + std::to_string(random_number());
  const std::string before = exchange_instance(lock, instance);
  const bool restarted = !before.empty() && !before.starts_with(boot + " ");
  return KeeperBeginning{std::move(folders).value(),
                         std::move(journal).value(),
                         std::move(socket).value(),
                         std::move(readiness).value(),
                         std::move(signals).value(),
                         instance,
                         restarted,
                         SessionId{random_number() >> 1U}};
}

}  // namespace

Status run_keeper(const KeeperOptions& options) {
  KeeperOptions own = options;  // the title is written over the words of the command line
  if (Status made = posix::make_folders(own.state_folder, 0700); !made.ok()) return made;
  std::array<char, PATH_MAX> real = {};
  if (::realpath(own.state_folder.c_str(), real.data()) == nullptr) {
    return posix::io_error("cannot find the folder " + own.state_folder);
  }
  own.state_folder = real.data();
  Result<posix::Fd> lock = take_lock(own.state_folder);
  if (!lock.ok()) return lock.error();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  (void)!::chdir("/");  // not to keep a file system busy
  set_process_title("gpl-keeper");
  Result<KeeperBeginning> beginning = begin(own.state_folder, lock.value().get());
  if (!beginning.ok()) return beginning.error();
  Keeper(own, std::move(beginning).value()).run();
  return success();
}

Keeper::Keeper(const KeeperOptions& options, KeeperBeginning beginning)
    : options_(options),
      beginning_(std::move(beginning)),
      removal_(family_),
      site_{options_, beginning_.readiness, family_, removal_, {}},
      began_at_{posix::boot_clock().since_epoch_ms} {
  family_.raise_open_files();
  Readiness& readiness = beginning_.readiness;
  readiness.watch(beginning_.signals.get(), [this] { take_signals(); });
  readiness.want(beginning_.signals.get(), EPOLLIN);
  readiness.watch(beginning_.socket.descriptor(), [this] { accept(); });
  readiness.want(beginning_.socket.descriptor(), EPOLLIN);
  remove_leftovers();
  RestoredWorker restored = restore();
  worker_.emplace(options_.worker, std::move(restored), Moment{posix::boot_clock().since_epoch_ms});
  (void)worker_->take_output();  // a hello that nobody hears
}

Keeper::~Keeper() = default;

void Keeper::run() {
  step();
  while (!is_over()) {
    beginning_.readiness.wait(timeout_ms());
    step();
  }
  if (peer_) peer_->flush();
}

bool Keeper::is_over() const {
  return (retiring_ || ending_) && worker_->live().empty() && unkept_.empty();
}

void Keeper::step() {
  family_.reap();
  step_links();
  feed([](Worker& worker, const Clocks& clocks) {
    if (worker.wake_at() <= clocks.now) worker.tick(clocks);
  });
  step_attempts();
  step_inherited();
  tell_listed();
  keep_again();
  tell_growth();
  if (peer_) peer_->flush();
  tidy();
}

/// What nobody waits for.
void Keeper::tidy() {
  removal_.step();
  if (!attempts_.empty()) return;
  beginning_.folders.make_ahead();
  beginning_.journal.tidy();
}

void Keeper::take_signals() {
  signalfd_siginfo info;
  while (::read(beginning_.signals.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGTERM) give_up_all();
  }
}

void Keeper::step_attempts() {
  const Moment now{posix::boot_clock().since_epoch_ms};
  std::vector<std::pair<Fence, Outcome>> ended = std::exchange(failed_, {});
  for (auto& [fence, run] : attempts_) {
    run->step(now);
    if (run->take_started()) begun_[fence] = {posix::wall_clock(), now + tell_begun_after};
    for (const wire::KeeperToPeer& news : run->take_news()) tell(news);
    if (std::optional<Outcome> outcome = run->take_outcome()) {
      ended.emplace_back(fence, std::move(*outcome));
    }
    const std::uint64_t taken = run->input().taken();
    if (peer_ && std::exchange(input_told_[fence], taken) != taken) {
      tell(wire::from_keeper::InputTaken{fence, taken});
    }
  }
  for (const auto& [fence, outcome] : ended)
    if (const auto begun = begun_.find(fence); begun != begun_.end()) begun->second.tell_at = now;
  feed_starts(now);
  feed_ends(std::move(ended));
}

/// A guard that outlives its keeper ends its attempt, and has the folder locked until then.
void Keeper::step_inherited() {
  const Moment now{posix::boot_clock().since_epoch_ms};
  const bool patient = now - began_at_ < inherited_patience;
  const char* why = beginning_.restarted ? "its machine was restarted" : "its keeper was killed";
  std::vector<std::pair<Fence, Outcome>> ended;
  for (const auto& [fence, inherited] : inherited_) {
    if (unkept_.contains(fence)) continue;
    if (inherited.folder.try_lock()) {
      ended.emplace_back(fence, Lost{why});
    } else if (!patient) {
      ended.emplace_back(fence, Lost{std::string(why) + ", and some of its processes cannot be " +
                                     "ended: the kernel does not let them go"});
    }
  }
  feed_ends(std::move(ended));
}

void Keeper::tell_growth() {
  for (auto& [fence, watched] : watched_) {
    AttemptRun* run = find(fence);
    if (run == nullptr) continue;
    const std::uint64_t out = run->output().bytes(wire::OutputStream::out);
    const std::uint64_t err = run->output().bytes(wire::OutputStream::err);
    if (out == watched.out_bytes && err == watched.err_bytes) continue;
    watched = {out, err};
    tell(wire::from_keeper::Grew{fence, out, err, false});
  }
}

void Keeper::remove_leftovers() {
  for (std::string& name : beginning_.folders.leftovers()) {
    removal_.remove_tree(beginning_.folders.descriptor(), std::move(name));
  }
}

int Keeper::timeout_ms() const {
  const Moment now{posix::boot_clock().since_epoch_ms};
  Moment wake = worker_->wake_at();
  for (const auto& [fence, run] : attempts_) {
    if (const std::optional<Moment> at = run->wake_at(now)) wake = std::min(wake, *at);
  }
  constexpr Duration look_again = milliseconds(50);
  if (!inherited_.empty()) wake = std::min(wake, now + look_again);
  if (!failed_.empty()) wake = now;
  if (keep_again_at_) wake = std::min(wake, *keep_again_at_);
  for (const auto& [fence, begun] : begun_) wake = std::min(wake, begun.tell_at);
  constexpr std::int64_t longest_ms = 60'000;
  return static_cast<int>(std::clamp<std::int64_t>((wake - now).count_ms, 0, longest_ms));
}

}  // namespace gpl::host
