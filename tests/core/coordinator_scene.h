#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/coordinator.h"

namespace gpl::coordinator_test {

inline constexpr PeerId ana{1};
inline constexpr PeerId bob{2};

inline PeerOffer offer_named(const std::string& name) {
  PeerOffer offer;
  offer.name = name;
  offer.host.cpus = 8;
  offer.host.memory_bytes = std::uint64_t{1} << 34;
  return offer;
}

/// A coordinator, the state behind it, and workers of which only the words are there. What is
/// proposed waits in `proposed` until it is applied.
struct Scene {
  std::int64_t now_ms = 1'000'000;
  std::int64_t unconfirmed_ms = 0;
  ClusterState state;
  std::vector<command::Place> rule_says;
  bool rule_complete = true;
  int rule_asked = 0;
  Coordinator leader;
  std::vector<Command> proposed;
  std::vector<AddressedToWorker> sent;  ///< of the last event
  std::uint64_t requests = 0;

  Scene()
      : leader(
            [this](const ClusterState&, Instant) {
              ++rule_asked;
              return Placements{std::exchange(rule_says, {}), rule_complete};
            },
            CoordinatorOptions{}) {}

  LeaderView view() const {
    return {{Moment{now_ms}, Instant{now_ms}}, Moment{now_ms - unconfirmed_ms}, state};
  }
  void take() {
    CoordinatorOutput out = leader.take_output();
    proposed.insert(proposed.end(), out.propose.begin(), out.propose.end());
    sent = std::move(out.send);
  }
  void lead(std::uint64_t term = 5) {
    leader.began_to_lead(view(), term);
    take();
  }
  void receive(PeerId from, const WorkerToLeader& message) {
    leader.receive(view(), from, message);
    take();
  }
  Applied apply(const Command& command) {
    const Applied applied = state.apply(command);
    leader.applied(view(), command, applied);
    std::vector<AddressedToWorker> before = std::move(sent);
    take();
    before.insert(before.end(), sent.begin(), sent.end());
    sent = std::move(before);
    return applied;
  }
  /// All that was proposed, and what follows from it. `sent` is all that was sent meanwhile.
  void commit() {
    sent.clear();
    while (!proposed.empty())
      for (const Command& command : std::exchange(proposed, {})) apply(command);
  }
  /// To that moment, with every tick that is due before. `sent` is of the last.
  void wait_until(std::int64_t moment_ms) {
    while (leader.wake_at() && leader.wake_at()->since_boot_ms <= moment_ms) {
      now_ms = std::max(now_ms, leader.wake_at()->since_boot_ms);
      leader.tick(view());
      take();
    }
    now_ms = moment_ms;
  }

  template <class M>
  std::vector<M> sent_to(PeerId peer) const {
    std::vector<M> found;
    for (const AddressedToWorker& out : sent)
      if (const auto* m = std::get_if<M>(&out.message); m && out.to == peer) found.push_back(*m);
    return found;
  }
  template <class O>
  std::vector<Fence> ordered(PeerId peer) const {
    std::vector<Fence> fences;
    for (const auto& order : sent_to<to_worker::Order>(peer))
      if (const auto* what = std::get_if<O>(&order.what)) fences.push_back(what->fence);
    return fences;
  }
  template <class C>
  std::vector<C> proposals() const {
    std::vector<C> found;
    for (const Command& command : proposed)
      if (const auto* c = std::get_if<C>(&command)) found.push_back(*c);
    return found;
  }

  /// A session, up to its first renewal. `sent` is what was sent in answer to that.
  void open(PeerId peer, std::uint64_t session, const std::string& keeper,
            std::vector<LiveAttempt> live = {}, std::vector<EndedAttempt> ended = {}) {
    receive(peer,
            to_leader::Hello{SessionId{session}, keeper, offer_named(peer == ana ? "ana" : "bob"),
                             std::move(live), std::move(ended)});
    REQUIRE(sent_to<to_worker::Welcome>(peer).size() == 1);
    renew(peer, session, sent_to<to_worker::Welcome>(peer)[0]);
  }
  void renew(PeerId peer, std::uint64_t session, const to_worker::Welcome& welcome,
             std::uint64_t told = 0) {
    receive(peer, to_leader::Renew{SessionId{session}, welcome.leadership, welcome.opening,
                                   Moment{42}, told});
  }
  /// A peer that is known to be up, with a session of that number.
  void bring_up(PeerId peer, std::uint64_t session, const std::string& keeper) {
    open(peer, session, keeper);
    commit();
    REQUIRE(state.find_peer(peer));
  }
  JobId submit(OnLoss on_loss = OnLoss::wait) {
    command::Submit submit;
    submit.request = {0, ++requests};
    submit.job.spec.command = {"true"};
    submit.job.on_loss = on_loss;
    submit.job.lease = seconds(60);
    submit.at = Instant{now_ms};
    return *apply(submit).job;
  }
  Fence place(JobId job, PeerId peer) {
    command::Place place{job, {{TaskId{0}, TaskId{0}}, peer, {1, 0, {}, ""}}, Instant{now_ms}};
    const Applied applied = apply(place);
    REQUIRE(applied.placed.size() == 1);
    return state.find_attempt(applied.placed[0])->fence;
  }
  Fence placed_on(PeerId peer, OnLoss on_loss = OnLoss::wait) {
    return place(submit(on_loss), peer);
  }
  void tell(PeerId peer, std::uint64_t session, std::uint64_t number,
            std::variant<LiveAttempt, EndedAttempt> attempt) {
    receive(peer, to_leader::Told{SessionId{session}, number, std::move(attempt)});
  }
  EndedAttempt ended(const Fence& fence, Outcome outcome, bool outlived_lease = false) const {
    return {fence, Instant{now_ms}, std::move(outcome), Instant{now_ms}, outlived_lease};
  }
  std::optional<Outcome> outcome_of(JobId job) const { return state.outcome_of(job, TaskId{0}); }
};

using Fences = std::vector<Fence>;

/// A peer is up, and a new leader has begun: sessions are gone.
struct NewLeader : Scene {
  Fence attempt;
  explicit NewLeader(OnLoss on_loss = OnLoss::wait, bool started = false) {
    lead();
    bring_up(ana, 10, "k1");
    attempt = placed_on(ana, on_loss);
    if (started) apply(command::Start{attempt, Instant{now_ms}});
    proposed.clear();
    sent.clear();
    lead(6);
  }
};

}  // namespace gpl::coordinator_test
