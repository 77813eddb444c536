#include <algorithm>
#include <map>
#include <utility>

#include "gpl/net/refusals.h"
#include "gpl/net/secure_socket.h"
#include "greeting.h"
#include "tcp_options.h"

namespace gpl::net {

struct Gate::State : std::enable_shared_from_this<Gate::State> {
 public:
  State(Loop& loop, auth::Answering answering, GateLimits limits, Told told)
      : loop_(loop),
        answering_(std::move(answering)),
        limits_(limits),
        told_(std::move(told)),
        refusals_(loop, told_.note) {}

  void take(posix::Fd socket, const PeerAddress& from) {
    make_room(from.host);
    if (dropped_) return;
    const std::uint64_t number = next_++;
    Greeting greeting(loop_, std::move(socket), auth::Handshake::respond(answering_),
                      [weak = weak_from_this(), number](Result<SecureSocket> made) {
                        if (const auto self = weak.lock()) self->done(number, std::move(made));
                      });
    guests_.emplace(number, Guest{std::move(greeting), from.host, loop_.now() + limits_.at_most});
    if (!deadline_.pending()) arm();
  }

  std::size_t handshakes() const { return guests_.size(); }

  /// The handle is gone.
  void drop() {
    dropped_ = true;
    guests_.clear();
    deadline_.cancel();
  }

 private:
  struct Guest {
    Greeting greeting;
    std::string host;
    Moment until;
  };
  using Guests = std::map<std::uint64_t, Guest>;  // in the order they came

  void make_room(const std::string& host) {
    std::size_t of_host = 0;
    auto oldest = guests_.end();
    for (auto guest = guests_.begin(); guest != guests_.end(); ++guest) {
      if (guest->second.host != host) continue;
      if (of_host++ == 0) oldest = guest;
    }
    if (of_host < limits_.handshakes_a_host) oldest = guests_.end();
    if (oldest == guests_.end() && guests_.size() >= limits_.handshakes) oldest = guests_.begin();
    if (oldest != guests_.end()) turn_away(oldest, "too many connect at once");
  }

  void turn_away(Guests::iterator guest, const std::string& why) {
    const std::string host = std::move(guest->second.host);
    guests_.erase(guest);
    refusals_.add(host, why);
  }

  /// All have the same time: the first to come is the first to go.
  void arm() {
    deadline_ = loop_.at(guests_.begin()->second.until, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->turn_away_slow();
    });
  }

  void turn_away_slow() {
    const Moment now = loop_.now();
    while (!guests_.empty() && guests_.begin()->second.until <= now) {
      turn_away(guests_.begin(), "no handshake within " + format_short(limits_.at_most));
    }
    if (!guests_.empty()) arm();
  }

  void done(std::uint64_t number, Result<SecureSocket> made) {
    const auto guest = guests_.find(number);
    if (dropped_ || guest == guests_.end()) return;
    const std::string host = std::move(guest->second.host);
    guests_.erase(guest);
    if (!made.ok()) {
      // Who hangs up has found a better address, as peers do that dial several at once.
      const bool hung_up = made.error().code == Code::not_found || made.error().code == Code::io;
      if (!hung_up) refusals_.add(host, made.error().message);
      return;
    }
    // A person may stop a command, and a relay waits for one; a link's other end is never stopped
    // and well. Of a callback the reader is here.
    const auth::Purpose purpose = made.value().session.purpose;
    if (purpose == auth::Purpose::client || purpose == auth::Purpose::relay)
      allow_stopped_reader(made.value().socket.get());
    told_.entered(std::move(made).value());
  }

  Loop& loop_;
  auth::Answering answering_;
  GateLimits limits_;
  Told told_;
  Refusals refusals_;
  Guests guests_;
  std::uint64_t next_ = 0;
  Timer deadline_;
  bool dropped_ = false;
};

Gate::Gate(Loop& loop, auth::Answering answering, GateLimits limits, Told told)
    : state_(std::make_shared<State>(loop, std::move(answering), limits, std::move(told))) {}
Gate::Gate(Gate&&) noexcept = default;
Gate& Gate::operator=(Gate&& other) noexcept {
  if (state_ != nullptr && this != &other) state_->drop();
  state_ = std::move(other.state_);
  return *this;
}
Gate::~Gate() {
  if (state_ != nullptr) state_->drop();
}

void Gate::take(posix::Fd socket, const PeerAddress& from) {
  const auto self = state_;  // a note may drop the gate
  self->take(std::move(socket), from);
}
std::size_t Gate::handshakes() const { return state_->handshakes(); }

}  // namespace gpl::net
