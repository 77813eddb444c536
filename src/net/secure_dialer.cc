#include <optional>
#include <utility>

#include "gpl/net/dialer.h"
#include "gpl/net/secure_socket.h"
#include "greeting.h"
#include "tcp_options.h"

namespace gpl::net {

struct SecureDialer::State : std::enable_shared_from_this<SecureDialer::State> {
 public:
  State(Loop& loop, const PeerAddress& address, auth::Call call, Done done)
      : loop_(loop), where_(to_text(address)), call_(std::move(call)), done_(std::move(done)) {}

  void start(const PeerAddress& address, Duration at_most) {
    deadline_ = loop_.after(at_most, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->give_up();
    });
    dialer_ = Dialer::tcp(loop_, address, at_most, [weak = weak_from_this()](auto socket) {
      if (const auto self = weak.lock()) self->connected(std::move(socket));
    });
  }

 private:
  void connected(Result<posix::Fd> socket) {
    if (!socket.ok()) return tell(std::move(socket).error());
    greeting_.emplace(loop_, std::move(socket).value(), auth::Handshake::initiate(*call_),
                      [weak = weak_from_this()](auto made) {
                        if (const auto self = weak.lock()) self->greeted(std::move(made));
                      });
    call_.reset();
  }

  void greeted(Result<SecureSocket> made) {
    if (!made.ok()) {
      return tell(Error{made.error().code, where_ + ": " + made.error().message});
    }
    // A dial of a port of one's own that nobody listens on may meet itself (RFC 9293, simultaneous
    // open).
    if (made.value().local == made.value().remote) {
      return tell(Error{Code::not_found, "cannot connect to " + where_ + ": Connection refused"});
    }
    // The other end asks, for somebody who may stop.
    if (made.value().session.purpose == auth::Purpose::callback)
      allow_stopped_reader(made.value().socket.get());
    tell(std::move(made));
  }

  void give_up() {
    if (!greeting_)
      return tell(Error{Code::not_found, "cannot connect to " + where_ + ": no answer"});
    tell(Error{Code::not_found, where_ + ": it takes connections and says nothing"});
  }

  void tell(Result<SecureSocket> result) {
    deadline_.cancel();
    const Done done = std::exchange(done_, {});
    if (done) done(std::move(result));
  }

  Loop& loop_;
  std::string where_;
  std::optional<auth::Call> call_;
  Done done_;
  Timer deadline_;
  std::optional<Dialer> dialer_;
  std::optional<Greeting> greeting_;
};

SecureDialer::SecureDialer(Loop& loop, const PeerAddress& address, auth::Call call,
                           Duration at_most, Done done)
    : state_(std::make_shared<State>(loop, address, std::move(call), std::move(done))) {
  state_->start(address, at_most);
}
SecureDialer::SecureDialer(SecureDialer&&) noexcept = default;
SecureDialer& SecureDialer::operator=(SecureDialer&&) noexcept = default;
SecureDialer::~SecureDialer() = default;

}  // namespace gpl::net
