#include "first_dialer.h"

#include <cassert>
#include <utility>

namespace gpl::peer {
namespace {

constexpr Duration try_within = seconds(5);
constexpr Duration next_after = milliseconds(250);

}  // namespace

FirstDialer::FirstDialer(net::Loop& loop, Wanted wanted, Done done)
    : loop_(loop), wanted_(std::move(wanted)), done_(std::move(done)) {
  assert(!wanted_.addresses.empty());
  dialers_.reserve(wanted_.addresses.size());
  dial_next();
}

void FirstDialer::dial_next() {
  const std::size_t which = dialers_.size();
  if (which == wanted_.addresses.size()) return;
  dialers_.emplace_back(
      loop_, wanted_.addresses[which], wanted_.call, try_within,
      [this, which](Result<net::SecureSocket> result) { ended(which, std::move(result)); });
  next_ = loop_.after(next_after, [this] { dial_next(); });
}

void FirstDialer::ended(std::size_t which, Result<net::SecureSocket> result) {
  const net::PeerAddress& address = wanted_.addresses[which];
  if (result.ok() && wanted_.static_key &&
      result.value().session.remote_static != *wanted_.static_key)
    result = Error{Code::not_found, "at " + net::to_text(address) + " is another peer"};
  if (result.ok()) {
    next_.cancel();
    const Done done = std::move(done_);
    return done(Reached{std::move(result).value(), address});
  }
  ++failures_;
  // Who answers, and how, says more than that nobody does.
  if (!error_ || (error_->code == Code::not_found && result.error().code != Code::not_found))
    error_ = std::move(result).error();
  if (failures_ < wanted_.addresses.size()) {
    if (failures_ == dialers_.size()) dial_next();
    return;
  }
  next_.cancel();
  const Done done = std::move(done_);
  const Error error = *std::move(error_);
  done(error);
}

}  // namespace gpl::peer
