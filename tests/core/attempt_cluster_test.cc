#include "attempt_cluster.h"

#include <doctest/doctest.h>

#include "effort.h"

namespace gpl::attempt_cluster {
namespace {

constexpr TrueTime step_length = 20'000;

/// One waiting job after the other to the peers in turn, up to three tasks in a slot.
Placements place_somewhere(const ClusterState& state, Instant at) {
  Placements placings;
  std::map<PeerId, int> taken;
  for (const JobId job : state.placeable()) {
    const TaskRange waiting = *state.first_waiting(job);
    for (const PeerId peer : state.peers()) {
      const PeerRecord& record = *state.find_peer(peer);
      const int held = state.view_of(peer).cpus_held + taken[peer];
      if (record.down_at || held >= record.offer.host.cpus) continue;
      if ((job.value + peer.value + state.job_count()) % 3 == 0) continue;
      ++taken[peer];
      const TaskId last{std::min(waiting.last.value, waiting.first.value + 2)};
      placings.places.push_back({job, {{waiting.first, last}, peer, {1, 0, {}, ""}}, at});
      break;
    }
  }
  return placings;
}

}  // namespace

AttemptCluster::AttemptCluster(Options options) : options_(options), prng_(options.seed) {
  const auto some_clock = [&] {
    const std::int64_t rates[] = {1'000'000, 1'010'000};
    return SkewedClock{rates[prng_.below(2)], static_cast<TrueTime>(prng_.below(1'000'000'000))};
  };
  for (std::size_t i = 0; i < options_.workers; ++i) {
    Host host;
    host.id = PeerId{i + 1};
    host.clock = some_clock();
    hosts_.push_back(std::move(host));
  }
  for (std::size_t i = 0; i < options_.nodes; ++i) {
    Node node;
    node.clock = some_clock();
    node.coordinator = std::make_unique<Coordinator>(place_somewhere, CoordinatorOptions{});
    nodes_.push_back(std::move(node));
  }
  change_leader();
}

std::string AttemptCluster::run() {
  while (violation_.empty() && now_ < options_.longest) {
    step();
    if (!faulty() && submitted_ == options_.jobs) {
      bool all_ended = proposals_.empty();
      nodes_[leader_].state.for_each_job(
          [&](const JobRecord& job) { all_ended = all_ended && job.has_ended(); });
      // Nor is anything left to be told: what ran on without leave is found out in the end.
      for (const Host& host : hosts_)
        all_ended = all_ended && host.worker && host.disk.empty() && host.processes.empty();
      if (all_ended && nodes_[leader_].applied == log_.size()) break;
    }
  }
  if (violation_.empty()) check_end();
  return violation_;
}

void AttemptCluster::fail(const std::string& what) {
  if (violation_.empty())
    violation_ = "seed " + std::to_string(options_.seed) + ", at " + std::to_string(now_ / 1000) +
                 " ms: " + what;
}

LeaderView AttemptCluster::view(const Node& node) const {
  const TrueTime heard = now_ - 100'000;
  const bool told_right = options_.bug != PlantedBug::believes_old_leaders;
  const TrueTime led = node.replaced && told_right ? std::min(*node.replaced, heard) : heard;
  return {clocks(node.clock), node.clock.read(led), node.state};
}

void AttemptCluster::step() {
  now_ += step_length;
  if (faulty()) inject_faults();
  submit_and_cancel();
  apply_log();
  deliver();
  for (std::size_t node = 0; node < nodes_.size(); ++node) drive(node);
  for (std::size_t host = 0; host < hosts_.size(); ++host) drive_host(host);
}

void AttemptCluster::inject_faults() {
  if (!options_.only_slow_links && prng_.one_in(2000)) change_leader();
  for (Host& host : hosts_) {
    if (prng_.one_in(3000)) {
      host.slow_until = some_time_from_now();
      host.mute_from = now_ + static_cast<TrueTime>(prng_.below(20'000'000));
      host.mute_until = host.mute_from + 70 * one_second;
    }
    if (!options_.only_slow_links) inject_faults_of(host);
  }
}

TrueTime AttemptCluster::some_time_from_now() {
  return now_ + static_cast<TrueTime>(prng_.below(prng_.one_in(2) ? 15'000'000 : 150'000'000));
}

void AttemptCluster::inject_faults_of(Host& host) {
  if (prng_.one_in(2000)) host.deaf_until = some_time_from_now();
  if (prng_.one_in(2000)) {
    host.mute_from = now_;
    host.mute_until = prng_.one_in(2) ? host.deaf_until : some_time_from_now();
  }
  if (!host.worker || host.stopped_until > now_) return;
  if (prng_.one_in(6000)) {
    host.stopped_until = some_time_from_now();
    host.last_stop = host.stopped_until;
    ++figures_.stops;
  } else if (prng_.one_in(8000)) {
    stop_keeper(host, prng_.one_in(2));
    ++figures_.reboots;
  }
}

/// Of what the leader proposed a beginning is committed, the rest is lost. The one that is replaced
/// may not notice for minutes.
void AttemptCluster::change_leader() {
  ++figures_.leader_changes;
  if (term_ > 0) {
    const std::size_t committed = prng_.below(proposals_.size() + 1);
    for (std::size_t i = 0; i < committed; ++i) log_.push_back(std::move(proposals_[i].second));
    proposals_.clear();
    Node& old = nodes_[leader_];
    old.replaced = now_;
    old.believes_until = now_ + static_cast<TrueTime>(prng_.below(100'000'000));
  }
  ++term_;
  do {
    leader_ = prng_.below(nodes_.size());
  } while (nodes_[leader_].replaced == now_);
  Node& node = nodes_[leader_];
  node.coordinator->stopped_leading();
  node.replaced.reset();
  while (node.applied < log_.size()) apply_one(node);
  node.coordinator->began_to_lead(view(node), term_);
  for (Host& host : hosts_)
    host.will_learn_of = {
        now_ + static_cast<TrueTime>(prng_.below(prng_.one_in(3) ? 120'000'000 : 3'000'000)),
        leader_};
}

void AttemptCluster::submit_and_cancel() {
  if (submitted_ < options_.jobs && (prng_.one_in(500) || !faulty())) {
    command::Submit submit;
    submit.request = {1, ++submitted_};
    submit.job.spec.command = {"work"};
    const OnLoss choices[] = {OnLoss::wait, OnLoss::retry, OnLoss::retry, OnLoss::fail};
    submit.job.on_loss = choices[prng_.below(4)];
    submit.job.lease = seconds(static_cast<std::int64_t>(prng_.between(30, 60)));
    if (prng_.one_in(2)) submit.job.shape = Array{{TaskId{0}, TaskId{prng_.below(5)}}, {}};
    submit.at = Instant{now_ / 1000};
    proposals_.emplace_back(now_, submit);
  }
  if (prng_.one_in(3000) && submitted_ > 0)
    proposals_.emplace_back(
        now_, command::Cancel{JobId{1 + prng_.below(submitted_)}, std::nullopt, Instant{now_}});
}

void AttemptCluster::send(Envelope envelope) {
  if (faulty() && prng_.one_in(20)) return;
  const bool is_slow = faulty() && std::holds_alternative<LeaderToWorker>(envelope.message) &&
                       now_ < hosts_[envelope.host].slow_until;
  const auto delay = [&] {
    if (is_slow) return now_ + static_cast<TrueTime>(prng_.between(7'000'000, 9'000'000));
    if (faulty() && prng_.one_in(50)) return now_ + static_cast<TrueTime>(prng_.below(40'000'000));
    return now_ + static_cast<TrueTime>(prng_.below(60'000));
  };
  if (faulty() && prng_.one_in(20)) network_.emplace(delay(), envelope);
  network_.emplace(delay(), std::move(envelope));
}

void AttemptCluster::deliver() {
  while (!network_.empty() && network_.begin()->first <= now_) {
    const Envelope envelope = std::move(network_.begin()->second);
    network_.erase(network_.begin());
    Host& host = hosts_[envelope.host];
    if (const auto* up = std::get_if<WorkerToLeader>(&envelope.message)) {
      Node& node = nodes_[envelope.node];
      const bool is_mute = host.mute_from <= now_ && now_ < host.mute_until;
      if (!is_mute) node.coordinator->receive(view(node), host.id, *up);
    } else if (host.worker && host.deaf_until <= now_) {
      host.mailbox.push_back(std::get<LeaderToWorker>(envelope.message));
    }
  }
}

void AttemptCluster::apply_log() {
  while (!proposals_.empty() && proposals_.front().first <= now_) {
    log_.push_back(std::move(proposals_.front().second));
    proposals_.erase(proposals_.begin());
  }
  Node& node = nodes_[leader_];
  while (node.applied < log_.size()) apply_one(node);
}

void AttemptCluster::apply_one(Node& node) {
  const Command& command = log_[node.applied++];
  const Applied applied = node.state.apply(command);
  const bool is_first = node.applied > most_applied_;
  most_applied_ = std::max(most_applied_, node.applied);
  if (is_first && !applied.refused) {
    if (const auto* report = std::get_if<command::Report>(&command); report && !applied.given_up)
      if (!reported_.insert(report->attempt).second) fail("two outcomes of an attempt were taken");
    if (std::holds_alternative<command::LeasesOver>(command)) ++figures_.leases_over;
    if (std::holds_alternative<command::AttemptsLost>(command)) ++figures_.lost;
  }
  node.coordinator->applied(view(node), command, applied);
}

void AttemptCluster::drive(std::size_t index) {
  Node& node = nodes_[index];
  if (node.replaced && node.believes_until <= now_) node.coordinator->stopped_leading();
  const auto wake = node.coordinator->wake_at();
  if (wake && *wake <= node.clock.read(now_)) node.coordinator->tick(view(node));
  CoordinatorOutput out = node.coordinator->take_output();
  if (index == leader_) {
    TrueTime due = proposals_.empty() ? now_ : proposals_.back().first;
    for (Command& command : out.propose) {
      due = std::max(due, now_ + static_cast<TrueTime>(prng_.below(100'000)));
      proposals_.emplace_back(due, std::move(command));
    }
  }
  for (AddressedToWorker& message : out.send)
    send({0, message.to.value - 1, std::move(message.message)});
}

void AttemptCluster::check_end() {
  const ClusterState& state = nodes_[leader_].state;
  if (submitted_ != options_.jobs) return fail("not all jobs were submitted");
  state.for_each_job([&](const JobRecord& job) {
    if (!job.has_ended()) fail("job " + std::to_string(job.id.value) + " never ended");
    for (const EndedTasks& ended : state.ended(job.id))
      for (TaskId task = ended.tasks.first; task <= ended.tasks.last; ++task.value)
        if (std::holds_alternative<Exited>(ended.outcome) && !begun_.contains({job.id, task}))
          fail("a task has an exit code and never ran");
  });
  for (const auto& [job, task] : overlaps_) {
    const auto& told = state.find_job(job)->overlaps;
    if (std::find(told.begin(), told.end(), task) == told.end())
      fail("that job " + std::to_string(job.value) + " task " + std::to_string(task.value) +
           " ran twice at once was not reported");
  }
}

}  // namespace gpl::attempt_cluster

using namespace gpl::attempt_cluster;

TEST_CASE(
    "no task runs twice at once and every job ends, whatever network, leaders and machines do") {
  Figures sum;
  for (std::uint64_t seed = 1; seed <= 12 * effort(); ++seed) {
    Options options;
    options.seed = seed;
    AttemptCluster cluster(options);
    CHECK(cluster.run() == "");
    sum.starts += cluster.figures().starts;
    sum.overlaps += cluster.figures().overlaps;
    sum.leases_over += cluster.figures().leases_over;
    sum.lost += cluster.figures().lost;
  }
  // What is to be survived does happen.
  CHECK(sum.starts > 400);
  CHECK(sum.leases_over > 30);
  CHECK(sum.lost > 8);
  CHECK(sum.overlaps > 0);
}

namespace {

/// Of the first so many seeds the first that shows the bug as a task that runs twice; 0: none.
std::uint64_t seed_that_finds(PlantedBug bug, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Options options;
    options.seed = seed;
    options.bug = bug;
    options.only_slow_links = bug == PlantedBug::lease_from_answer;
    if (AttemptCluster(options).run().find("runs twice") != std::string::npos) return seed;
  }
  return 0;
}

}  // namespace

TEST_CASE("a lease that is counted from the answer lets a task run twice") {
  CHECK(seed_that_finds(PlantedBug::lease_from_answer, 30) > 0);
}

TEST_CASE("a leader that was replaced and says that it is known to lead lets a task run twice") {
  CHECK(seed_that_finds(PlantedBug::believes_old_leaders, 200) > 0);
}
