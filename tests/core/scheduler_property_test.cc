#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "effort.h"
#include "gpl/core/prng.h"
#include "scheduler_scene.h"

using namespace gpl;
using namespace gpl::scheduler_test;

namespace {

/// Peers, jobs and ends at random. The same seed and the same decisions make the same.
class Life {
 public:
  explicit Life(std::uint64_t seed, bool used_outside = true)
      : prng_(seed), used_outside_(used_outside) {
    for (std::uint64_t i = prng_.between(1, 4); i > 0; --i) scene.add(some_machine());
  }

  Scene scene;

  void step() {
    scene.now_ms += 1000;
    switch (prng_.below(8)) {
      case 0:
      case 1:
      case 2:
        for (std::uint64_t i = prng_.below(4); i > 0; --i) scene.submit(some_job());
        break;
      case 3:
      case 4:
      case 5:
        end_some();
        break;
      case 6:
        peer_event();
        break;
      default:
        for (const PeerId peer : scene.state.peers())
          for (const AttemptId id : scene.state.attempts_on(peer))
            scene.apply(command::Start{scene.state.find_attempt(id)->fence, scene.now()});
    }
  }
  JobDescription some_job() {
    JobDescription job = for_cpus(static_cast<int>(prng_.between(1, 6)));
    if (prng_.one_in(3)) job.requirement.memory_bytes = prng_.between(1, 40) * gib;
    if (prng_.one_in(2)) job.requirement.gpus = static_cast<int>(prng_.between(1, 2));
    if (job.requirement.gpus > 0 && prng_.one_in(2))
      job.requirement.gpu_memory_bytes = prng_.between(1, 50) * gib;
    job.requirement.gpu_share = job.requirement.gpu_memory_bytes && prng_.one_in(2);
    if (prng_.one_in(3)) job.priority = static_cast<std::int32_t>(prng_.below(3)) - 1;
    if (prng_.one_in(3))
      job.spec.time_limit = seconds(static_cast<std::int64_t>(prng_.between(1, 40)));
    if (prng_.one_in(4)) job = array_of(prng_.between(1, 6), job);
    if (auto* array = std::get_if<Array>(&job.shape); array != nullptr && prng_.one_in(2))
      array->limit = prng_.between(1, 3);
    job.held = prng_.one_in(10);
    return job;
  }

 private:
  PeerOffer some_machine() {
    std::vector<std::uint64_t> cards;
    while (cards.size() < 3 && prng_.one_in(2)) cards.push_back(prng_.between(1, 3) * 16);
    PeerOffer offer = machine(static_cast<int>(prng_.between(1, 8)), cards,
                              prng_.one_in(5) ? 0 : 16 * prng_.between(1, 4));
    for (Accelerator& card : offer.accelerators) {
      card.uuid = "GPU-" + card.id;
      if (used_outside_ && prng_.one_in(5)) card.memory_used_bytes = prng_.between(1, 16) * gib;
      if (prng_.one_in(6))
        card.partitions = {{"MIG-" + card.id + "a", "1g", 8 * gib, 1},
                           {"MIG-" + card.id + "b", "1g", 8 * gib, 2}};
    }
    if (prng_.one_in(10)) offer.closed = "draining";
    return offer;
  }
  void peer_event() {
    const PeerId peer{prng_.between(1, scene.peers)};
    if (prng_.one_in(3)) {
      scene.apply(command::PeerDown{peer, scene.now()});
    } else {
      scene.report(peer, some_machine());
    }
  }
  void end_some() {
    for (const PeerId peer : scene.state.peers()) {
      for (const AttemptId id : scene.state.attempts_on(peer)) {
        if (prng_.one_in(3))
          scene.apply(command::Report{scene.state.find_attempt(id)->fence, Exited{0}, scene.now()});
      }
    }
  }

  Prng prng_;
  bool used_outside_;
};

bool is_open(const PeerRecord& peer) { return !peer.down_at && peer.offer.closed.empty(); }

PeerView with_nothing_held(PeerView view) {
  for (Accelerator& card : view.accelerators) {
    const bool held = std::any_of(view.holds.begin(), view.holds.end(), [&](const auto& hold) {
      return hold.kind == card.kind && hold.index == card.index;
    });
    if (held) card.memory_used_bytes.reset();
  }
  view.holds.clear();
  view.cpus_held = 0;
  view.memory_held_bytes = 0;
  return view;
}

void add_to(PeerView& view, const Allocation& allocation) {
  view.cpus_held += allocation.cpus;
  view.memory_held_bytes += allocation.memory_bytes;
  for (const DeviceClaim& claim : allocation.devices)
    view.holds.push_back({claim.device.kind,
                          claim.device.index,
                          claim.device.slice,
                          claim.shared_memory_bytes,
                          "",
                          {},
                          {}});
}

/// The rules once more, as plainly as they can be written, of a state in which all is placed.
class Left {
 public:
  explicit Left(const Scene& scene) : state_(scene.state), now_(scene.now()) {
    state_.for_each_job([&](const JobRecord& job) {
      if (job.waiting_count == 0 || job.held || state_.placings_left(job.id) == 0) return;
      waiting_.push_back(&job);
    });
    std::stable_sort(waiting_.begin(), waiting_.end(), [](const auto* a, const auto* b) {
      return a->description->priority > b->description->priority;
    });
  }

  /// What fits although it was left fits on one peer alone, which is kept for the first job in
  /// order that fits nowhere.
  void check() const {
    const JobRecord* first = nullptr;
    std::set<PeerId> left;
    for (const JobRecord* job : waiting_) {
      const std::set<PeerId> fitting = where_it_fits(*job);
      if (first == nullptr) RC_ASSERT(fitting.empty());
      if (first == nullptr && could_run_somewhere(*job)) first = job;
      left.insert(fitting.begin(), fitting.end());
      for (const PeerId peer : fitting) RC_ASSERT(!may_start_beside(*first, *job, peer));
    }
    RC_ASSERT(left.size() <= 1);
  }

 private:
  std::set<PeerId> open_peers() const {
    std::set<PeerId> open;
    for (const PeerId peer : state_.peers())
      if (is_open(*state_.find_peer(peer))) open.insert(peer);
    return open;
  }
  Requirement asked(const JobRecord& job) const {
    return asked_in_cluster(job.description->requirement);
  }
  std::set<PeerId> where_it_fits(const JobRecord& job) const {
    std::set<PeerId> fitting;
    for (const PeerId peer : open_peers())
      if (judge(asked(job), state_.view_of(peer), now_).fits()) fitting.insert(peer);
    return fitting;
  }
  bool could_run_somewhere(const JobRecord& job) const {
    const auto open = open_peers();
    return std::any_of(open.begin(), open.end(), [&](PeerId peer) {
      const PeerView view = state_.view_of(peer);
      return judge(asked(job), view, now_).will_fit() &&
             judge(asked(job), with_nothing_held(view), now_).fits();
    });
  }
  bool is_behind(const JobRecord& job, const JobRecord& other) const {
    if (job.description->priority != other.description->priority)
      return job.description->priority < other.description->priority;
    return job.id > other.id;
  }
  bool may_start_beside(const JobRecord& first, const JobRecord& job, PeerId peer) const {
    const PeerView view = state_.view_of(peer);
    PeerView beside = with_nothing_held(view);
    for (const AttemptId id : state_.attempts_on(peer)) {
      const Attempt& attempt = *state_.find_attempt(id);
      if (is_behind(*state_.find_job(attempt.job), first)) add_to(beside, attempt.allocation);
    }
    const Fit fit = judge(asked(job), view, now_);
    add_to(beside, allocation_of(asked(job), *fit.placement, view));
    return judge(asked(first), beside, now_).fits();
  }

  const ClusterState& state_;
  Instant now_;
  std::vector<const JobRecord*> waiting_;
};

void place_all(Scene& scene, const std::function<std::size_t()>& checks) {
  for (int pass = 0;; ++pass) {
    REQUIRE(pass < 2000);
    const Scheduler::Pass done = scene.pass(checks());
    if (done.complete && done.places.empty()) return;
  }
}

}  // namespace

TEST_CASE("all that is placed is taken, and nothing is left that fits and may start") {
  CHECK(rc::check([] {
    Life life(*rc::gen::arbitrary<std::uint64_t>());
    for (std::uint64_t step = 0; step < 40 * effort(); ++step) {
      life.step();
      place_all(life.scene, [] { return plenty; });
      Left(life.scene).check();
    }
  }));
}

TEST_CASE("one complete pass of many checks leaves nothing to the next") {
  CHECK(rc::check([] {
    Life life(*rc::gen::arbitrary<std::uint64_t>(), false);
    for (std::uint64_t step = 0; step < 30 * effort(); ++step) {
      life.step();
      RC_ASSERT(life.scene.pass().complete);
      const Scheduler::Pass again = life.scene.pass();
      RC_ASSERT(again.complete);
      RC_ASSERT(again.places.empty());
    }
  }));
}

TEST_CASE("passes of any number of checks come to the same places as one without a bound") {
  CHECK(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto most = static_cast<std::size_t>(*rc::gen::inRange(1, 40));
    Life one(seed, false);
    Life other(seed, false);
    for (std::uint64_t step = 0; step < 30 * effort(); ++step) {
      one.step();
      other.step();
      place_all(one.scene, [] { return plenty; });
      place_all(other.scene, [&] { return most; });
      RC_ASSERT(one.scene.state.digest() == other.scene.state.digest());
    }
  }));
}

TEST_CASE("a pass keeps to its checks but for what two jobs need") {
  CHECK(rc::check([] {
    Life life(*rc::gen::arbitrary<std::uint64_t>());
    const auto most = static_cast<std::size_t>(*rc::gen::inRange(1, 60));
    for (std::uint64_t step = 0; step < 40 * effort(); ++step) {
      life.step();
      const std::size_t peers = life.scene.peers;
      RC_ASSERT(life.scene.pass(most).checks <= std::max(most, 6 * peers));
    }
  }));
}

TEST_CASE("what is placed at a submit is taken, and a pass would have placed it too") {
  CHECK(rc::check([] {
    Life life(*rc::gen::arbitrary<std::uint64_t>());
    for (std::uint64_t step = 0; step < 40 * effort(); ++step) {
      life.step();
      place_all(life.scene, [] { return plenty; });
      Scene& scene = life.scene;
      const JobDescription job = life.some_job();
      const auto placings = place_at_submit(scene.state, job, scene.now());
      const JobId id = scene.submit(job);
      Scheduler copy = scene.scheduler;
      const auto by_pass = copy.pass(scene.state, scene.now(), plenty).places;
      RC_ASSERT(placings.size() <= by_pass.size());
      for (const command::Placing& placing : placings)
        scene.apply(command::Place{id, placing, scene.now()});
    }
  }));
}
