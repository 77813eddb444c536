// Faults of machines: processes, disks, clocks, and changes of who is a member.

#include <vector>

#include "sim/faults.h"

namespace gpl::sim {

std::size_t Faults::some_member() {
  if (const auto leader = cluster_.leader(); leader != cluster_.size() && dice_.one_in(3))
    return leader;
  std::vector<std::size_t> up;
  for (std::size_t i = 0; i < cluster_.size(); ++i)
    if (cluster_.machine(i).up()) up.push_back(i);
  return up.empty() ? cluster_.size() : up[dice_.below(up.size())];
}

// --- Processes.

void Faults::crash(Fault kind) {
  // Now and then all at once: the power of the room.
  if (dice_.one_in(12)) {
    for (std::size_t i = 0; i < cluster_.size(); ++i)
      if (cluster_.machine(i).up()) crash(i, kind);
    return;
  }
  if (const auto number = some_member(); number != cluster_.size()) crash(number, kind);
}

void Faults::crash(std::size_t number, Fault kind) {
  auto& machine = cluster_.machine(number);
  // Disks are idle most of the time: half of the crashes wait until it writes.
  if (machine.replica().running() && dice_.one_in(2))
    return machine.replica().in_next_operation([this, number, kind] {
      if (!stopped_) die(number, kind);
    });
  die(number, kind);
}

void Faults::die(std::size_t number, Fault kind) {
  auto& machine = cluster_.machine(number);
  const bool killed = kind == Fault::kill;
  world_.count(killed ? Figure::process_crashes : Figure::power_losses);
  machine.die(killed ? Death::killed : Death::power_lost);
  if (kind == Fault::power_loss_in_recovery) machine.disk().lose_power_after(dice_.between(1, 8));
  machine.start_after(dice_.one_in(3) ? draw_time(100, millis(20))
                                      : draw_time(millis(20), secs(3)));
}

void Faults::pause() {
  const auto number = some_member();
  if (number == cluster_.size()) return;
  world_.count(Figure::pauses);
  world_.tell(cluster_.machine(number).name(), [] { return std::string("is stopped"); });
  cluster_.machine(number).replica().pause();
  world_.after(draw_time(millis(50), secs(5)), [this, number] {
    if (!cluster_.machine(number).up()) return;
    world_.tell(cluster_.machine(number).name(), [] { return std::string("wakes"); });
    cluster_.machine(number).replica().wake();
  });
}

void Faults::transfer() {
  const auto leader = cluster_.leader();
  if (leader == cluster_.size()) return;
  auto& replica = cluster_.machine(leader).replica();
  const auto voters = replica.replica().node().configuration().voters;
  const auto to = voters[dice_.below(voters.size())];
  const auto status = replica.event([&](peer::Replica& r) { return r.transfer(to); });
  if (status.ok()) world_.count(Figure::transfers);
}

void Faults::membership() {
  const auto spare = operator_.spare();
  const auto number = some_member();
  if (number == cluster_.size() || !operator_.settled()) return;
  const bool is_voter = operator_.voters().contains(cluster_.machine(number).id());
  switch (dice_.below(4)) {
    case 0:  // one less
      if (is_voter && operator_.voters().size() > 1) operator_.remove_voter(number);
      return;
    case 1:  // one more
      if (spare != cluster_.size()) operator_.add_voter(spare);
      return;
    case 2:  // one for another
      if (!is_voter || spare == cluster_.size()) return;
      operator_.add_voter(spare);
      operator_.remove_voter(number);
      return;
    case 3:  // somebody who only listens
      if (!operator_.learners().empty()) {
        operator_.drop_learners();
      } else if (spare != cluster_.size()) {
        operator_.add_learner(spare);
      }
      return;
  }
}

// --- Disks and clocks.

void Faults::disk_full() {
  const auto number = some_member();
  if (number == cluster_.size()) return;
  world_.count(Figure::disk_full);
  world_.tell(cluster_.machine(number).name(), [] { return std::string("disk is full"); });
  cluster_.machine(number).disk().set_full(true);
  world_.after(draw_time(millis(100), secs(5)),
               [this, number] { cluster_.machine(number).disk().set_full(false); });
}

void Faults::sync_failure() {
  const auto number = some_member();
  if (number == cluster_.size()) return;
  world_.count(Figure::sync_failures);
  cluster_.machine(number).disk().fail_next_sync();
}

void Faults::disk_stall() {
  const auto number = some_member();
  if (number == cluster_.size()) return;
  world_.count(Figure::disk_stalls);
  world_.tell(cluster_.machine(number).name(), [] { return std::string("disk stalls"); });
  cluster_.machine(number).speed().stalled_until = world_.now() + draw_time(millis(50), secs(5));
}

bool Faults::can_lose_a_disk() const {
  return operator_.settled() && operator_.voters().size() >= 3;
}

void Faults::bit_flip() {
  const auto number = some_member();
  if (number == cluster_.size() || !can_lose_a_disk()) return;
  auto& machine = cluster_.machine(number);
  if (!operator_.voters().contains(machine.id())) return;
  machine.die(Death::power_lost);
  if (machine.flip_bit()) return operator_.disk_lost(number);
  machine.start_after(draw_time(millis(1), secs(1)));
}

void Faults::disk_loss() {
  const auto number = some_member();
  if (number == cluster_.size() || !can_lose_a_disk()) return;
  if (operator_.voters().contains(cluster_.machine(number).id())) operator_.disk_lost(number);
}

void Faults::clock_jump() {
  const auto number = dice_.below(cluster_.size());
  world_.count(Figure::clock_jumps);
  cluster_.machine(number).clock().set_wall(static_cast<std::int64_t>(dice_.below(172'800'000)) -
                                            86'400'000);
}

// --- Plain peers.

SimWorker* Faults::some_worker() {
  std::vector<SimWorker*> up;
  for (const auto& worker : cluster_.workers())
    if (worker->up()) up.push_back(worker.get());
  return up.empty() ? nullptr : up[dice_.below(up.size())];
}

void Faults::keeper_stop() {
  auto* worker = some_worker();
  if (worker == nullptr || worker->stopped()) return;
  world_.count(Figure::keeper_stops);
  worker->stop();
  world_.after(dice_.one_in(2) ? draw_time(millis(10), secs(12)) : draw_time(secs(10), secs(90)),
               [worker] { worker->wake(); });
}

void Faults::keeper_kill() {
  auto* worker = some_worker();
  if (worker == nullptr) return;
  world_.count(Figure::keeper_kills);
  worker->kill_keeper();
  world_.after(draw_time(millis(5), secs(5)), [worker] {
    if (!worker->up() && !worker->gone()) worker->start();
  });
}

void Faults::worker_reboot() {
  auto* worker = some_worker();
  if (worker == nullptr) return;
  world_.count(Figure::worker_reboots);
  // The first has the most devices: some jobs can run nowhere else.
  if (cluster_.workers().size() > 2 && worker->peer().value % 2 == 0 && dice_.one_in(5))
    return worker->leave();
  worker->reboot();
  world_.after(dice_.one_in(2) ? draw_time(millis(500), secs(8)) : draw_time(secs(8), secs(60)),
               [worker] {
                 if (!worker->up() && !worker->gone()) worker->start();
               });
}

void Faults::late_grant() {
  auto* worker = some_worker();
  if (worker == nullptr) return;
  cluster_.delay_next_grant(worker->peer(), draw_time(millis(500), millis(9500)), [this, worker] {
    if (stopped_) return;
    world_.count(Figure::late_grants);
    world_.tell(worker->name(),
                [] { return std::string("is granted a lease late, and not heard"); });
    cluster_.network().mute(worker->endpoint());
    world_.after(draw_time(secs(30), secs(80)),
                 [this, worker] { cluster_.network().reconnect(worker->endpoint()); });
  });
}

}  // namespace gpl::sim
