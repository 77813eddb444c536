#include <algorithm>
#include <utility>

#include "gpl/core/worker.h"

namespace gpl {
namespace {

/// An unanswered hello is repeated ever less often, down to this.
constexpr Duration rarest_hello = seconds(4);

}  // namespace

/// A new number: what still arrives for the session before is not heeded any more.
void Worker::open_session(Moment now, Duration hello_again) {
  session_ = Session{};
  session_.id = next_session_;
  ++next_session_.value;
  session_.hello_again = hello_again;
  session_.hello_at = last_hello_ ? std::max(now, *last_hello_ + options_.hello_gap) : now;
  if (session_.hello_at <= now) say_hello(now);
}

void Worker::say_hello(Moment now) {
  last_hello_ = now;
  session_.hello_at = now;
  session_.hello_sent = true;
  // The hello tells all that there is by now.
  session_.untold.clear();
  to_leader::Hello hello{session_.id, keeper_, offer_, {}, {}};
  for (const auto& [fence, held] : live_) hello.live.push_back({fence, held.started_at});
  for (const auto& [fence, ended] : ended_) hello.ended.push_back(ended);
  output_.send.push_back(std::move(hello));
}

void Worker::renew(Moment now) {
  session_.renew_at = now + options_.renew_every;
  output_.send.push_back(
      to_leader::Renew{session_.id, session_.leadership, session_.opening, now, session_.told});
}

void Worker::tell(Telling telling) {
  if (session_.phase == Phase::opening) {
    session_.untold.push_back(std::move(telling));
    return;
  }
  ++session_.told;
  output_.send.push_back(to_leader::Told{session_.id, session_.told, std::move(telling)});
}

/// Whether a message is of this session and its leader. One of a later leader ends the session.
bool Worker::heeds(Moment now, SessionId session, const Leadership& leadership) {
  if (session != session_.id || leadership < highest_) return false;
  if (session_.phase != Phase::opening && leadership != session_.leadership) {
    highest_ = leadership;
    open_session(now, options_.hello_again);
    return false;
  }
  return true;
}

void Worker::take(const Clocks& clocks, const to_worker::Welcome& welcome) {
  if (!heeds(clocks.now, welcome.session, welcome.leadership)) return;
  if (session_.phase != Phase::opening) return;
  highest_ = welcome.leadership;
  session_.phase = Phase::welcomed;
  session_.leadership = welcome.leadership;
  session_.opening = welcome.opening;
  session_.counts_from = clocks.now;
  renew(clocks.now);
  for (Telling& telling : std::exchange(session_.untold, {})) tell(std::move(telling));
}

void Worker::take(const Clocks& clocks, const to_worker::Granted& granted) {
  if (!heeds(clocks.now, granted.session, granted.leadership)) return;
  if (session_.phase == Phase::opening) return;
  // Ordered before the last renewal, and still not here: it is lost.
  if (session_.orders.taken() < session_.ordered_before) {
    open_session(clocks.now, options_.hello_again);
    return;
  }
  lease_.renewed(granted.asked_at, granted.unconfirmed);
  const Moment counts_from = renewal_counts_from(granted.asked_at, granted.unconfirmed);
  session_.counts_from =
      session_.phase == Phase::welcomed ? counts_from : std::max(session_.counts_from, counts_from);
  session_.phase = Phase::granted;
  session_.ordered_before = std::max(session_.ordered_before, granted.ordered);
  obey_orders(clocks);
}

void Worker::take(const Clocks& clocks, const to_worker::Order& order) {
  if (!heeds(clocks.now, order.session, order.leadership)) return;
  session_.orders.put(order.number, order.what);
  if (session_.phase == Phase::granted) obey_orders(clocks);
}

void Worker::take(const Clocks& clocks, const to_worker::Reopen& reopen) {
  if (!heeds(clocks.now, reopen.session, reopen.leadership)) return;
  open_session(clocks.now, options_.hello_again);
}

void Worker::session_due(Moment now) {
  if (now < session_wakes_at()) return;
  if (session_.phase != Phase::opening) {
    if (session_.counts_from + options_.silence <= now)
      open_session(now, options_.hello_again);
    else
      renew(now);
  } else if (!session_.hello_sent) {
    say_hello(now);
  } else {
    open_session(now, std::min(rarest_hello, milliseconds(2 * session_.hello_again.count_ms)));
  }
}

Moment Worker::session_wakes_at() const {
  if (session_.phase != Phase::opening)
    return std::min(session_.renew_at, session_.counts_from + options_.silence);
  return session_.hello_sent ? session_.hello_at + session_.hello_again : session_.hello_at;
}

}  // namespace gpl
