#include "sim/sim_worker.h"

#include <algorithm>
#include <utility>

namespace gpl::sim {

namespace {

constexpr Micros keep_low = 100, keep_high = 600;  ///< an outcome to disk
constexpr Micros look_every = secs(2);
constexpr Micros silence = secs(5);  ///< of a leader, before another is looked for

Micros draw(Prng& dice, Micros low, Micros high) {
  return static_cast<Micros>(
      dice.between(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)));
}

}  // namespace

SimWorker::SimWorker(World& world, Network& network, ProcessChecker& checker, const Setup& setup,
                     PeerId peer, std::size_t members, Send send)
    : world_(world),
      checker_(checker),
      setup_(setup),
      peer_(peer),
      members_(members),
      send_(std::move(send)),
      name_("w" + std::to_string(peer.value)),
      endpoint_(network.add_endpoint(name_)),
      dice_(world.dice("worker", peer.value)),
      clock_(world, setup.draw_clock_ppm(dice_), draw(dice_, 0, secs(100'000)),
             draw(dice_, 0, 7'200'000) - 3'600'000),
      leader_(0) {}

void SimWorker::start() {
  ++keepers_;
  life_ = world_.begin_life();
  auto restored = this->restored();
  world_.tell(name_, [&] {
    return "keeper " + restored.keeper + " starts, " + std::to_string(restored.running.size()) +
           " running, " + std::to_string(restored.ended.size()) + " ended";
  });
  worker_.emplace(WorkerOptions{}, std::move(restored), clock_.now());
  after_event();
  world_.after(look_every, life_, [this] { look_for_leader(); });
}

RestoredWorker SimWorker::restored() {
  RestoredWorker restored;
  restored.keeper = name_ + "-" + std::to_string(keepers_);
  restored.first_session = SessionId{dice_.next() >> 1};
  restored.offer = worker_offer(name_, peer_);
  for (auto& [fence, process] : processes_) {
    process.keeper = keepers_;
    const auto& job = process.start.description;
    restored.running.push_back({fence, job.on_loss, effective_lease(job.lease), std::nullopt});
  }
  for (const auto& [fence, ended] : kept_) restored.ended.push_back(ended);
  // A keeper may know its predecessor's lease, or not.
  if (dice_.one_in(2)) restored.renewed_at = renewed_at_;
  return restored;
}

// --- The keeper's loop.

void SimWorker::sees(std::function<void()> what) {
  if (!worker_) return;
  if (stopped_) {
    unseen_.push_back(std::move(what));
    return;
  }
  what();
  after_event();
}

void SimWorker::after_event() {
  auto output = worker_->take_output();
  if (!output.empty()) {
    outputs_.push_back(std::move(output));
    if (outputs_.size() == 1) perform_next();
  }
  renewed_at_ = worker_->lease().renewed_at();
  arm_timer();
}

/// Outcomes are on disk before anything that follows is done.
void SimWorker::perform_next() {
  const bool keeps = !outputs_.front().keep.empty();
  world_.after(keeps ? draw(dice_, keep_low, keep_high) : 0, life_, [this] {
    for (const auto& ended : outputs_.front().keep) {
      kept_[ended.fence] = ended;
      if (on_kept) on_kept(ended);
    }
    sees([this] {
      const auto output = std::move(outputs_.front());
      outputs_.pop_front();
      perform(output);
      if (late_outputs_ > 0) --late_outputs_;
      if (!outputs_.empty()) perform_next();
    });
  });
}

void SimWorker::perform(const WorkerOutput& output) {
  for (const auto& start : output.start) begin(start);
  for (const auto& end : output.end) terminate(end.fence, millis(end.grace.count_ms));
  for (const auto& fence : output.forget) kept_.erase(fence);
  for (const auto& message : output.send) say(message);
}

void SimWorker::arm_timer() {
  const Micros delay = clock_.until(worker_->wake_at());
  const Micros at = world_.now() + delay;
  if (tick_due_ && *tick_due_ <= at) return;
  tick_due_ = at;
  world_.after(delay, life_, [this, number = ++tick_number_] {
    if (number != tick_number_) return;
    sees([this] {
      tick_due_.reset();
      worker_->tick(clocks());
    });
  });
}

// --- The leader.

void SimWorker::say(const WorkerToLeader& message) {
  world_.tell(name_, [&] { return "says " + describe(message); });
  send_(*this, leader_, message);
}

void SimWorker::receive(LeaderToWorker message) {
  // A lease that is counted from the answer: the planted bug.
  sees([this, message = std::move(message)]() mutable {
    world_.tell(name_, [&] { return "gets " + describe(message); });
    heard_at_ = world_.now();
    auto* granted = std::get_if<to_worker::Granted>(&message);
    if (granted != nullptr && setup_.planted_bug == PlantedBug::lease_answer)
      granted->asked_at = clock_.now();
    worker_->receive(clocks(), message);
  });
}

void SimWorker::redirected(std::size_t member) {
  sees([this, member] {
    if (member != leader_) try_member(member);
  });
}

void SimWorker::look_for_leader() {
  sees([this] {
    if (world_.now() - heard_at_ > silence) try_member(dice_.below(members_));
  });
  world_.after(look_every, life_, [this] { look_for_leader(); });
}

void SimWorker::try_member(std::size_t member) {
  leader_ = member;
  heard_at_ = world_.now();
  worker_->session_lost(clocks());
}

// --- The keeper's fate.

void SimWorker::stop() {
  world_.tell(name_, [] { return std::string("keeper is stopped"); });
  stopped_ = true;
  for (const auto& [fence, process] : processes_) checker_.excuse(key(fence));
  late_outputs_ = outputs_.size();
}

void SimWorker::wake() {
  if (!stopped_) return;
  world_.tell(name_, [] { return std::string("keeper wakes"); });
  stopped_ = false;
  auto unseen = std::exchange(unseen_, {});
  // Timers that are due may be seen before what came in, or after it.
  if (dice_.one_in(2)) {
    worker_->tick(clocks());
    after_event();
  }
  for (const auto& what : unseen) sees(what);
}

void SimWorker::keeper_gone() {
  world_.end_life(life_);
  worker_.reset();
  stopped_ = false;
  unseen_.clear();
  outputs_.clear();
  late_outputs_ = 0;
  tick_due_.reset();
  checker_.silence(peer_);
}

void SimWorker::kill_keeper() {
  world_.tell(name_, [] { return std::string("keeper is killed"); });
  keeper_gone();
  std::erase_if(processes_, [](const auto& one) { return !one.second.begun; });
  for (auto& [fence, process] : processes_) terminate(fence, 0);
}

void SimWorker::reboot() {
  world_.tell(name_, [] { return std::string("reboots"); });
  if (worker_) keeper_gone();
  checker_.silence(peer_);
  for (const auto& [fence, process] : processes_) checker_.ended(key(fence));
  processes_.clear();
  renewed_at_.reset();
  clock_.reboot(draw(dice_, 0, secs(1000)));
}

void SimWorker::leave() {
  reboot();
  gone_ = true;
}

}  // namespace gpl::sim
