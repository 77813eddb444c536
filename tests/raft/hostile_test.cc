// Messages that no node that is well would send: dropped, and no harm done.

#include "network.h"

namespace gpl::raft::test {
namespace {

/// Bodies with numbers that are near to what is, near to each other, or at the ends of their range.
class Babbler {
 public:
  explicit Babbler(std::uint64_t seed) : random_(seed) {}

  Message message(std::uint64_t nodes) {
    return {node(random_.below(nodes + 2)), node(random_.between(1, nodes)), number(), body()};
  }

 private:
  std::uint64_t number() {
    switch (random_.below(8)) {
      case 0:
        return 0;
      case 1:
        return ~std::uint64_t{0} - random_.below(3);
      case 2:
        return (std::uint64_t{1} << 62) - random_.below(3);
      case 3:
        return (std::uint64_t{1} << 63) + random_.below(3);
      default:
        return random_.below(12);
    }
  }
  bool coin() { return random_.one_in(2); }

  Configuration configuration() {
    Configuration made;
    for (std::uint64_t i = random_.below(4); i > 0; --i) made.voters.push_back(node(number()));
    for (std::uint64_t i = random_.below(2); i > 0; --i) made.learners.push_back(node(number()));
    return made;
  }
  SnapshotMark mark() { return {number(), number(), configuration()}; }

  std::vector<Entry> entries(Index after) {
    std::vector<Entry> made;
    for (std::uint64_t i = random_.below(4); i > 0; --i) {
      const Index index = random_.one_in(10) ? number() : ++after;
      const auto kind = static_cast<EntryKind>(random_.below(3));
      made.push_back({index, number(), kind, coin() ? encode(configuration()) : "x"});
    }
    return made;
  }

  Body body() {
    const Index previous = number();
    switch (random_.below(9)) {
      case 0:
        return PreVoteRequest{number(), number()};
      case 1:
        return PreVoteReply{coin()};
      case 2:
        return VoteRequest{number(), number(), coin()};
      case 3:
        return VoteReply{coin()};
      case 4:
        return Append{previous, number(), number(), number(), entries(previous)};
      case 5:
        return AppendReply{coin(), number(), number(), number(), number()};
      case 6:
        return InstallSnapshot{mark(), number(), coin() ? "x" : "", coin(), number()};
      case 7:
        return InstallSnapshotReply{number(), number(), coin(), number()};
      default:
        return TimeoutNow{};
    }
  }

  Prng random_;
};

}  // namespace

TEST_CASE("whatever is sent in whatever order, a node goes on") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Options options;
    options.election_timeout = milliseconds(50);
    options.heartbeat = milliseconds(10);
    Network net(3, options, seed);
    for (auto& [id, host] : net.hosts()) host.installs = false;
    Babbler babbler(seed);
    Prng random(seed);
    for (int i = 0; i < 500; ++i) {
      Message message = babbler.message(3);
      // Half of them are of the right term: the others end early.
      if (random.one_in(2)) message.term = net.at(message.to).term();
      net.deliver(std::move(message));
      if (random.one_in(5)) net.propose(node(1), "x");
      if (random.one_in(10)) net.run(milliseconds(10));
      if (random.one_in(50)) net.save_snapshot(node(1));
    }
    for (auto& [id, host] : net.hosts()) {
      CHECK(host.node->term() < (std::uint64_t{1} << 62));
      CHECK(host.node->commit_index() <= host.node->last_index());
      CHECK(host.node->synced_index() <= host.node->last_index());
    }
  }
}

TEST_CASE("entries that conflict with what is committed are refused, and nothing is cut") {
  Network net(3);
  net.elect(node(1));
  for (int i = 0; i < 4; ++i) net.propose(node(1), "x");
  net.settle();
  REQUIRE(net.at(node(3)).commit_index() == 5);
  const std::vector<Append> conflicts = {
      {2, 1, 9, 1, {{3, 2, EntryKind::command, "other"}}},
      {1, 1, 9, 1, {{2, 1, EntryKind::command, "x"}, {3, 2, EntryKind::command, "other"}}},
      {4, 2, 9, 1, {{5, 2, EntryKind::command, "other"}}},
      {5, 2, 9, 1, {}},
  };
  for (const Append& append : conflicts) {
    net.deliver({node(2), node(3), 2, append});
    CHECK(net.wire().empty());
    CHECK(net.at(node(3)).last_index() == 5);
    CHECK(net.at(node(3)).term_at(3) == Term{1});
  }
}

TEST_CASE("entries with gaps, of wrong terms, too large or that do not decode are not taken") {
  Network net(3);
  net.elect(node(1));
  net.cut_off(node(3));
  net.pass(seconds(5));
  net.heal();
  const std::string large(entry_limit_bytes + 1, 'x');
  const std::vector<std::vector<Entry>> wrong = {
      {{3, 2, EntryKind::command, "x"}},
      {{2, 2, EntryKind::command, "x"}, {4, 2, EntryKind::command, "x"}},
      {{2, 2, EntryKind::command, "x"}, {3, 1, EntryKind::command, "x"}},
      {{2, 3, EntryKind::command, "x"}},
      {{2, 2, EntryKind::command, large}},
      {{2, 2, EntryKind::configuration, "x"}},
  };
  for (const std::vector<Entry>& entries : wrong) {
    net.deliver({node(2), node(3), 2, Append{1, 1, 0, 1, entries}});
    CHECK(net.at(node(3)).last_index() == 1);
    CHECK(net.wire().empty());
  }
  net.deliver({node(2), node(3), 2, Append{1, 1, 0, 1, {{2, 2, EntryKind::command, "x"}}}});
  CHECK(net.at(node(3)).last_index() == 2);
}

TEST_CASE("snapshots whose mark makes no sense, and pieces of nothing, are not written") {
  Network net(3);
  net.elect(node(1));
  const std::vector<InstallSnapshot> wrong = {
      {{9, 1, {{node(2), node(1)}, {}}}, 0, "x", false, 1},
      {{9, 1, {{node(1)}, {node(1)}}}, 0, "x", false, 1},
      {{9, 2, voters(3)}, 0, "x", false, 1},
      {{~Index{0}, 1, voters(3)}, 0, "x", false, 1},
      {{9, 1, voters(3)}, 0, "", false, 1},
  };
  for (const InstallSnapshot& piece : wrong) {
    net.deliver({node(1), node(3), 1, piece});
    CHECK(net.host(node(3)).arriving.empty());
    CHECK(net.wire().empty());
  }
}

TEST_CASE("of two leaders in a term the first is believed, and a leader believes none") {
  Network net(3);
  net.elect(node(1));
  net.deliver({node(2), node(3), 1, Append{1, 1, 0, 1, {{2, 1, EntryKind::command, "x"}}}});
  net.deliver({node(2), node(1), 1, Append{1, 1, 0, 1, {{2, 1, EntryKind::command, "x"}}}});
  CHECK(net.at(node(3)).last_index() == 1);
  CHECK(net.at(node(1)).last_index() == 1);
  CHECK(net.at(node(1)).role() == Role::leader);
}

TEST_CASE("acknowledgements of what there is not commit nothing") {
  Network net(3);
  net.elect(node(1));
  for (const Index match : {Index{2}, Index{99}, ~Index{0}}) {
    net.deliver({node(2), node(1), 1, AppendReply{true, match, 0, 0, 1}});
  }
  CHECK(net.at(node(1)).commit_index() == 1);
  net.propose(node(1), "x");
  net.settle();
  CHECK(net.at(node(1)).commit_index() == 2);
}

TEST_CASE("votes of nodes that are no voters, and doubled votes, elect nobody") {
  Network net(5);
  net.loses = [](const Message& message) { return is<VoteReply>(message); };
  net.elect(node(1));
  net.loses = [](const Message&) { return false; };
  REQUIRE(net.at(node(1)).role() == Role::candidate);
  const Term term = net.at(node(1)).term();
  for (const std::uint64_t id : {2u, 2u, 2u, 7u, 8u}) {
    net.deliver({node(id), node(1), term, VoteReply{true}});
  }
  CHECK(net.at(node(1)).role() == Role::candidate);
  net.deliver({node(3), node(1), term, VoteReply{true}});
  CHECK(net.at(node(1)).role() == Role::leader);
}

TEST_CASE("messages to others, from itself and from nobody are dropped") {
  Network net(3);
  net.at(node(1)).receive(net.now(), {node(2), node(3), 9, VoteRequest{9, 9, true}});
  net.at(node(1)).receive(net.now(), {node(1), node(1), 9, VoteRequest{9, 9, true}});
  net.at(node(1)).receive(net.now(), {NodeId{}, node(1), 9, VoteRequest{9, 9, true}});
  CHECK(net.at(node(1)).term() == 0);
  CHECK(net.at(node(1)).take_output().empty());
}

}  // namespace gpl::raft::test
