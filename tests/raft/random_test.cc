// Nodes under random faults, with the checks of network.h after every event.

#include "effort.h"
#include "network.h"

namespace gpl::raft::test {
namespace {

/// How often things happen, in 1,000 steps. Drawn for each seed, so that some have slow disks, some
/// many crashes, some hardly any messages that come through.
struct Climate {
  explicit Climate(Prng& random)
      : sync(random.between(30, 300)),
        tick(random.between(50, 250)),
        proposal(random.between(5, 100)),
        crash(random.below(20)),
        cut(random.below(5)),
        heal(random.between(2, 10)),
        snapshot(random.below(10)),
        handover(random.below(4)),
        change(random.below(30)),
        loss(random.below(40)),
        kept(random.below(50)) {}

  std::uint64_t sync, tick, proposal, crash, cut, heal, snapshot, handover, change;
  std::uint64_t loss;  ///< in 100 messages
  std::size_t kept;    ///< entries before a snapshot
};

/// One run: a network, and a stream of random numbers that decides what happens.
class Storm {
 public:
  Storm(std::uint64_t nodes, std::uint64_t seed)
      : random_(seed), climate_(random_), network_(nodes, options(climate_), seed), nodes_(nodes) {
    for (auto& [id, host] : network_.hosts()) host.syncs = false;
  }

  std::string run(int steps) {
    for (int i = 0; i < steps && network_.violation.empty(); ++i) step();
    if (network_.violation.empty()) calm();
    return network_.violation;
  }
  std::size_t committed() const { return network_.committed().size(); }
  std::size_t terms() const { return network_.terms_led(); }

 private:
  static Options options(const Climate& climate) {
    Options options;
    options.kept_entries = climate.kept;
    options.long_kept_entries = 2 * climate.kept;
    options.election_timeout = milliseconds(100);
    options.heartbeat = milliseconds(20);
    options.append_limit_bytes = 300;
    options.inflight_limit = 4;
    options.snapshot_piece_bytes = 200;
    return options;
  }

  NodeId any() { return node(random_.between(1, nodes_)); }

  /// Takes so much off the dice; true: it was this one's turn.
  bool is_turn(std::uint64_t& dice, std::uint64_t weight) {
    if (dice < weight) return true;
    dice -= weight;
    return false;
  }

  void step() {
    std::uint64_t dice = random_.below(1000);
    const NodeId id = any();
    Host& host = network_.host(id);
    if (!host.node) {
      if (dice < 200) network_.restart(id);
    } else if (is_turn(dice, climate_.sync)) {
      network_.sync(id);
    } else if (is_turn(dice, climate_.tick)) {
      network_.pass(milliseconds(static_cast<std::int64_t>(random_.below(10))));
      if (network_.at(id).wake_at() <= network_.now()) network_.tick(id);
    } else if (is_turn(dice, climate_.proposal)) {
      network_.propose(id, std::to_string(++proposals_) + std::string(random_.below(60), 'x'));
    } else if (is_turn(dice, climate_.crash)) {
      if (random_.one_in(2)) network_.tear(id, random_.below(4));
      network_.crash(id);
    } else {
      disturb(id, host, dice);
    }
  }

  void disturb(NodeId id, Host& host, std::uint64_t dice) {
    if (is_turn(dice, climate_.cut)) {
      random_.one_in(4) ? network_.cut_off(id) : network_.cut(id, any());
    } else if (is_turn(dice, climate_.heal)) {
      network_.heal();
    } else if (is_turn(dice, climate_.snapshot)) {
      network_.save_snapshot(id);
    } else if (is_turn(dice, climate_.handover)) {
      (void)network_.at(id).transfer(network_.now(), any());
      network_.tick(id);
    } else if (is_turn(dice, climate_.change)) {
      change(id, any());
      network_.tick(id);
    } else if (!host.reads.empty()) {
      network_.read(id);
    } else {
      deliver_any();
    }
  }

  void change(NodeId leader, NodeId id) {
    Node& at = network_.at(leader);
    const Configuration& configuration = at.configuration();
    if (!configuration.contains(id)) {
      (void)at.add_learner(network_.now(), id);
    } else if (configuration.is_learner(id)) {
      (void)at.promote(network_.now(), id);
    } else if (configuration.voters.size() > 1) {
      (void)at.remove(network_.now(), id);
    }
  }

  void deliver_any() {
    std::deque<Message>& wire = network_.wire();
    if (wire.empty()) return;
    while (wire.size() > 100) wire.pop_front();  // as if time had passed by them
    const std::size_t place = random_.below(std::min<std::size_t>(wire.size(), 20));
    const auto at = wire.begin() + static_cast<std::ptrdiff_t>(place);
    Message message = *at;
    if (!random_.one_in(20)) wire.erase(at);  // else it comes twice
    if (random_.below(100) >= climate_.loss) network_.deliver(std::move(message));
  }

  /// Without faults all is well in the end: one leads, a command commits, all members have it.
  void calm() {
    network_.heal();
    for (auto& [id, host] : network_.hosts()) {
      if (!host.node) network_.restart(id);
      host.syncs = true;
      network_.sync_all(id);
    }
    network_.run(seconds(20));
    const NodeId leader = network_.leader();
    if (!network_.violation.empty()) return;
    if (leader == NodeId{}) {
      network_.violation = "nobody leads in the end";
      return;
    }
    const Index last = network_.propose(leader, "the last");
    network_.run(seconds(5));
    for (const std::vector<NodeId>& members : {network_.at(leader).configuration().voters,
                                               network_.at(leader).configuration().learners}) {
      for (const NodeId id : members) {
        if (last == 0 || network_.at(id).synced_index() < last ||
            network_.host(id).applied.back().index < last) {
          network_.violation = "node " + std::to_string(id.value) + " lacks the last command";
        }
      }
    }
  }

  Prng random_;
  Climate climate_;
  Network network_;
  std::uint64_t nodes_;
  std::uint64_t proposals_ = 0;
};

void weather(std::uint64_t nodes, std::uint64_t seeds, int steps) {
  std::size_t committed = 0;
  std::size_t terms = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Storm storm(nodes, seed);
    const std::string violation = storm.run(steps);
    CHECK_MESSAGE(violation.empty(), violation, ", ", nodes, " nodes, seed ", seed);
    committed += storm.committed();
    terms += storm.terms();
  }
  MESSAGE(nodes, " nodes: ", committed, " committed, ", terms, " terms led");
  // A storm in which nothing gets done shows nothing.
  CHECK(committed > seeds * 20);
  CHECK(terms > seeds * 5);
}

}  // namespace

TEST_CASE("three nodes in a storm agree on what is committed, and recover") {
  weather(3, 50 * effort(), 10000);
}

TEST_CASE("five nodes in a storm agree on what is committed, and recover") {
  weather(5, 50 * effort(), 10000);
}

}  // namespace gpl::raft::test
