// What the keeper's peer says to it, and what it is told when it comes.
#include <algorithm>
#include <utility>

#include "gpl/posix/clock.h"
#include "keeper_state.h"

namespace gpl::host {
namespace {

constexpr std::size_t most_execs = 64;
constexpr std::size_t most_prepared_ahead = 1024;

}  // namespace

void Keeper::accept() {
  posix::Fd socket = beginning_.socket.accept();
  if (!socket.valid()) return;
  newcomer_ = std::make_unique<KeeperLink>(beginning_.readiness, std::move(socket));
  newcomer_->send(wire::KeeperHello{wire::keeper_protocol, wire::keeper_protocol, options_.version,
                                    beginning_.instance});
  newcomer_->flush();
}

void Keeper::step_links() {
  if (peer_) {
    for (const wire::PeerToKeeper& message : peer_->take_messages()) {
      std::visit([&](const auto& each) { take(each); }, message);
    }
    if (peer_->broken()) hang_up();
  }
  if (!newcomer_) return;
  std::vector<wire::PeerToKeeper> messages = newcomer_->take_messages();
  if (messages.empty()) {
    if (newcomer_->broken()) newcomer_.reset();
    return;
  }
  // Its first message is a hello: the link sees to that.
  const auto hello = std::get<wire::KeeperHello>(messages.front());
  if (hello.oldest_protocol > wire::keeper_protocol ||
      hello.newest_protocol < wire::keeper_protocol) {
    newcomer_.reset();
    return;
  }
  hang_up();
  peer_ = std::move(newcomer_);
  welcome(hello);
  for (auto message = messages.begin() + 1; message != messages.end(); ++message) {
    std::visit([&](const auto& each) { take(each); }, *message);
  }
}

void Keeper::hang_up() {
  peer_.reset();
  watched_.clear();
  prepared_ahead_.clear();
  for (auto& [fence, run] : attempts_) run->drop_execs();
}

void Keeper::welcome(const wire::KeeperHello&) {
  tell_all();
  listed_ = false;
  tell_listed();
  // A hello without an offer would take from the cluster what is here: it comes with the offer.
  if (!offer_known_) return;
  feed([](Worker& worker, const Clocks& clocks) { worker.session_lost(clocks); });
}

void Keeper::tell_all() {
  for (auto& [fence, run] : attempts_) {
    const to_worker::Start& order = run->order();
    if (run->preparing()) {
      tell(wire::from_keeper::Prepare{fence, order.job, order.task, order.description.tree});
      continue;
    }
    tell(wire::from_keeper::Running{fence, order.job, order.task, run->pid()});
    input_told_[fence] = run->input().taken();
    if (order.description.spec.pass_stdin) {
      tell(wire::from_keeper::InputTaken{fence, run->input().taken()});
    }
  }
  for (const auto& [fence, kept] : kept_) {
    tell(wire::from_keeper::Ended{fence, kept.job, kept.task, kept.outcome, kept.started_at});
  }
}

/// What an earlier keeper's attempts came to is not known before their guards have ended them.
void Keeper::tell_listed() {
  if (!peer_ || listed_ || !inherited_.empty()) return;
  listed_ = true;
  tell(wire::from_keeper::Listed{});
}

void Keeper::tell(const wire::KeeperToPeer& message) {
  if (peer_) peer_->send(message);
}

AttemptRun* Keeper::find(const Fence& fence) {
  const auto found = attempts_.find(fence);
  return found != attempts_.end() ? found->second.get() : nullptr;
}

AttemptExec* Keeper::find_exec(std::uint64_t number) {
  for (auto& [fence, run] : attempts_) {
    if (AttemptExec* exec = run->find_exec(number)) return exec;
  }
  return nullptr;
}

// The link takes one hello, which `step_links` has read.
void Keeper::take(const wire::KeeperHello&) {}

void Keeper::take(const wire::to_keeper::FromLeader& message) {
  if (!offer_known_) return;
  feed([&](Worker& worker, const Clocks& clocks) { worker.receive(clocks, message.message); });
}

void Keeper::take(const wire::to_keeper::SessionLost&) {
  if (!offer_known_) return;
  feed([](Worker& worker, const Clocks& clocks) { worker.session_lost(clocks); });
}

void Keeper::take(const wire::to_keeper::OfferChanged& changed) {
  if (std::exchange(offer_known_, true) && site_.offer == changed.offer) return;
  site_.offer = changed.offer;
  feed([&](Worker& worker, const Clocks& clocks) { worker.offer_changed(clocks, changed.offer); });
}

void Keeper::take(const wire::to_keeper::Prepared& prepared) {
  if (AttemptRun* run = find(prepared.attempt)) {
    run->prepare(prepared.secrets, prepared.followed);
  } else if (prepared_ahead_.size() < most_prepared_ahead) {
    prepared_ahead_.insert_or_assign(prepared.attempt, prepared);
  }
}

void Keeper::take(const wire::to_keeper::NotPrepared& refused) {
  if (AttemptRun* run = find(refused.attempt)) run->fail(refused.failure);
}

void Keeper::take(const wire::to_keeper::Watch& watch) {
  const Fence& fence = watch.attempt;
  if (!watch.on) {
    watched_.erase(fence);
    return;
  }
  if (const auto found = kept_.find(fence); found != kept_.end()) {
    tell(wire::from_keeper::Grew{fence, found->second.out_bytes, found->second.err_bytes, true});
  } else if (AttemptRun* run = find(fence)) {
    const Watched now{run->output().bytes(wire::OutputStream::out),
                      run->output().bytes(wire::OutputStream::err)};
    watched_[fence] = now;
    tell(wire::from_keeper::Grew{fence, now.out_bytes, now.err_bytes, false});
  } else if (inherited_.contains(fence)) {
    watched_[fence] = {};
  }
}

void Keeper::take(const wire::to_keeper::Follow& follow) {
  if (AttemptRun* run = find(follow.attempt)) {
    run->output().follow(follow.on, follow.out_bytes, follow.err_bytes);
  }
}

void Keeper::take(const wire::to_keeper::Signal& signal) {
  if (AttemptRun* run = find(signal.attempt)) run->signal(signal.number);
}

void Keeper::take(const wire::to_keeper::Input& input) {
  AttemptRun* run = find(input.attempt);
  if (run == nullptr) return;
  // Answered also when all of it was taken before: what told so may have gone with another peer.
  input_told_.erase(input.attempt);
  if (run->put_input(input)) return;
  tell(wire::from_keeper::KeeperNote{"a peer sent more input than may be on its way"});
  peer_->flush();
  peer_->drop();
}

void Keeper::take(const wire::to_keeper::Exec& exec) {
  const auto refuse = [&](const char* why) {
    tell(wire::from_keeper::ExecEnded{exec.exec, FailedToStart{0, 125, why}});
  };
  std::size_t count = 0;
  for (const auto& [fence, run] : attempts_) count += run->exec_count();
  AttemptRun* run = find(exec.attempt);
  if (run == nullptr) return refuse("there is no such attempt here that runs");
  if (find_exec(exec.exec) != nullptr) return refuse("its number is in use");
  if (count >= most_execs) return refuse("64 such commands run on this machine already");
  run->exec(exec.exec, exec.command);
}

void Keeper::take(const wire::to_keeper::ExecSignal& signal) {
  AttemptExec* exec = find_exec(signal.exec);
  if (exec == nullptr) return;
  if (signal.number > 0) {
    exec->signal(signal.number);
  } else {
    exec->drop();
  }
}

void Keeper::take(const wire::to_keeper::ExecTaken& taken) {
  if (AttemptExec* exec = find_exec(taken.exec)) exec->taken(taken.bytes);
}

void Keeper::take(const wire::to_keeper::Discard& discard) {
  if (kept_.erase(discard.attempt) == 0) return;
  watched_.erase(discard.attempt);
  this->discard(discard.attempt);
}

void Keeper::take(const wire::to_keeper::Retire&) { retiring_ = true; }

}  // namespace gpl::host
