#include "gpl/peer/leader.h"

#include <utility>

namespace gpl::peer {
namespace {

/// More is dropped: whoever is not answered says it again.
constexpr std::size_t most_early = 4096;

}  // namespace

Leader::Leader(Replica& replica, const Clock& clock, PlacementRule rule, CoordinatorOptions options,
               Send send)
    : replica_(replica),
      clock_(clock),
      send_(std::move(send)),
      coordinator_(std::move(rule), options) {}

LeaderView Leader::view() const {
  return {{clock_.now(), clock_.wall()},
          replica_.node().confirmed_at().value_or(Moment{}),
          replica_.state()};
}

void Leader::applied(const AppliedEntry& entry) {
  for (std::size_t i = 0; i < entry.commands.size(); ++i)
    coordinator_.applied(view(), entry.commands[i], entry.results[i]);
}

void Leader::after_event() {
  const auto& node = replica_.node();
  const bool leads = node.leads() && !replica_.failure();
  if (coordinator_.leads() && (!leads || node.term() != term_)) {
    coordinator_.stopped_leading();
    left_.clear();
  }
  if (!is_elected()) early_.clear();
  if (leads && !coordinator_.leads()) {
    term_ = node.term();
    coordinator_.began_to_lead(view(), term_);
    hear_early();
  }
  perform();
}

bool Leader::is_elected() const {
  return replica_.node().role() == raft::Role::leader && !replica_.failure();
}

void Leader::hear_early() {
  for (const auto& [from, message] : std::exchange(early_, {}))
    if (!left_.contains(from)) coordinator_.receive(view(), from, message);
}

void Leader::receive(PeerId from, const WorkerToLeader& message) { receive({{from, message}}); }

/// What they ask for goes into one entry of the log.
void Leader::receive(const std::vector<std::pair<PeerId, WorkerToLeader>>& messages) {
  for (const auto& [from, message] : messages) {
    if (left_.contains(from)) continue;
    if (coordinator_.leads()) {
      coordinator_.receive(view(), from, message);
    } else if (is_elected() && early_.size() < most_early) {
      early_.emplace_back(from, message);
    }
  }
  if (coordinator_.leads()) perform();
}

void Leader::leaves(PeerId peer) { left_.insert(peer); }

void Leader::tick() {
  if (!coordinator_.leads()) return;
  coordinator_.tick(view());
  perform();
}

Status Leader::forget(PeerId peer) {
  auto status = coordinator_.forget(view(), peer);
  perform();
  return status;
}

/// What is proposed is an event of the replica, which may come back to here.
void Leader::perform() {
  if (performing_) return;
  performing_ = true;
  for (auto output = coordinator_.take_output(); !output.empty();
       output = coordinator_.take_output()) {
    for (const auto& [to, message] : output.send) send_(to, message);
    if (!output.propose.empty()) propose(std::move(output.propose));
  }
  performing_ = false;
}

/// In one entry, or one by one where that would be too large. What is refused, since this node no
/// longer leads or hands over, the coordinator proposes again.
void Leader::propose(std::vector<Command> commands) {
  std::erase_if(commands, [&](const Command& command) {
    const auto* up = std::get_if<command::PeerUp>(&command);
    return up != nullptr && left_.contains(up->peer);
  });
  if (commands.empty()) return;
  const auto together = replica_.propose(commands);
  if (together.ok() || together.error().code != Code::too_large || commands.size() == 1) return;
  for (auto& command : commands) static_cast<void>(replica_.propose({std::move(command)}));
}

}  // namespace gpl::peer
