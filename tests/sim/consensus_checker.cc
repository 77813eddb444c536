#include "sim/consensus_checker.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "sim/describe.h"

namespace gpl::sim {

namespace {

std::uint64_t hash_of(const raft::Entry& entry) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto mix = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  mix(static_cast<unsigned char>(entry.kind));
  for (const char c : entry.data) mix(static_cast<unsigned char>(c));
  return hash;
}

std::string at(raft::Index index, raft::Term term) {
  return std::to_string(index) + " of term " + std::to_string(term);
}

}  // namespace

void ConsensusChecker::promise(raft::NodeId id, raft::Term term) {
  auto& promised = promises_[id].term;
  if (term < promised)
    world_.violate(name_of(id) + " speaks for term " + std::to_string(term) +
                   " after it stood by term " + std::to_string(promised));
  promised = std::max(promised, term);
}

void ConsensusChecker::vote(raft::NodeId id, raft::Term term, raft::NodeId candidate) {
  promise(id, term);
  const auto [given, first] = promises_[id].votes.try_emplace(term, candidate);
  if (!first && given->second != candidate)
    world_.violate(name_of(id) + " votes for " + name_of(candidate) + " in term " +
                   std::to_string(term) + ", after a vote for " + name_of(given->second));
}

/// An index and a term name one content: a leader makes each entry once.
void ConsensusChecker::entries_sent(raft::NodeId from, const std::vector<raft::Entry>& entries) {
  for (const auto& entry : entries) {
    const auto hash = hash_of(entry);
    const auto [known, first] = contents_.try_emplace({entry.index, entry.term}, hash);
    if (!first && known->second != hash)
      world_.violate("two contents of entry " + at(entry.index, entry.term) + ", one sent by " +
                     name_of(from));
  }
}

void ConsensusChecker::sent(const raft::Message& message) {
  if (std::holds_alternative<raft::VoteRequest>(message.body)) {
    vote(message.from, message.term, message.from);
  } else if (const auto* reply = std::get_if<raft::VoteReply>(&message.body)) {
    if (reply->granted) vote(message.from, message.term, message.to);
  } else if (const auto* append = std::get_if<raft::Append>(&message.body)) {
    promise(message.from, message.term);
    entries_sent(message.from, append->entries);
  } else if (const auto* answer = std::get_if<raft::AppendReply>(&message.body)) {
    if (answer->accepted) promise(message.from, message.term);
  }
}

void ConsensusChecker::started(const raft::Node& node, raft::Index applied, std::uint64_t digest) {
  const auto promised = promises_[node.id()].term;
  if (node.term() < promised)
    world_.violate(name_of(node.id()) + " restarts in term " + std::to_string(node.term()) +
                   " and had spoken for term " + std::to_string(promised));
  commit_seen_[node.id()] = 0;
  applied_seen_[node.id()] = applied;
  same_state(node.id(), applied, digest);
}

void ConsensusChecker::applied(raft::NodeId id, const peer::AppliedEntry& entry,
                               std::uint64_t digest) {
  auto& seen = applied_seen_[id];
  if (entry.index != seen + 1)
    world_.violate(name_of(id) + " applies entry " + std::to_string(entry.index) + " after " +
                   std::to_string(seen));
  seen = entry.index;
  if (committed_.size() < entry.index) committed_.resize(entry.index);
  auto& known = committed_[entry.index - 1];
  if (known.term != 0 && known.term != entry.term)
    world_.violate(name_of(id) + " applies entry " + at(entry.index, entry.term) +
                   ", which was committed with term " + std::to_string(known.term));
  if (known.term == 0) world_.count(Figure::commits);
  known.term = entry.term;
  if (!known.applied) {
    known.applied = true;
    known.entry = entry;
    known.digest = digest;
    return;
  }
  if (known.entry.commands != entry.commands)
    world_.violate(name_of(id) + " applies other commands at entry " + std::to_string(entry.index));
  if (known.entry.results != entry.results)
    world_.violate(name_of(id) + " has other results at entry " + std::to_string(entry.index));
  same_state(id, entry.index, digest);
}

void ConsensusChecker::restored(raft::NodeId id, raft::Index applied, std::uint64_t digest) {
  world_.count(Figure::snapshots_installed);
  auto& seen = applied_seen_[id];
  if (applied <= seen)
    world_.violate(name_of(id) + " goes back from entry " + std::to_string(seen) +
                   " to the snapshot of entry " + std::to_string(applied));
  seen = applied;
  same_state(id, applied, digest);
}

void ConsensusChecker::same_state(raft::NodeId id, raft::Index applied, std::uint64_t digest) {
  if (applied == 0) return;
  if (committed_.size() < applied || !committed_[applied - 1].applied) {
    world_.violate(name_of(id) + " has the state of entry " + std::to_string(applied) +
                   ", which nobody has applied");
  } else if (committed_[applied - 1].digest != digest) {
    world_.violate(name_of(id) + " has another state than others at entry " +
                   std::to_string(applied));
  }
}

void ConsensusChecker::commits(const raft::Node& node, raft::Index index, raft::Term term) {
  if (committed_.size() < index) committed_.resize(index);
  auto& known = committed_[index - 1];
  if (known.term != 0 && known.term != term)
    world_.violate(name_of(node.id()) + " commits entry " + at(index, term) +
                   ", which was committed with term " + std::to_string(known.term));
  if (known.term == 0) world_.count(Figure::commits);
  known.term = term;
  // The leader is the first to know.
  if (known.in_term == 0) known.in_term = node.term();
}

/// Leader completeness: it has all that was committed before.
void ConsensusChecker::leads(const raft::Node& node) {
  const auto [leader, first] = leaders_.try_emplace(node.term(), node.id());
  if (leader->second != node.id())
    world_.violate("two leaders in term " + std::to_string(node.term()) + ": " +
                   name_of(leader->second) + " and " + name_of(node.id()));
  if (!first) return;
  world_.count(Figure::elections);
  for (auto index = node.first_index(); index <= committed_.size(); ++index) {
    const auto& known = committed_[index - 1];
    if (known.in_term == 0 || known.in_term >= node.term()) continue;
    if (node.term_at(index) != known.term)
      world_.violate(name_of(node.id()) + " leads term " + std::to_string(node.term()) +
                     " without entry " + at(index, known.term) + ", which was committed");
  }
}

void ConsensusChecker::after_event(const raft::Node& node) {
  if (node.role() == raft::Role::leader) leads(node);
  auto& seen = commit_seen_[node.id()];
  for (auto index = std::max(seen + 1, node.first_index()); index <= node.commit_index(); ++index) {
    const auto term = node.term_at(index);
    if (!term) {
      world_.violate(name_of(node.id()) + " has committed entry " + std::to_string(index) +
                     ", which it does not have");
      return;
    }
    commits(node, index, *term);
  }
  seen = std::max(seen, node.commit_index());
}

}  // namespace gpl::sim
