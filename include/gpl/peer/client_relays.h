#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/peer/far_sessions.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// The questions of one client that other peers answer. What these say is handed on as it comes.
class ClientRelays {
 public:
  using Question = std::uint32_t;
  using Tell = std::function<void(Question, wire::Answer)>;
  /// The output is broken off: the question, with what has come of it, for another peer.
  using BrokenOff = std::function<void(wire::Follow)>;

  ClientRelays(FarSessions& far, Tell tell) : far_(far), tell_(std::move(tell)) {}
  ~ClientRelays();
  ClientRelays(const ClientRelays&) = delete;
  ClientRelays& operator=(const ClientRelays&) = delete;

  bool has(Question question) const { return open_.contains(question); }
  /// A peer that cannot be reached refuses it, in words that name it.
  void ask(Question question, PeerId peer, const std::string& name, wire::Question body);
  void follow(Question question, PeerId peer, wire::Follow follow, BrokenOff broken_off);
  /// More about an open one (Taken, SignalExec, SendInput). Whether there is such. With signal 0 it
  /// is of no interest any more, and nothing more is told of it.
  bool say(Question about, const wire::Question& body);

 private:
  struct Open {
    FarSessions::Number number = 0;
    std::optional<wire::Follow> follow;  ///< with the positions after what has been handed on
  };
  Open& open_anew(Question question);
  static bool is_last(const wire::Answer& answer);
  static void note(wire::Follow& follow, const wire::Output& output);

  FarSessions& far_;
  Tell tell_;
  std::map<Question, Open> open_;
};

}  // namespace gpl::peer
