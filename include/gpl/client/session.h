#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/client/places.h"
#include "gpl/client/voice.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/connection.h"
#include "gpl/net/dialer.h"
#include "gpl/net/loop.h"
#include "gpl/net/secure_socket.h"
#include "gpl/wire/client_message.h"

namespace gpl::client {

/// The Error of a peer's refusal, with its words, the nearest miss and the way out, a line each.
/// Code::invalid when the command is to exit with 2, else Code::unsupported.
Error refusal(const wire::Refused& refused);

/// A command's conversation with a peer: questions and what is answered to them. When the
/// connection is lost it connects again by itself, over TCP also to another peer of the cluster,
/// and asks anew what is not yet answered.
/// Waiting is counted in tries, not by the clock: time in which this process was stopped is none.
///
/// Callbacks come from the loop, that is from within run_until, ask_for and flush.
class Session {
 public:
  using Told = std::function<void(wire::Answer&&)>;
  /// What to ask on a new connection.
  using Anew = std::function<wire::Question()>;

  /// Connects, and exchanges hellos. Code::not_found when nobody answers (place.patience),
  /// Code::denied when the peer refuses this caller or its key, Code::unsupported when the two
  /// share no protocol; each with the address. `voice` outlives the session.
  static Result<std::unique_ptr<Session>> connect(PeerPlace place, const Voice& voice);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  net::Loop& loop() { return *loop_; }

  /// Asks, and tells every answer until `forget`; Done and Refused are always the last. After a
  /// reconnect `anew` is asked, or else the same question again.
  std::uint32_t ask(wire::Question question, Told told, Anew anew = {});
  /// Something under the number of an earlier question (Taken, SendInput, SignalExec), or with no
  /// answer of interest. Dropped while there is no connection.
  void say(std::uint32_t question, wire::Question body);
  void forget(std::uint32_t question);

  /// Turns the loop until `done()`. An Error when the peer is gone for good.
  Status run_until(const std::function<bool()>& done);
  /// Asks and waits for the one answer, which is a T: another kind, or a refusal, is an Error.
  template <class T>
  Result<T> ask_for(wire::Question question) {
    Result<wire::Answer> answer = ask_once(std::move(question));
    if (!answer.ok()) return std::move(answer).error();
    if (T* wanted = std::get_if<T>(&answer.value())) return std::move(*wanted);
    return unexpected(answer.value());
  }
  /// Asks for something to be done, and waits for Done.
  Status do_it(wire::Question question);
  /// Turns the loop until no more than this is on its way to the system.
  Status flush(std::size_t at_most_bytes);

  /// How often it was connected: what belongs to one connection is gone when this grows.
  std::uint32_t connection() const { return connections_; }
  bool connected() const { return greeted_; }
  /// Names the job in what is said while the peer is away.
  void set_job(JobId job) { job_ = job; }

 private:
  struct Outstanding {
    wire::Question question;
    Told told;
    Anew anew;
  };

  Session(std::unique_ptr<net::Loop> loop, PeerPlace place, const Voice& voice);
  Result<wire::Answer> ask_once(wire::Question question);
  static Error unexpected(const wire::Answer& answer);

  void dial();
  template <class Socket>
  void dialed(Result<Socket> socket);
  void try_next(Error why);
  void refused(Error why);
  void try_later();
  void say_waiting();
  Error gone() const;
  void learn_peers();
  void received(std::string_view payload);
  void greet(wire::Answer& answer);
  void deliver(std::uint32_t question, wire::Answer&& answer);
  void disconnected();
  void give_up(Error error);
  void send(std::uint32_t question, const wire::Question& body);

  std::unique_ptr<net::Loop> loop_;
  PeerPlace place_;
  Places places_;
  const Voice& voice_;
  std::optional<net::Dialer> dialer_;
  std::optional<net::SecureDialer> secure_dialer_;
  std::optional<net::Connection> connection_;
  net::Timer retry_;
  net::Timer hello_deadline_;
  net::Timer learning_;
  Moment dialed_at_;
  Duration backoff_;
  Duration waited_;  ///< since the connection was lost, as counted by the tries
  bool said_waiting_ = false;
  bool greeted_ = false;
  std::uint32_t connections_ = 0;
  std::optional<Error> lost_;  ///< for good
  std::map<std::uint32_t, Outstanding> outstanding_;
  std::uint32_t next_question_ = 1;
  std::optional<JobId> job_;
};

}  // namespace gpl::client
