#include "gpl/peer/client_relays.h"

#include <algorithm>

namespace gpl::peer {

ClientRelays::~ClientRelays() {
  for (const auto& [question, open] : open_) far_.forget(open.number);
}

bool ClientRelays::is_last(const wire::Answer& answer) {
  return !std::holds_alternative<wire::Output>(answer) &&
         !std::holds_alternative<wire::TaskEnded>(answer) &&
         !std::holds_alternative<wire::InputTaken>(answer);
}

/// A number that is still in use is the later question's.
ClientRelays::Open& ClientRelays::open_anew(Question question) {
  if (const auto entry = open_.find(question); entry != open_.end())
    far_.forget(entry->second.number);
  return open_[question] = Open{};
}

void ClientRelays::ask(Question question, PeerId peer, const std::string& name,
                       wire::Question body) {
  const auto told = [this, question, name](Result<wire::Answer> answer) {
    const bool last = !answer.ok() || is_last(answer.value());
    if (last) open_.erase(question);
    if (answer.ok()) return tell_(question, std::move(answer).value());
    tell_(question, wire::Refused{125, "peer " + name + ": " + answer.error().message, {}});
  };
  open_anew(question).number = far_.ask(peer, std::move(body), told);
}

void ClientRelays::note(wire::Follow& follow, const wire::Output& output) {
  wire::Position after = output.at;
  after.offset += output.data.size();
  const auto same = std::find_if(follow.from.begin(), follow.from.end(), [&](const auto& known) {
    return known.task == after.task && known.attempt == after.attempt &&
           known.stream == after.stream;
  });
  if (same == follow.from.end()) {
    follow.from.push_back(after);
  } else {
    same->offset = std::max(same->offset, after.offset);
  }
}

void ClientRelays::follow(Question question, PeerId peer, wire::Follow follow,
                          BrokenOff broken_off) {
  const auto told = [this, question,
                     broken_off = std::move(broken_off)](Result<wire::Answer> answer) {
    const auto entry = open_.find(question);
    if (!answer.ok()) {
      wire::Follow rest = std::move(*entry->second.follow);
      open_.erase(entry);
      return broken_off(std::move(rest));
    }
    if (const auto* output = std::get_if<wire::Output>(&answer.value()))
      note(*entry->second.follow, *output);
    if (is_last(answer.value())) open_.erase(entry);
    tell_(question, std::move(answer).value());
  };
  Open& open = open_anew(question);
  open.follow = follow;
  open.number = far_.ask(peer, std::move(follow), told);
}

bool ClientRelays::say(Question about, const wire::Question& body) {
  const auto entry = open_.find(about);
  if (entry == open_.end()) return false;
  const auto* signal = std::get_if<wire::SignalExec>(&body);
  if (signal != nullptr && signal->signal == 0) {
    far_.forget(entry->second.number);
    open_.erase(entry);
  } else {
    far_.say(entry->second.number, body);
  }
  return true;
}

}  // namespace gpl::peer
