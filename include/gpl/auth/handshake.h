#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/auth/channel.h"
#include "gpl/auth/key.h"
#include "gpl/auth/key_pair.h"
#include "gpl/core/result.h"

namespace gpl::auth {

/// What a connection is for; the initiator says so, encrypted.
enum class Purpose : std::uint8_t {
  client = 1,  ///< a person's command: client protocol
  link = 2,    ///< between two peers: link protocol; role peer only
  relay = 3,   ///< one peer on behalf of another's clients: client protocol; role peer only
  /// One peer to another that cannot dial it, and has asked for this: client protocol, on which who
  /// was dialled asks; role peer only.
  callback = 4,
};

/// Of the protocol between machines. Both ends are told in the clear.
struct ProtocolRange {
  std::uint16_t oldest = 1;
  std::uint16_t newest = 1;
  friend bool operator==(const ProtocolRange&, const ProtocolRange&) = default;
};
inline constexpr ProtocolRange spoken_protocols{1, 1};

/// How an initiator begins.
struct Call {
  Key key;
  Role role = Role::client;  ///< one that the key can prove: any of the cluster key, else the key's
  KeyPair own;               ///< the static pair
  Purpose purpose = Purpose::client;
  ProtocolRange protocols = spoken_protocols;
};
/// With what a responder answers: a peer, which holds the cluster key.
struct Answering {
  Key key;
  KeyPair own;
  ProtocolRange protocols = spoken_protocols;
};

/// What both sides have agreed on.
struct Established {
  Channel channel;
  KeyBytes remote_static{};
  Role role = Role::client;  ///< of the initiator
  Purpose purpose = Purpose::client;
  std::uint16_t protocol = 1;
};

/// One side of how a connection between machines begins, as pure steps over its bytes:
///
///   initiator: hello (magic "gpl", role, protocol range), Noise message 1 (no payload: it can be
///   replayed); responder: its hello (magic, an outcome, protocol range), and only if that is fine
///   Noise message 2 (its hello once more, signature of its static key by the cluster); initiator:
///   Noise message 3 (purpose; signature of its static key if it is a peer).
///
/// The initiator's hello is the prologue; both go on with the newest protocol that both speak.
/// Every message has a length known before it is taken. Who has no key learns the responder's
/// hello, no more. gpl-protocol(7) has the layout.
class Handshake {
 public:
  static Handshake initiate(const Call& call);
  static Handshake respond(const Answering& answering);
  ~Handshake();
  Handshake(Handshake&&) noexcept;
  Handshake& operator=(Handshake&&) noexcept;

  /// Bytes to send now: to be asked for after the making, and after each `take`, also one that
  /// failed (a responder's hello says why). Empty: none.
  std::string output();
  /// How many more bytes of the stream it wants before it can go on: no more are to be read, as
  /// what follows is the channel's. 0: it is done.
  std::size_t wanted() const;
  /// Takes exactly `wanted()` bytes. Errors: Code::denied (another key, or a role that this key
  /// does not prove, with what a person can do about it), Code::unsupported (no protocol in common,
  /// with both ranges), Code::invalid (this is no gpl). After one the connection is to be closed.
  Status take(std::string_view bytes);

  bool complete() const;
  /// Requires `complete`; once.
  Established established();

 private:
  struct State;
  explicit Handshake(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// No handshake has a message above this.
inline constexpr std::size_t handshake_message_limit_bytes = 512;

}  // namespace gpl::auth
