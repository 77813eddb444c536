#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/connection.h"
#include "gpl/net/loop.h"
#include "gpl/net/secure_socket.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// Questions to other peers in the client protocol, each on a connection of its own beside the
/// link (Purpose::relay), made when the first is asked and closed when none is open for a while.
/// Bulk so never delays the consensus. The asked peer answers for itself alone.
class FarSessions {
 public:
  using Number = std::uint64_t;
  /// Every answer; Done, Refused and an Error are the last, as is the one that a question has only
  /// one of, and the JobEnded of a Follow. SendInput stays open until it is forgotten. Error:
  /// Code::not_found, the peer cannot be reached, or its connection was lost: ask again when that
  /// may have changed; Code::too_large, the question fits no frame. From the loop, never from
  /// within a call.
  using Told = std::function<void(Result<wire::Answer>)>;

  /// How it comes to a connection with a peer on which nothing has been said yet: made with these
  /// options, and telling this. `made` is called once, at once or later.
  using Made = std::function<void(Result<net::Connection>)>;
  using Connect =
      std::function<void(PeerId, net::ConnectionOptions, net::Connection::Told, Made made)>;
  /// As Mesh::dial.
  using Dial = std::function<void(PeerId, std::function<void(Result<net::SecureSocket>)>)>;
  static Connect connect_by(net::Loop& loop, Dial dial);

  /// `version`: of gpl, for people. A connection without a question is closed after `idle`.
  FarSessions(net::Loop& loop, Connect connect, std::string version, Duration idle = seconds(60));
  ~FarSessions();
  FarSessions(const FarSessions&) = delete;
  FarSessions& operator=(const FarSessions&) = delete;

  [[nodiscard]] Number ask(PeerId peer, wire::Question question, Told told);
  /// Something about an open question (Taken, SignalExec, SendInput): the number in it is put
  /// right. Nothing for one that is not open.
  void say(Number number, wire::Question body);
  /// Tells nothing more of it. Where it would go on (Follow, FollowAttempt, ExecInTask, WaitFor)
  /// the other peer is told so: SignalExec with signal 0.
  void forget(Number number);
  /// The peer has no link any more: it may be stopped, and its connection never break.
  void lost(PeerId peer);
  /// Of what was said to this question's peer, not yet taken by the system. 0 when it is not open.
  std::size_t queued_bytes(Number number) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gpl::peer
