#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../net/run_until.h"
#include "../temporary_folder.h"
#include "gpl/peer/consensus.h"

namespace gpl::peer::test {

inline command::Submit submit_by(PeerId peer, std::uint64_t request) {
  JobDescription job;
  job.spec.command = {"true"};
  return {{peer.value, request}, {"", peer, 1000}, std::move(job), {}, Instant{1'000}};
}

/// Peers in one process, each with a log on disk, and links between them that are made and cut.
class ConsensusNetwork {
 public:
  struct Member {
    PeerId peer;
    TemporaryFolder folder;
    bool founded = false;  ///< there is a log
    wire::LinkHello hello;
    std::unique_ptr<Consensus> consensus;
    int ready = 0;
    std::function<void()> on_ready;
    int leader_changes = 0;
    std::vector<raft::Index> applied;
    std::vector<LeaderToWorker> to_worker;
    std::vector<std::string> closed;
    std::vector<std::string> notes;

    const ClusterState& state() const { return *consensus->state(); }
  };

  std::unique_ptr<net::Loop> loop = make_loop();
  /// A message for which it holds is lost.
  std::function<bool(PeerId from, PeerId to, const wire::LinkMessage&)> loses =
      [](PeerId, PeerId, const wire::LinkMessage&) { return false; };
  std::function<void(ConsensusOptions&)> change = [](ConsensusOptions&) {};

  ~ConsensusNetwork() {
    for (auto& [peer, member] : members_) member->consensus.reset();
  }

  Member& at(std::uint64_t peer) { return *members_.at(PeerId{peer}); }
  Consensus& operator[](std::uint64_t peer) { return *at(peer).consensus; }

  /// A machine that does not run yet; longer up than those added later.
  Member& add(std::uint64_t number) {
    auto member = std::make_unique<Member>();
    member->peer = PeerId{number};
    member->hello.peer = member->peer;
    member->hello.process_began = Instant{static_cast<std::int64_t>(1000 + number)};
    return *(members_[PeerId{number}] = std::move(member));
  }
  void open(Member& member, bool found) {
    ConsensusOptions options;
    options.folder = member.folder / "log";
    options.node = node_of(member.peer);
    options.found = found && !member.founded;
    options.join = !found && !member.founded;
    options.segment_bytes = 256 * 1024;
    options.standing = {member.hello.on_battery, member.hello.wireless, member.hello.process_began};
    change(options);
    Consensus::Told told;
    told.applied = [&member](const AppliedEntry& entry) { member.applied.push_back(entry.index); };
    told.ready = [&member] {
      ++member.ready;
      if (member.on_ready) member.on_ready();
    };
    told.leader_changed = [&member] { ++member.leader_changes; };
    told.to_worker = [&member](const LeaderToWorker& message) {
      member.to_worker.push_back(message);
    };
    told.note = [&member](const std::string& note) { member.notes.push_back(note); };
    told.closed = [&member](const Error& error) { member.closed.push_back(error.message); };
    auto opened = Consensus::open(
        *loop, std::move(options), [](const ClusterState&, Instant) { return Placements{}; },
        reach_of(member.peer), std::move(told));
    REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error().message));
    member.consensus = std::move(opened).value();
    member.founded = true;
  }
  Member& found(std::uint64_t number) {
    Member& member = add(number);
    open(member, true);
    return member;
  }
  /// Linked with all that run.
  Member& join(std::uint64_t number) {
    Member& member = add(number);
    open(member, false);
    link_all(number);
    return member;
  }
  /// So many, founded by the first one, and as many voters as are wanted of them.
  void grow(std::uint64_t count) {
    found(1);
    for (std::uint64_t number = 2; number <= count; ++number) join(number);
    const std::size_t voters = raft::wanted_voters(count);
    until([&] {
      for (std::uint64_t number = 1; number <= count; ++number) {
        const ConsensusFacts facts = (*this)[number].facts();
        if (!is_ready(number) || facts.voters.size() != voters ||
            facts.learners.size() != count - voters)
          return false;
      }
      return agree();
    });
  }
  /// As kill -9 does it.
  void kill(std::uint64_t number) {
    at(number).consensus.reset();
    const auto links = std::exchange(links_, {});
    for (const auto& [a, b] : links)
      if (a != PeerId{number} && b != PeerId{number}) links_.insert({a, b});
    for (const auto& [a, b] : links) {
      if (a == PeerId{number} && b != a) changed(b, a);
      if (b == PeerId{number}) changed(a, b);
    }
  }
  void restart(std::uint64_t number) {
    at(number).ready = 0;
    open(at(number), false);
    link_all(number);
  }

  void link(std::uint64_t a, std::uint64_t b) {
    links_.insert({PeerId{std::min(a, b)}, PeerId{std::max(a, b)}});
    changed(PeerId{a}, PeerId{b});
    changed(PeerId{b}, PeerId{a});
  }
  void unlink(std::uint64_t a, std::uint64_t b) {
    links_.erase({PeerId{std::min(a, b)}, PeerId{std::max(a, b)}});
    changed(PeerId{a}, PeerId{b});
    changed(PeerId{b}, PeerId{a});
  }
  void link_all(std::uint64_t number) {
    for (auto& [peer, other] : members_)
      if (peer != PeerId{number} && other->consensus) link(number, peer.value);
  }
  void unlink_all(std::uint64_t number) {
    for (auto& [peer, other] : members_)
      if (peer != PeerId{number}) unlink(number, peer.value);
  }
  bool is_linked(PeerId a, PeerId b) const {
    return links_.contains({std::min(a, b), std::max(a, b)});
  }

  template <class Condition>
  void until(Condition holds) {
    const Moment end = loop->now() + failure_stop;
    while (!holds()) {
      REQUIRE(loop->now() < end);
      loop->run_one(milliseconds(200));
    }
  }
  void run_for(Duration duration) {
    const Moment end = loop->now() + duration;
    while (loop->now() < end) loop->run_one(end - loop->now());
  }
  bool is_ready(std::uint64_t number) { return (*this)[number].state() != nullptr; }
  /// All that run have the same state.
  bool agree() {
    std::set<std::uint64_t> digests;
    for (auto& [peer, member] : members_) {
      if (!member->consensus) continue;
      if (member->consensus->state() == nullptr) return false;
      digests.insert(member->state().digest());
    }
    return digests.size() == 1;
  }
  /// 0: nobody.
  std::uint64_t leader() const {
    for (const auto& [peer, member] : members_)
      if (member->consensus && member->consensus->leads()) return peer.value;
    return 0;
  }
  Result<Applied> propose(std::uint64_t number, Command command) {
    std::optional<Result<Applied>> answer;
    (*this)[number].propose(std::move(command),
                            [&](Result<Applied> result) { answer.emplace(std::move(result)); });
    CHECK_FALSE(answer.has_value());  // never from within
    until([&] { return answer.has_value(); });
    return std::move(*answer);
  }
  JobId make_job(std::uint64_t number, std::uint64_t request) {
    const auto applied = propose(number, submit_by(PeerId{number}, request));
    REQUIRE_MESSAGE(applied.ok(), (applied.ok() ? "" : applied.error().message));
    return applied.value().job.value();
  }
  Status give_up(std::uint64_t number, bool leave, Duration at_most = seconds(20)) {
    std::optional<Status> answer;
    (*this)[number].give_up(leave, at_most,
                            [&](Status status) { answer.emplace(std::move(status)); });
    until([&] { return answer.has_value(); });
    return *answer;
  }

 private:
  Reach reach_of(PeerId self) {
    Reach reach;
    reach.up = [this, self] {
      std::vector<PeerId> up;
      for (const auto& [peer, member] : members_)
        if (peer != self && is_linked(self, peer)) up.push_back(peer);
      return up;
    };
    reach.send = [this, self](PeerId to, wire::LinkMessage message) {
      if (!is_linked(self, to) || loses(self, to, message)) return;
      loop->post([this, self, to, message = std::move(message)] {
        const auto found = members_.find(to);
        if (found == members_.end() || !found->second->consensus || !is_linked(self, to)) return;
        found->second->consensus->take(self, message);
      });
    };
    reach.hello_of = [this, self](PeerId peer) -> const wire::LinkHello* {
      return is_linked(self, peer) ? &members_.at(peer)->hello : nullptr;
    };
    return reach;
  }
  void changed(PeerId self, PeerId other) {
    Member& member = *members_.at(self);
    if (member.consensus) member.consensus->link_changed(other);
  }

  std::map<PeerId, std::unique_ptr<Member>> members_;
  std::set<std::pair<PeerId, PeerId>> links_;
};

}  // namespace gpl::peer::test
