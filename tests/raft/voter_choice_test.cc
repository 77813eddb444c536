// Who is to be a voter, as a table: the members, and the step that follows.

#include "gpl/raft/voter_choice.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

namespace gpl::raft {
namespace {

/// "1V 2 3b": node 1 is a voter, 2 a learner, 3 one on a battery. V voter, x does not answer, X for
/// ten minutes, l lags, g gives up, b on a battery, w by radio, y up for a shorter time than
/// others.
std::vector<MemberFacts> members(const std::string& text) {
  std::vector<MemberFacts> members;
  for (const char c : text) {
    if (c >= '1' && c <= '9') {
      MemberFacts facts;
      facts.id = NodeId{static_cast<std::uint64_t>(c - '0')};
      facts.answers = facts.caught_up = true;
      members.push_back(facts);
      continue;
    }
    if (c == ' ') continue;
    MemberFacts& facts = members.back();
    if (c == 'V') facts.is_voter = true;
    if (c == 'x' || c == 'X') {
      facts.answers = facts.caught_up = false;
      facts.silent_for = c == 'X' ? seconds(600) : seconds(30);
    }
    if (c == 'l') facts.caught_up = false;
    if (c == 'g') facts.gives_up = true;
    if (c == 'b') facts.on_battery = true;
    if (c == 'w') facts.wireless = true;
    if (c == 'y') facts.process_began = Instant{1000};
  }
  return members;
}

std::string name_of(const VoterStep& step) {
  const std::string node = " " + std::to_string(step.node.value);
  switch (step.kind) {
    case VoterStep::Kind::none:
      return "none";
    case VoterStep::Kind::promote:
      return "promote" + node;
    case VoterStep::Kind::demote:
      return "demote" + node;
    case VoterStep::Kind::hand_over:
      return "hand over" + node;
  }
  return "";
}

struct Row {
  const char* about;
  const char* members;  ///< node 1 leads
  const char* step;
};

constexpr Row rows[] = {
    {"one is alone", "1V", "none"},
    {"of two the second is a learner", "1V 2", "none"},
    {"three are voters", "1V 2 3", "promote 2"},
    {"one after the other", "1V 2V 3", "promote 3"},
    {"and that is enough", "1V 2V 3V 4 5 6", "none"},
    {"until there are seven", "1V 2V 3V 4 5 6 7", "promote 4"},
    {"five are the most", "1V 2V 3V 4V 5V 6 7 8 9", "none"},
    {"not before there are enough that can", "1V 2 3l", "none"},
    {"nor one that does not answer", "1V 2 3x", "none"},
    {"one that is behind for a moment takes no vote away", "1V 2V 3l", "none"},
    {"one that is silent for a moment neither", "1V 2V 3x", "none"},
    {"one that is gone does", "1V 2V 3X", "demote 2"},

    {"longest up first", "1V 2y 3 4y", "promote 3"},
    {"wired before radio", "1V 2w 3y 4", "promote 4"},
    {"radio before a battery", "1V 2b 3b 4w", "promote 4"},
    {"a battery rather than nothing", "1V 2b 3b", "promote 2"},
    {"not one that gives up", "1V 2g 3 4", "promote 3"},

    {"a dead voter stays for ten minutes", "1V 2V 3Vx 4", "none"},
    {"then it is replaced, adding first", "1V 2V 3VX 4", "promote 4"},
    {"and removed", "1V 2V 3VX 4V", "demote 3"},
    {"or stays where nobody can replace it", "1V 2V 3VX", "none"},
    {"also where that one lags", "1V 2V 3VX 4l", "none"},
    {"a dead learner stays a learner", "1V 2V 3V 4X", "none"},

    {"too many: the least fit goes", "1V 2V 3Vw 4Vy", "demote 3"},
    {"never the leader for that", "1Vy 2V", "demote 2"},
    {"one that does not answer before others", "1V 2V 3Vx 4Vx 5V", "demote 4"},
    {"whether that is new or not", "1V 2V 3VX 4VX 5V 6X 7X", "demote 4"},
    {"one that gives up is replaced first", "1V 2V 3Vg 4", "promote 4"},
    {"and goes", "1V 2V 3Vg 4V", "demote 3"},
    {"without a replacement it goes all the same", "1V 2V 3Vg", "demote 3"},
    {"and another, as two are worse than one", "1V 2V 3g", "demote 2"},
    {"but not while the rest could commit nothing without it", "1V 2Vg 3Vx", "demote 3"},

    {"a leader that gives up hands over", "1Vg 2V 3V", "hand over 2"},
    {"to the fittest", "1Vg 2Vb 3V 4V", "hand over 3"},
    {"that has caught up", "1Vg 2Vl 3Vx 4V", "hand over 4"},
    {"after it has added one to hand over to", "1Vg 2", "promote 2"},
    {"for which it waits", "1Vg 2Vl", "none"},
    {"and there may be nobody", "1Vg 2x", "none"},

    {"a laptop that leads brings in a better one", "1Vb 2", "promote 2"},
    {"hands over to it", "1Vb 2V", "hand over 2"},
    {"when that has caught up", "1Vb 2Vl", "none"},
    {"and is a learner then", "1V 2Vb", "demote 2"},
    {"for good", "1V 2b", "none"},
    {"among laptops nothing changes", "1Vb 2b", "none"},
    {"nor among three", "1Vb 2Vb 3Vb", "none"},
    {"a voter on a battery is replaced too", "1V 2V 3Vb 4", "promote 4"},
    {"and goes after that", "1V 2V 3Vb 4V", "demote 3"},
    {"radio is no reason to change", "1V 2V 3Vw 4", "none"},
};

}  // namespace

TEST_CASE("who is made a voter, who is not any more, and who leads") {
  for (const Row& row : rows) {
    const std::string about = row.about;
    CAPTURE(about);
    CHECK(name_of(next_voter_step(members(row.members), NodeId{1})) == std::string(row.step));
  }
}

TEST_CASE("one or two members have one voter, three have three, seven have five") {
  const std::size_t wanted[] = {1, 1, 1, 3, 3, 3, 3, 5, 5, 5};
  for (std::size_t n = 0; n < std::size(wanted); ++n) CHECK(wanted_voters(n) == wanted[n]);
}

TEST_CASE("step by step it comes to rest, and never takes the majority away") {
  CHECK(rc::check([] {
    std::vector<MemberFacts> all;
    const auto count = *rc::gen::inRange<std::uint64_t>(1, 10);
    for (std::uint64_t id = 1; id <= count; ++id) {
      MemberFacts facts;
      facts.id = NodeId{id};
      facts.is_voter = id == 1 || *rc::gen::arbitrary<bool>();
      facts.answers = id == 1 || *rc::gen::arbitrary<bool>();
      facts.caught_up = facts.answers && (id == 1 || *rc::gen::arbitrary<bool>());
      if (!facts.answers) facts.silent_for = seconds(*rc::gen::element(5, 700));
      facts.gives_up = *rc::gen::inRange(0, 5) == 0;
      facts.on_battery = *rc::gen::arbitrary<bool>();
      facts.wireless = *rc::gen::arbitrary<bool>();
      facts.process_began = Instant{*rc::gen::inRange<std::int64_t>(0, 4)};
      all.push_back(facts);
    }
    NodeId leader{1};
    const auto has_majority = [&] {
      const auto voters = std::count_if(all.begin(), all.end(), [](auto& m) { return m.is_voter; });
      const auto answering =
          std::count_if(all.begin(), all.end(), [](auto& m) { return m.is_voter && m.answers; });
      return answering >= voters / 2 + 1;
    };
    RC_PRE(has_majority());
    for (int steps = 0;; ++steps) {
      RC_ASSERT(steps < 40);
      const VoterStep step = next_voter_step(all, leader);
      if (step.kind == VoterStep::Kind::none) break;
      MemberFacts& member =
          *std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.id == step.node; });
      switch (step.kind) {
        case VoterStep::Kind::none:
          break;
        case VoterStep::Kind::promote:
          RC_ASSERT(!member.is_voter && member.answers && member.caught_up && !member.gives_up);
          member.is_voter = true;
          break;
        case VoterStep::Kind::demote:
          RC_ASSERT(member.is_voter && member.id != leader);
          member.is_voter = false;
          break;
        case VoterStep::Kind::hand_over:
          RC_ASSERT(member.is_voter && member.answers && member.caught_up && member.id != leader);
          leader = member.id;
          break;
      }
      RC_ASSERT(has_majority());
    }
  }));
}

}  // namespace gpl::raft
