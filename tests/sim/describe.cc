#include "sim/describe.h"

#include <variant>

namespace gpl::sim {

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }
std::string place(raft::Index index, raft::Term term) { return number(index) + "/" + number(term); }

struct Describe {
  std::string operator()(const raft::PreVoteRequest& m) const {
    return "pre-vote? log " + place(m.last_index, m.last_term);
  }
  std::string operator()(const raft::PreVoteReply& m) const {
    return m.granted ? "pre-vote yes" : "pre-vote no";
  }
  std::string operator()(const raft::VoteRequest& m) const {
    return std::string(m.transfer ? "vote (transfer)?" : "vote?") + " log " +
           place(m.last_index, m.last_term);
  }
  std::string operator()(const raft::VoteReply& m) const {
    return m.granted ? "vote yes" : "vote no";
  }
  std::string operator()(const raft::Append& m) const {
    std::string what = "heartbeat";
    if (!m.entries.empty()) {
      what = "append";
      for (const auto& entry : m.entries) what += " " + place(entry.index, entry.term);
    }
    return what + " after " + place(m.previous_index, m.previous_term) + " commit " +
           number(m.commit) + " round " + number(m.round);
  }
  std::string operator()(const raft::AppendReply& m) const {
    return (m.accepted ? "accepted to " + number(m.match)
                       : "refused, hint " + place(m.hint, m.hint_term)) +
           " round " + number(m.round);
  }
  std::string operator()(const raft::InstallSnapshot& m) const {
    return "snapshot " + place(m.mark.index, m.mark.term) + " from byte " + number(m.offset) + "+" +
           number(m.data.size()) + (m.last ? " last" : "");
  }
  std::string operator()(const raft::InstallSnapshotReply& m) const {
    return "snapshot " + number(m.index) +
           (m.installed ? " installed" : " next byte " + number(m.next_offset));
  }
  std::string operator()(const raft::TimeoutNow&) const { return "campaign now"; }
};

}  // namespace

std::string name_of(raft::NodeId id) { return "n" + number(id.value); }

std::string describe(const raft::Message& message) {
  return name_of(message.from) + " -> " + name_of(message.to) + " term " + number(message.term) +
         ": " + std::visit(Describe{}, message.body);
}

std::string describe(const raft::Configuration& configuration) {
  std::string text = "voters";
  for (const auto id : configuration.voters) text += " " + name_of(id);
  if (configuration.learners.empty()) return text;
  text += ", learners";
  for (const auto id : configuration.learners) text += " " + name_of(id);
  return text;
}

}  // namespace gpl::sim
